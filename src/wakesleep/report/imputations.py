"""Half an image given, and what the model makes of the rest."""

import io

import numpy as np
from matplotlib import image as matplotlib_image

from wakesleep.pictures import GAP, SCALE

MISSING_COLOUR = (0.25, 0.45, 0.85)


def imputations_png(
    given: np.ndarray, missing: np.ndarray, draws: np.ndarray, *, inverted: bool = False
) -> bytes:
    """A line per image: what was given, the rest in blue, then imputations, the given dimmed.

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
