"""`wakesleep mix`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.cli.run_options import DataFile
from wakesleep.errors import UsageError
from wakesleep.options import Count, Seed


@dataclass
class Mix:
    """Put the models of finished runs on the same data together, as one model in a run folder.

    Each model has a weight, learned on the validation rows. The new folder is taken by score,
    sample, impute, embed, evaluate, compare and report like any other.

    Example: wakesleep mix runs/survey runs/other --out runs/both
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """Two or more run folders."""
    out: Path
    """The new run folder."""
    samples: Count = 100
    """K, latents drawn from q per row and model while the weights are learned."""
    seed: Seed = 0
    """Of those."""
    overwrite: bool = False
    """Replace a run that is in the new folder."""
    data: DataFile = None

    def run(self) -> int:
        """Mix, write and tell."""
        import numpy as np

        from wakesleep.cli.progress_bars import working
        from wakesleep.runs.mixed_runs import mix_runs

        if self.samples < 1:
            raise UsageError(f"--samples must be 1 or more, not {self.samples}")
        with working("mixing"):
            mixture = mix_runs(
                self.run_folders,
                self.out,
                data=self.data,
                samples=self.samples,
                seed=self.seed,
                overwrite=self.overwrite,
            )
        weights = ", ".join(f"{weight:.3f}" for weight in np.exp(mixture.log_proportions))
        print(f"wrote a mixture of {len(mixture.components)} machines to {self.out}")
        print(f"their weights: {weights}")
        return 0
