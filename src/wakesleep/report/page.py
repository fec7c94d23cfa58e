"""The page of one run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from wakesleep.data.hidden_halves import hidden_half
from wakesleep.inference.imputation import impute
from wakesleep.models import sample, sample_means
from wakesleep.report.completions import completions_png
from wakesleep.report.fields import generative_fields, inference_fields, scaled, strongest
from wakesleep.report.pictures import GREY, SIGNED, canvas_png, data_uri, layout
from wakesleep.report.rendering import write_page
from wakesleep.report.run_figures import activity_figure, learning_figures, likelihood_figures
from wakesleep.report.run_view import RunView, view_run
from wakesleep.runs.latent_use import ALIVE, LayerUse, latent_use

SHOWN = 64
STEPS = 5
COMPLETED = 6
COMPLETIONS = 8

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Picture:
    """A picture with its caption, which is also its alternative text."""

    caption: str
    uri: str


@dataclass(frozen=True)
class LatentRow:
    """A line of the table of latent layers."""

    layer: int
    use: LayerUse
    kl: float

    @property
    def often_on(self) -> float:
        """How often an average unit is on."""
        return float(self.use.mean.mean())


def write_report(
    run: str | Path, out: Path | None = None, *, progress: Progress | None = None
) -> Path:
    """Write a run's page, `report.html` in its folder unless given, and return its path."""
    tell = progress or _nobody
    view = view_run(run)
    tell(1, STEPS)
    pictures = model_pictures(view)
    tell(2, STEPS)
    latents = latent_rows(view)
    tell(3, STEPS)
    completions = completion_pictures(view)
    tell(4, STEPS)
    path = write_page(
        out or Path(run) / "report.html",
        "report.html.j2",
        run=view,
        summary=view.summary(),
        learning=learning_figures(view.records),
        histograms=likelihood_figures(view.examples) if view.examples else [],
        latents=latents,
        activity=[activity_figure([row.use for row in latents])] if latents else [],
        alive_threshold=ALIVE,
        pictures=pictures,
        fields=field_pictures(view),
        completions=completions,
    )
    tell(STEPS, STEPS)
    return path


def latent_rows(view: RunView) -> list[LatentRow]:
    """How each latent layer is used on held-out rows, or on training rows where there are none."""
    if not view.model.latent_sizes:
        return []
    rows = next(split for split in (view.data.valid, view.data.test, view.data.train) if len(split))
    uses = latent_use(view.model, rows, key=jax.random.key(0))
    kls = view.last["kl"]
    return [LatentRow(i, use, kl) for i, (use, kl) in enumerate(zip(uses, kls, strict=True), 1)]


def model_pictures(view: RunView) -> list[Picture]:
    """Rows of the data beside rows of the model."""
    key = jax.random.key(0)
    return [
        _picture(view, "Data: rows of the training set", view.data.train[:SHOWN]),
        sample_picture(view, "Samples from the model"),
        _picture(
            view,
            "Samples: the probability of each bit",
            sample_means(view.model, SHOWN, key=key),
        ),
    ]


def sample_picture(view: RunView, caption: str) -> Picture:
    """Bits drawn from the model, the same in every page of a run."""
    return _picture(view, caption, sample(view.model, SHOWN, key=jax.random.key(0)))


def field_pictures(view: RunView) -> list[Picture]:
    """The strongest receptive fields of the first latent layer, in p and in q."""
    if not view.model.latent_sizes:
        return []
    kinds = (
        ("What each unit of the first layer adds to the data (p)", generative_fields),
        ("What each unit of the first layer looks for in the data (q)", inference_fields),
    )
    return [
        _picture(view, caption, scaled(strongest(fields(view.model), SHOWN)), signed=True)
        for caption, fields in kinds
    ]


def completion_pictures(view: RunView) -> list[Picture]:
    """What the model makes of the lower half of test images, given the upper one."""
    if not (view.data.image_shape and len(view.data.test) and view.model.latent_sizes):
        return []
    table = hidden_half(view.data, COMPLETED, "lower")
    found = impute(view.model, *table, samples=200, key=jax.random.key(1), draws=COMPLETIONS)
    images = (view.data.images(array) for array in (*table, found.draws))
    png = completions_png(*images, inverted=view.data.inverted)
    return [Picture("Test images with the lower half hidden, and completions", data_uri(png))]


def _picture(view: RunView, caption: str, rows: np.ndarray, *, signed: bool = False) -> Picture:
    # A weight's sign means the same whatever the background is.
    inverted = view.data.inverted and not signed
    colours = SIGNED if signed else GREY
    canvas = layout(view.data, rows, colours=colours)
    png = canvas_png(canvas, colours=colours, inverted=inverted)
    return Picture(caption, data_uri(png))


def _nobody(done: int, total: int) -> None:
    pass
