"""The report of a run: one HTML page with its pictures inside, made from the run folder alone."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from jinja2 import Environment, PackageLoader

from wakesleep.atomic import write_atomically
from wakesleep.config import RunConfig
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.model import HelmholtzMachine, sample, sample_means
from wakesleep.report.pictures import curves_png, grid_png
from wakesleep.storage import load_model
from wakesleep.training.folder import RunFolder

SHOWN = 64


def write_report(run: str | Path) -> Path:
    """Write report.html into a run folder and return its path."""
    folder = RunFolder(Path(run))
    config, records = folder.config(), folder.records()
    if not records:
        raise UsageError(f"{run} has no finished epoch to report yet")
    data, model = config.data.load(), load_model(folder.model_path)
    environment = Environment(loader=PackageLoader("wakesleep", "report"), autoescape=True)
    page = environment.get_template("report.html.j2").render(
        config=config,
        data=data,
        summary=_summary(config, data, records),
        evaluation=_evaluation(folder),
        curves=_embed(curves_png(records)),
        pictures=_pictures(model, data) if data.image_shape else [],
    )
    path = folder.path / "report.html"
    write_atomically(path, page.encode())
    return path


def _summary(
    config: RunConfig, data: Dataset, records: list[dict[str, Any]]
) -> list[tuple[str, str]]:
    last = records[-1]
    sizes = " / ".join(str(len(split)) for split in data.splits.values())
    return [
        ("Data", f"{data.name}: {sizes} rows (train / valid / test) of {data.features} bits"),
        ("Binarisation", data.binarisation),
        ("Architecture", config.model),
        ("Samples per example (K)", str(config.recipe.expand()[-1].samples)),
        ("Seed", str(config.seed)),
        ("Epochs", f"{last['epoch']}, {sum(r['seconds'] for r in records):.0f} s of training"),
        ("Throughput", f"{last['examples_per_second']:,.0f} examples per second"),
        ("KL per latent layer", ", ".join(f"{kl:.2f}" for kl in last["kl"]) + " nats"),
    ]


def _evaluation(folder: RunFolder) -> Mapping[str, Any] | None:
    if not folder.evaluation_path.exists():
        return None
    found: Mapping[str, Any] = json.loads(folder.evaluation_path.read_text(encoding="utf-8"))
    return found


def _pictures(model: HelmholtzMachine, data: Dataset) -> list[tuple[str, str]]:
    key = jax.random.key(0)
    shown = [
        ("Data: rows of the training set", data.train[:SHOWN]),
        ("Samples from the model", sample(model, SHOWN, key=key)),
        ("Samples: the probability of each pixel", sample_means(model, SHOWN, key=key)),
    ]
    return [(title, _embed(grid_png(data.images(x), inverted=data.inverted))) for title, x in shown]


def _embed(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
