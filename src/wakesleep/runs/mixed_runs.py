"""Finished runs on the same data put together into the run folder of a mixture."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from wakesleep.architecture import describe
from wakesleep.errors import UsageError
from wakesleep.inference.mixing import SAMPLES, mix, spaced_rows
from wakesleep.inference.posterior import infer_rows
from wakesleep.models import Mixture
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import Run, load_run
from wakesleep.runs.start import clear, notes_of, write_end, write_start
from wakesleep.storage import save_model
from wakesleep.training.events import EpochRecord


def mix_runs(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    data: str | Path | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    overwrite: bool = False,
) -> Mixture:
    """Mix the models of some runs into a run folder of its own.

    The weights are learned on validation rows, or on training rows where there are none. The
    folder has the data of the runs, and one line in its metrics.jsonl, the mixture's validation
    log-likelihood.

    Args:
        paths: two or more run folders of the same data.
        out: the new run folder.
        data: where the data are now, if not where they were.
        samples: K, latents per row and component.
        seed: of those.
        overwrite: replace a run that is there.
    """
    if len(paths) < 2:
        raise UsageError("a mixture needs at least two runs")
    runs = [load_run(path, data) for path in paths]
    first = runs[0]
    for run in runs[1:]:
        difference = first.about_data.difference(run.about_data)
        if difference:
            raise UsageError(
                f"{run.path} was trained on other data than {first.path}: {difference}"
            )
    folder = RunFolder(Path(out))
    rows = first.data.valid if len(first.data.valid) else first.data.train
    key = jax.random.key(seed)
    with folder.locked():
        if folder.config_path.exists():
            if not overwrite:
                raise UsageError(f"{out} holds a run already: --overwrite replaces it")
            clear(folder)
        mixture = mix([run.machine for run in runs], rows, key=key, samples=samples)
        config = dataclasses.replace(first.config, model=describe(mixture), seed=seed)
        mixed_from = [str(run.path.resolve()) for run in runs]
        notes = {**notes_of(first.data), "mixed_from": mixed_from}
        save_model(mixture, folder.model_path, **notes)
        score = infer_rows(mixture, spaced_rows(rows), samples, key).log_likelihood.mean()
        folder.write_records([_record(runs, float(score), len(first.data.valid) > 0)])
        write_start(folder, config, first.data)
        write_end(folder, mixture, first.data)
    return mixture


def _record(runs: Sequence[Run], score: float, held_out: bool) -> dict[str, Any]:
    """The line of metrics.jsonl that stands for the training of all components."""
    epochs = [record for run in runs for record in run.history]
    nothing = {field.name: None for field in dataclasses.fields(EpochRecord)}
    return {
        **nothing,
        "epoch": len(epochs),
        "phase": 1,
        "best": True,
        "kl": [],
        "seconds": sum(record["seconds"] for record in epochs),
        "examples_per_second": float(np.median([r["examples_per_second"] for r in epochs])),
        "valid_ll" if held_out else "train_ll": score,
    }
