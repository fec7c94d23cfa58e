"""Missing cells of a table imputed by a run's model, names and types kept."""

from dataclasses import dataclass
from typing import Any

import jax

from wakesleep.errors import UsageError
from wakesleep.inference.blocks import Progress
from wakesleep.inference.imputation import ENOUGH, Imputation
from wakesleep.inference.imputed_table import impute_draws, impute_read
from wakesleep.models import BitModel, TableModel
from wakesleep.runs.new_rows import NewRows
from wakesleep.schema import Frame
from wakesleep.schema.frame import stacked

DRAW = "draw"
"""The column that counts draws."""


@dataclass(frozen=True)
class TableImputation:
    """How the cells of a table are imputed; see `impute` for what the numbers mean.

    Attributes:
        how: "probable" for the most probable level and the median of numbers, "draw" for a draw.
        samples: the most imputations weighted for each row.
        moves: sweeps of Metropolis moves for rows with few effective samples.
        enough: the effective samples that are.
        seed: of the draws.
        beside: whether columns with probabilities and intervals are added.
        draws: of every row, one table below the other, with a column that counts them if several.
    """

    how: str = "probable"
    samples: int = 500
    moves: int = 20
    enough: float | int = ENOUGH
    seed: int = 4
    beside: bool = False
    draws: int = 1

    def of(
        self, model: BitModel, new: NewRows, progress: Progress | None = None
    ) -> tuple[Frame, Imputation]:
        """The table with its missing cells imputed, and what is known of the draws.

        Columns of the model that the table does not have are added behind its own.
        """
        assert new.encoded is not None
        assert new.schema is not None
        assert new.frame is not None
        table, read = TableModel(model, new.schema), (new.frame, new.encoded)
        key, keep = jax.random.key(self.seed), {"moves": self.moves, "enough": self.enough}
        options: dict[str, Any] = {"beside": self.beside, "progress": progress, **keep}
        if self.draws == 1:
            return impute_read(table, read, self.samples, key=key, how=self.how, **options)
        if self.how != "draw":
            raise UsageError("--draws goes with --how draw: what is most probable is one")
        if DRAW in new.frame:
            raise UsageError(f"the column {DRAW!r} has a name that is used: rename it")
        drawn, imputed = impute_draws(
            table, read, self.samples, key=key, draws=self.draws, **options
        )
        return stacked(drawn, DRAW), imputed
