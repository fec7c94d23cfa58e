"""Missing cells of a table imputed by a run's model, names and types kept."""

from dataclasses import dataclass

import jax

from wakesleep.inference.blocks import Progress
from wakesleep.inference.imputation import ENOUGH, Imputation
from wakesleep.inference.imputed_table import impute_read
from wakesleep.models import BitModel, TableModel
from wakesleep.runs.new_rows import NewRows
from wakesleep.schema import Frame


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
    """

    how: str = "probable"
    samples: int = 500
    moves: int = 20
    enough: float | int = ENOUGH
    seed: int = 4
    beside: bool = False

    def of(
        self, model: BitModel, new: NewRows, progress: Progress | None = None
    ) -> tuple[Frame, Imputation]:
        """The table with its missing cells imputed, and what is known of the draws.

        Columns of the model that the table does not have are added behind its own.
        """
        assert new.encoded is not None
        assert new.schema is not None
        assert new.frame is not None
        return impute_read(
            TableModel(model, new.schema),
            (new.frame, new.encoded),
            self.samples,
            key=jax.random.key(self.seed),
            how=self.how,
            beside=self.beside,
            moves=self.moves,
            enough=self.enough,
            progress=progress,
        )
