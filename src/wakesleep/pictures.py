"""Pictures of bits, probabilities and weights as PNG and SVG files, without a screen."""

import base64
import io
from pathlib import Path

import numpy as np

from wakesleep.atomic import write_atomically
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.extras import need

GAP = 1
SCALE = 3
GREY = "gray"
SIGNED = "RdBu_r"
"""For weights: red is positive, blue negative, white nothing."""
GAPS = {GREY: 0.5, SIGNED: np.nan}
"""What lies between pictures; matplotlib leaves nan transparent."""

FORMATS = (".png", ".svg")


def grid(images: np.ndarray, *, colours: str = GREY) -> np.ndarray:
    """Images `[n, rows, cols]` with values in [0, 1] side by side in a nearly square grid."""
    count, rows, cols = images.shape
    across = int(np.ceil(np.sqrt(count)))
    down = -(-count // across)
    shape = (down * (rows + GAP) + GAP, across * (cols + GAP) + GAP)
    canvas = np.full(shape, GAPS[colours], np.float32)
    for i, picture in enumerate(images):
        top, left = divmod(i, across)
        y, x = GAP + top * (rows + GAP), GAP + left * (cols + GAP)
        canvas[y : y + rows, x : x + cols] = picture
    return canvas


def layout(data: Dataset, rows: np.ndarray, *, colours: str = GREY) -> np.ndarray:
    """Rows `[n, D]` as one canvas: a grid if they are images, a line each otherwise."""
    return grid(data.images(rows), colours=colours) if data.image_shape else rows


def canvas_png(canvas: np.ndarray, *, colours: str = GREY, inverted: bool = False) -> bytes:
    """A canvas with values in [0, 1] as a PNG file; `inverted` data has 1 for the background."""
    need("report", "matplotlib")
    from matplotlib import image as matplotlib_image

    values = np.asarray(1 - canvas if inverted else canvas, np.float32)
    enlarged = np.kron(values, np.ones((SCALE, SCALE), np.float32))
    buffer = io.BytesIO()
    matplotlib_image.imsave(buffer, enlarged, cmap=colours, vmin=0, vmax=1, format="png")
    return buffer.getvalue()


def save_grid(path: Path, images: np.ndarray, *, inverted: bool = False) -> None:
    """Write a grid of images to a PNG or SVG file."""
    save_canvas(path, grid(images), inverted=inverted)


def save_canvas(
    path: Path, canvas: np.ndarray, *, colours: str = GREY, inverted: bool = False
) -> None:
    """Write a canvas to a PNG or SVG file."""
    check_format(path)
    png = canvas_png(canvas, colours=colours, inverted=inverted)
    height, width = (SCALE * side for side in canvas.shape)
    write_atomically(path, png if path.suffix == ".png" else _svg(png, width, height))


def check_format(path: Path) -> None:
    """Refuse a picture that is neither PNG nor SVG."""
    if path.suffix not in FORMATS:
        raise UsageError(f"a picture must end in {' or '.join(FORMATS)}, not '{path.name}'")


def data_uri(png: bytes) -> str:
    """A picture as an address that needs no network."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _svg(png: bytes, width: int, height: int) -> bytes:
    """The pixels in an SVG that scales them without blurring."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" style="image-rendering:pixelated" '
        f'href="{data_uri(png)}"/></svg>'
    ).encode()
