"""Missing cells of a table imputed by a run's model, names and types kept."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from wakesleep.inference.blocks import Progress
from wakesleep.inference.imputation import Imputation, impute
from wakesleep.models import BitModel
from wakesleep.runs.new_rows import NewRows
from wakesleep.schema import Frame, impute_missing, most_probable


@dataclass(frozen=True)
class TableImputation:
    """How the cells of a table are imputed; see `impute` for what the numbers mean.

    Attributes:
        how: "probable" for the most probable level and the median of numbers, "draw" for a draw.
        samples: imputations considered for each row.
        moves: sweeps of Metropolis moves for rows with a low effective sample size.
        threshold: what is low.
        seed: of the draws.
    """

    how: str = "probable"
    samples: int = 500
    moves: int = 20
    threshold: float | int = 0.1
    seed: int = 4

    def of(
        self, model: BitModel, new: NewRows, progress: Progress | None = None
    ) -> tuple[Frame, Imputation]:
        """The table with its missing cells imputed, and what is known of the draws.

        Columns of the model that the table does not have are added behind its own.
        """
        assert new.encoded is not None
        assert new.schema is not None
        assert new.frame is not None
        missing = np.repeat(~new.encoded.observed, new.schema.groups, axis=1)
        imputed = impute(
            model,
            new.encoded.bits,
            missing,
            self.samples,
            key=jax.random.key(self.seed),
            draws=1,
            moves=self.moves,
            threshold=self.threshold,
            progress=progress,
        )
        rng: Any = self.seed
        bits = imputed.draws[:, 0]
        if self.how == "probable":
            # Numbers are then in the middle of their bins.
            bits, rng = most_probable(new.schema, imputed.probabilities), None
        drawn = new.schema.decode(bits, rng, tails=False)
        absent = [cells for cells in drawn.cells if cells.name not in new.frame]
        table = impute_missing(new.frame, drawn)
        return dataclasses.replace(table, cells=(*table.cells, *absent)), imputed
