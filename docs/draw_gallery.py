"""Draws the pictures of docs/gallery.md: python docs/draw_gallery.py [mnist | race]

`mnist` asks the model of MNIST that comes with the package, and needs the data of $WAKESLEEP_DATA;
`race` trains four small machines on the embedded digits. Some minutes on two cores, seed 0.
"""

import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.manifold import TSNE

import wakesleep as ws
from wakesleep.cli import main
from wakesleep.data import PackedBits, load_mnist_grey
from wakesleep.data.hidden_halves import hidden_half
from wakesleep.inference.imputation import impute
from wakesleep.inference.posterior import infer_rows
from wakesleep.pictures import SIGNED, layout, save_canvas
from wakesleep.report.imputations import imputations_png
from wakesleep.runs.fields import generative_fields, scaled, strongest

IMAGES = Path(__file__).parent / "images"
PRETRAINED = "mnist-sbn-200-200-200"
POINTS = 1200
RACE = ("reweighted", "wake_sleep", "vimco", "rloo")
SECONDS = 4


def axes_of(width: float, height: float):
    """A figure and its axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def draw_mnist() -> None:
    """Receptive fields, completions and an embedding."""
    model, data = ws.load_pretrained(PRETRAINED), ws.load_dataset("binarized_mnist")
    fields = scaled(strongest(generative_fields(model), 64))
    save_canvas(IMAGES / "fields.png", layout(data, fields, colours=SIGNED), colours=SIGNED)
    table = hidden_half(data, 6, "lower")
    made = impute(model, *table, samples=200, key=jax.random.key(0), draws=8)
    shown = map(data.images, (table.bits, table.missing, made.draws))
    (IMAGES / "completions.png").write_bytes(imputations_png(*shown))
    draw_embedding(model)


def draw_embedding(model) -> None:
    """Posterior means of the layer next to the data, in the plane, coloured by digit."""
    grey, labels = load_mnist_grey("test")
    chosen = np.random.default_rng(0).choice(len(grey), POINTS, replace=False)
    bits = PackedBits.pack(grey[chosen] >= 128)
    means = infer_rows(model, bits, 50, jax.random.key(0)).means[:, :200]
    places = TSNE(random_state=0).fit_transform(means)
    figure, axes = axes_of(6, 5)
    for digit in range(10):
        axes.scatter(*places[labels[chosen] == digit].T, s=8, color=f"C{digit}", label=str(digit))
    axes.set(xticks=[], yticks=[])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), markerscale=2)
    figure.savefig(IMAGES / "embedding.png", dpi=100)


def draw_race() -> None:
    """Validation log-likelihoods of estimators that have the same processor time."""
    figure, axes = axes_of(6.5, 4)
    with tempfile.TemporaryDirectory() as folder:
        for name in RACE:
            recipe, run = Path(folder) / f"{name}.toml", Path(folder) / name
            words = f"epochs = 1000\nprocessor_seconds = {SECONDS}\n[estimator]\nname = '{name}'\n"
            recipe.write_text(words)
            options = ["--recipe", str(recipe), "--no-diagnostics", "--quiet", "--out", str(run)]
            assert main(["train", "digits", "--model", "sbn/sbn 50", *options]) == 0
            curve = [record["valid_ll"] for record in ws.load_run(run).history]
            spent = np.linspace(SECONDS / len(curve), SECONDS, len(curve))
            axes.plot(spent, curve, label=name)
    axes.set(xlabel="processor-seconds", ylabel="validation LL, nats", ylim=(-26, None))
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(IMAGES / "race.png", dpi=100)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["mnist", "race"]
    for one in wanted:
        {"mnist": draw_mnist, "race": draw_race}[one]()
