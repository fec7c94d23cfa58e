"""Pictures: grids of images and curves, drawn by matplotlib without a screen."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import image as matplotlib_image
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from wakesleep.atomic import write_atomically

GAP = 1
SCALE = 3
MISSING_COLOUR = (0.25, 0.45, 0.85)


def grid(images: np.ndarray) -> np.ndarray:
    """Images `[n, rows, cols]` with values in [0, 1] side by side in a nearly square grid."""
    count, rows, cols = images.shape
    across = int(np.ceil(np.sqrt(count)))
    down = -(-count // across)
    canvas = np.full((down * (rows + GAP) + GAP, across * (cols + GAP) + GAP), 0.5, np.float32)
    for i, picture in enumerate(images):
        top, left = divmod(i, across)
        y, x = GAP + top * (rows + GAP), GAP + left * (cols + GAP)
        canvas[y : y + rows, x : x + cols] = picture
    return canvas


def grid_png(images: np.ndarray, *, inverted: bool = False) -> bytes:
    """A grid as a PNG file's bytes; `inverted` data has 1 for the background."""
    pictures = 1 - images if inverted else images
    canvas = np.kron(grid(np.asarray(pictures, np.float32)), np.ones((SCALE, SCALE)))
    buffer = io.BytesIO()
    matplotlib_image.imsave(buffer, canvas, cmap="gray", vmin=0, vmax=1, format="png")
    return buffer.getvalue()


def save_grid(path: Path, images: np.ndarray, *, inverted: bool = False) -> None:
    """Write a grid of images to a PNG file."""
    write_atomically(path, grid_png(images, inverted=inverted))


def completions_png(
    given: np.ndarray, missing: np.ndarray, draws: np.ndarray, *, inverted: bool = False
) -> bytes:
    """A line per image: what was given, the rest in blue, then completions, the given dimmed.

    Args:
        given: images `[n, rows, cols]` of 0 and 1.
        missing: `[n, rows, cols]`, true where nothing was given.
        draws: completed images `[n, m, rows, cols]`.
        inverted: whether 1 is the background.
    """
    given, draws = (1 - given, 1 - draws) if inverted else (given, draws)
    lines = [
        np.concatenate([_marked(image, mask, MISSING_COLOUR)[None], _dimmed(drawn, mask)])
        for image, mask, drawn in zip(given, missing, draws, strict=True)
    ]
    return _rgb_png(_table(np.stack(lines)))


def _marked(image: np.ndarray, mask: np.ndarray, colour: tuple[float, ...]) -> np.ndarray:
    coloured = np.repeat(image[..., None].astype(np.float32), 3, axis=-1)
    coloured[mask] = colour
    return coloured


def _dimmed(images: np.ndarray, mask: np.ndarray) -> np.ndarray:
    shades = np.where(mask, images, 0.5 + 0.4 * (images - 0.5)).astype(np.float32)
    return np.repeat(shades[..., None], 3, axis=-1)


def _table(images: np.ndarray) -> np.ndarray:
    """Images `[down, across, rows, cols, 3]` with gaps between them."""
    down, across, rows, cols, _ = images.shape
    canvas = np.full((down * (rows + GAP) + GAP, across * (cols + GAP) + GAP, 3), 0.5, np.float32)
    for i, j in np.ndindex(down, across):
        y, x = GAP + i * (rows + GAP), GAP + j * (cols + GAP)
        canvas[y : y + rows, x : x + cols] = images[i, j]
    return canvas


def _rgb_png(canvas: np.ndarray) -> bytes:
    scaled = canvas.repeat(SCALE, axis=0).repeat(SCALE, axis=1)
    buffer = io.BytesIO()
    matplotlib_image.imsave(buffer, scaled, format="png")
    return buffer.getvalue()


def curves_png(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Learning curves: log-likelihood and effective sample size by epoch."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    likelihood, ess = figure.subplots(1, 2)
    epochs = [record["epoch"] for record in records]
    for name, label in (
        ("train_ll", "train"),
        ("valid_ll", "validation"),
        ("valid_ll_average", "validation, averaged weights"),
    ):
        values = [record[name] for record in records]
        if values and all(value is not None for value in values):
            likelihood.plot(epochs, values, label=label)
    likelihood.set(xlabel="epoch", ylabel="log-likelihood (nats)", title="Learning curves")
    likelihood.legend()
    ess.plot(epochs, [record["effective_samples"] for record in records], color="tab:green")
    ess.set(xlabel="epoch", ylabel="effective samples", title="Effective sample size in training")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
