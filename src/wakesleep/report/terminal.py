"""Pictures in characters, for a terminal on a machine without a screen."""

import os
import sys
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""Four pixels to a character; bit 0 is the top left one, 1 top right, 2 and 3 below."""

SHADES = " ░▒▓█"

Pixels = npt.NDArray[np.floating] | npt.NDArray[np.uint8]


def preview(images: Pixels, width: int) -> str:
    """As many of the images `[n, rows, cols]`, values in [0, 1], as fit one line of `width`.

    Bits are drawn four to a character, other values as shades of two pixels, one above another.

    >>> preview(np.eye(4, dtype=np.uint8)[None], width=80).splitlines()
    ['▚ ', ' ▚']
    """
    draw = _bits if set(np.unique(images)) <= {0, 1} else _shades
    drawn = [draw(np.asarray(image, np.float32)) for image in images]
    fitting = max(1, (width + 1) // (len(drawn[0][0]) + 1))
    return "\n".join(" ".join(lines) for lines in zip(*drawn[:fitting], strict=True))


def has_screen(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a picture could be opened in a window here."""
    return sys.platform in ("darwin", "win32") or bool(
        environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    )


def _bits(image: npt.NDArray[np.float32]) -> list[str]:
    on = _padded(image, 2, 2) > 0.5
    codes = on[::2, ::2] + 2 * on[::2, 1::2] + 4 * on[1::2, ::2] + 8 * on[1::2, 1::2]
    return ["".join(QUADRANTS[code] for code in line) for line in codes]


def _shades(image: npt.NDArray[np.float32]) -> list[str]:
    padded = _padded(image, 2, 1)
    # A character is about twice as tall as it is wide.
    values = np.clip((padded[::2] + padded[1::2]) / 2, 0, 1)
    levels = np.rint(values * (len(SHADES) - 1)).astype(int)
    return ["".join(SHADES[level] for level in line) for line in levels]


def _padded(image: npt.NDArray[np.float32], rows: int, columns: int) -> npt.NDArray[np.float32]:
    height, width = image.shape
    return np.pad(image, ((0, -height % rows), (0, -width % columns)))
