"""`wakesleep show`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wakesleep.cli.preview import Preview
from wakesleep.cli.run_options import DataFile, Overwrite, RunPath, check_new
from wakesleep.errors import UsageError
from wakesleep.options import Count


@dataclass
class Show:
    """Picture the receptive fields of the first latent layer, the strongest first.

    A field is the change of every logit when one unit (p) or one bit of the data (q) is switched
    on alone; red raises it, blue lowers it.

    Example: wakesleep show runs/digits --out fields.png
    """

    run_folder: RunPath
    out: Path = Path("fields.png")
    """The picture, .png or .svg; a line per unit where the data are no images."""
    network: Literal["p", "q"] = "p"
    """What units add to the data (p), or what they look for in it (q)."""
    count: Count = 100
    """The most units to show."""
    preview: Preview = "auto"
    """Also show images in the terminal; auto does where there is no screen."""
    data: DataFile = None
    overwrite: Overwrite = False

    def run(self) -> int:
        """Draw and write."""
        from wakesleep.cli.preview import show_in_terminal
        from wakesleep.cli.progress_bars import working
        from wakesleep.pictures import SIGNED, check_format, layout, save_canvas
        from wakesleep.runs import fields
        from wakesleep.runs.loading import load_run

        if self.count < 1:
            raise UsageError(f"--count must be 1 or more, not {self.count}")
        check_format(self.out)
        check_new(self.out, overwrite=self.overwrite)
        run = load_run(self.run_folder, self.data)
        data = run.about_data.without_rows()
        of = fields.generative_fields if self.network == "p" else fields.inference_fields
        with working("drawing"):
            shown = fields.scaled(fields.strongest(of(run.single_machine), self.count))
            save_canvas(self.out, layout(data, shown, colours=SIGNED), colours=SIGNED)
        if data.image_shape:
            show_in_terminal(data.images(shown), self.preview)
        print(f"wrote {len(shown)} receptive fields to {self.out}")
        return 0
