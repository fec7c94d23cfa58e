"""Pictures shown where they are asked for: in the terminal, if there is no screen."""

import shutil
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

Preview = Literal["auto", "yes", "no"]


def show_in_terminal(images: "np.ndarray", when: Preview, *, inverted: bool = False) -> None:
    """Print images `[n, rows, cols]`; "auto" does so on a terminal without a screen."""
    from wakesleep.report.terminal import has_screen, preview

    wanted = sys.stdout.isatty() and not has_screen() if when == "auto" else when == "yes"
    if wanted:
        width = shutil.get_terminal_size().columns
        print(preview(1 - images if inverted else images, width))
