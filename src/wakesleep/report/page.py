"""The page of one run: it renders what the run wrote."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wakesleep.pictures import GREY, SIGNED, canvas_png, data_uri, layout
from wakesleep.report.imputations import imputations_png
from wakesleep.report.rendering import write_page
from wakesleep.report.run_figures import activity_figure, learning_figures, likelihood_figures
from wakesleep.report.run_view import RunView, view_run
from wakesleep.report.table_view import table_view
from wakesleep.runs.fields import scaled
from wakesleep.runs.latent_use import ALIVE, LayerUse
from wakesleep.runs.yardstick_words import gains

STEPS = 3

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
    run: str | Path,
    out: Path | None = None,
    *,
    data: str | Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a run's page, `report.html` in its folder unless given, and return its path.

    `data` is where the data are now; they are asked for only where the run did not keep what is
    made from them.
    """
    tell = progress or _nobody
    view = view_run(run, data)
    tell(1, STEPS)
    latents = latent_rows(view)
    table = table_view(view)
    tell(2, STEPS)
    # Bits of a table mean nothing to look at: its columns do.
    pictures = [] if table else model_pictures(view)
    path = write_page(
        out or Path(run) / "report.html",
        "report.html.j2",
        run=view,
        summary=view.summary(),
        yardsticks=_yardsticks(view),
        learning=learning_figures(view.records),
        histograms=likelihood_figures(view.examples) if view.examples else [],
        latents=latents,
        activity=[activity_figure([row.use for row in latents])] if latents else [],
        alive_threshold=ALIVE,
        table=table,
        pictures=pictures,
        fields=[] if table else field_pictures(view),
        imputations=imputation_pictures(view),
    )
    tell(STEPS, STEPS)
    return path


def _yardsticks(view: RunView) -> list[tuple[str, float, float]]:
    """How far a table's likelihood is from what is simpler, in nats and in bits per column."""
    score = view.evaluation
    return gains(score["mean"], score, score["columns"]) if score and "columns" in score else []


def latent_rows(view: RunView) -> list[LatentRow]:
    """How each latent layer is used on held-out rows, or on training rows where there are none."""
    uses = view.diagnostics.latents if view.diagnostics else []
    kls = view.last["kl"] if uses else []
    return [LatentRow(i, use, kl) for i, (use, kl) in enumerate(zip(uses, kls, strict=True), 1)]


def model_pictures(view: RunView) -> list[Picture]:
    """Rows of the data beside rows of the model."""
    captions = {
        "train": "Data: rows of the training set",
        "samples": "Samples from the model",
        "probabilities": "Samples: the probability of each bit",
    }
    return _pictures(view, captions)


def sample_pictures(view: RunView) -> list[Picture]:
    """Bits drawn from the model, the same in every page of a run."""
    return _pictures(view, {"samples": f"Samples from {view.name}"})


def field_pictures(view: RunView) -> list[Picture]:
    """The strongest receptive fields of the first latent layer, in p and in q."""
    captions = {
        "fields_p": "What each unit of the first layer adds to the data (p)",
        "fields_q": "What each unit of the first layer looks for in the data (q)",
    }
    return _pictures(view, captions, signed=True)


def imputation_pictures(view: RunView) -> list[Picture]:
    """What the model makes of the lower half of test images, given the upper one."""
    kept = view.diagnostics
    if kept is None or "imputed" not in kept:
        return []
    arrays = (kept["given"], kept["missing"].astype(bool), kept["imputed"])
    images = (view.shown_as.images(array) for array in arrays)
    png = imputations_png(*images, inverted=view.data.inverted)
    return [Picture("Test images with the lower half hidden, and imputations", data_uri(png))]


def _pictures(view: RunView, captions: dict[str, str], *, signed: bool = False) -> list[Picture]:
    kept = view.diagnostics
    if kept is None:
        return []
    shown = {caption: kept[name] for name, caption in captions.items() if name in kept}
    return [
        _picture(view, caption, scaled(rows) if signed else rows, signed=signed)
        for caption, rows in shown.items()
    ]


def _picture(view: RunView, caption: str, rows: np.ndarray, *, signed: bool = False) -> Picture:
    # A weight's sign means the same whatever the background is.
    inverted = view.data.inverted and not signed
    colours = SIGNED if signed else GREY
    canvas = layout(view.shown_as, rows, colours=colours)
    png = canvas_png(canvas, colours=colours, inverted=inverted)
    return Picture(caption, data_uri(png))


def _nobody(done: int, total: int) -> None:
    pass
