"""Missing bits by a model that predicts any columns from any others: nothing is weighted."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep import importance
from wakesleep.errors import DataError
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.stages import Fields, block_rows
from wakesleep.models import EoNADE, Masked


class ExactImputer(NamedTuple):
    """Rows that all have missing bits, in whole groups, and an EoNADE."""

    model: EoNADE
    bits: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.bool_]
    draws: int

    def impute(self, block: Block, key: Key[Array, ""]) -> dict[str, Any]:
        """A block's fields of an `Imputation`."""
        missing = self.missing[block.filled]
        x = Masked(
            jnp.asarray(self.bits[block.filled], jnp.float32),
            jnp.asarray(_observed_groups(self.model, missing), jnp.float32),
        )
        block_key = jax.random.fold_in(key, block.number)
        drawn, probabilities, value = _impute(self.model, block_key, x, self.draws)
        rows = len(missing)
        return {
            "draws": np.asarray(drawn).astype(np.uint8),
            "probabilities": np.where(missing, probabilities, x.x),
            "log_likelihood": value,
            "effective_samples": np.full(rows, np.nan, np.float32),
            "moved": np.zeros(rows, np.bool_),
            "accepted": np.full(rows, np.nan, np.float32),
        }


def impute_exactly(rows: ExactImputer, key: Key[Array, ""], progress: Progress | None) -> Fields:
    """All rows' fields of an `Imputation`, block by block."""
    count, width = len(rows.bits), max(rows.draws, rows.model.spec.orderings)
    blocks = Blocks(count, block_rows(rows.model, width, count))
    return blocks.map(lambda block: rows.impute(block, key), progress)


@eqx.filter_jit
def _impute(
    model: EoNADE, key: Key[Array, ""], x: Masked, draws: int
) -> tuple[Float[Array, "B N D"], Float[Array, "B D"], Float[Array, " B"]]:
    """Draws, each missing group's probabilities given all that was observed, and log p of that."""
    probabilities = model.visible_emission.mean(model.predict(x.x, x.observed))
    log_weights = importance.log_weights(model, x, model.spec.orderings, key)
    value = importance.log_likelihood_estimate(log_weights)
    return model.impute(key, x, draws), probabilities, value


def _observed_groups(model: EoNADE, missing: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    starts = np.cumsum((0, *model.groups[:-1]))
    some = np.logical_or.reduceat(missing, starts, axis=1)
    if np.any(some != np.logical_and.reduceat(missing, starts, axis=1)):
        raise DataError("a group of bits is missing in part: give or hide it as a whole")
    return ~some
