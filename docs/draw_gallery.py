"""Draws the pictures of docs/gallery.md: python docs/draw_gallery.py

A few minutes on two cores. Everything is made from the digits and the penguins that come with the package, with
seed 0; runs are kept in runs/gallery and used again.
"""

from pathlib import Path

import jax
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn import datasets
from sklearn.decomposition import PCA

import wakesleep as ws
from wakesleep.cli import main
from wakesleep.data.checks import frozen_stream
from wakesleep.inference.posterior import infer_rows
from wakesleep.report.imputations import imputations_png
from wakesleep.runs.diagnostics import diagnostics_of
from wakesleep.runs.loading import Run

ROOT = Path(__file__).parents[1]
RUNS, IMAGES = ROOT / "runs" / "gallery", ROOT / "docs" / "images"
MODEL, EPOCHS = "sbn/sbn 10-50-100", "60"
RACE = ("reweighted", "wake_sleep", "vimco", "rloo", "jsa")
RACE_SECONDS = 10


def train(name: str, *words: str) -> Path:
    path = RUNS / name
    if not (path / "model.safetensors").exists():
        assert main(["train", *words, "--out", str(path), "--overwrite", "--quiet"]) == 0
    return path


def figure(width: float, height: float):
    drawing = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawing)
    return drawing


def draw_completions(run: Run) -> None:
    kept = diagnostics_of(run)
    arrays = (kept["given"], kept["missing"].astype(bool), kept["imputed"])
    png = imputations_png(*map(run.data.images, arrays))
    (IMAGES / "completions.png").write_bytes(png)


def draw_embedding(run: Run) -> None:
    """Posterior means of the layer next to the data, on their two main axes, coloured by digit."""
    _, labels = datasets.load_digits(return_X_y=True)
    labels = labels[frozen_stream(0).permutation(len(labels))]
    rows = len(run.data.train)
    means = infer_rows(run.machine, run.data.train, 100, jax.random.key(0)).means[:, :100]
    places = PCA(2, random_state=0).fit_transform(means)
    drawing = figure(6, 5)
    axes = drawing.subplots()
    for digit in range(10):
        chosen = labels[:rows] == digit
        axes.scatter(*places[chosen].T, s=9, color=f"C{digit}", label=str(digit))
    axes.set(xticks=[], yticks=[], title="Posterior means of 1,197 digits, two main axes")
    axes.legend(ncol=2, markerscale=2, fontsize=8)
    drawing.savefig(IMAGES / "embedding.png", dpi=100)


def draw_race() -> None:
    """Validation log-likelihoods of estimators that have the same processor time."""
    drawing = figure(6.5, 4)
    axes = drawing.subplots()
    recipe = RUNS / "race.toml"
    for name in RACE:
        recipe.write_text(
            f'epochs = 400\nprocessor_seconds = {RACE_SECONDS}\n[estimator]\nname = "{name}"\n'
        )
        words = ("digits", "--model", "sbn/sbn 50", "--recipe", str(recipe), "--no-diagnostics")
        records = ws.load_run(train(f"race-{name}", *words)).history
        spent = np.cumsum([record["seconds"] for record in records])
        curve = [record["valid_ll_average"] or record["valid_ll"] for record in records]
        axes.plot(spent / spent[-1], curve, label=name)
    axes.set(
        xlabel=f"share of {RACE_SECONDS} processor-seconds",
        ylabel="validation LL, nats",
        ylim=(-26, None),
    )
    axes.set_title("Estimators with the same processor time: SBN/SBN 50 on digits")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    drawing.savefig(IMAGES / "race.png", dpi=100)


def draw_all() -> None:
    RUNS.mkdir(parents=True, exist_ok=True)
    path = train("digits", "digits", "--model", MODEL, "--epochs", EPOCHS)
    out = str(IMAGES / "fields.png")
    assert main(["show", str(path), "--out", out, "--preview", "no", "--overwrite"]) == 0
    run = ws.load_run(path)
    draw_completions(run)
    draw_embedding(run)
    draw_race()


if __name__ == "__main__":
    draw_all()
