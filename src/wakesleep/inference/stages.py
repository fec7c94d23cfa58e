"""Drawing the unknown units of many rows: few samples for most, more and moves for hard ones.

Every row starts with a few weighted samples. Rows whose effective sample size is not enough start
again with more, and those that still have too few at the end go on with Metropolis moves. Rows of
a stage are computed in blocks of one size, so that few shapes are compiled.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Bool, Key, UInt8

from wakesleep import importance
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.conditions import observed
from wakesleep.inference.moves import Target, move
from wakesleep.inference.population import weigh, weighted_mean
from wakesleep.inference.resampling import multinomial, take
from wakesleep.models import BitModel, HelmholtzMachine

STAGES = (64, 128, 256)
"""Samples of the stages before the last."""

MOVED = 32
"""The particles that are moved, of as many or more that were weighted."""

LARGEST_ARRAY = 1 << 20
"""Bytes of a block's widest array: what caches hold is faster than what they do not."""

Fields = dict[str, npt.NDArray[Any]]
"""By name: draws, probabilities, log_likelihood, effective_samples, moved, accepted."""


class Effort(NamedTuple):
    """How much is done for a row.

    Attributes:
        samples: the most that are weighted.
        draws: how many are returned.
        moves: sweeps of Metropolis moves for rows that never have enough.
        enough: the effective samples that are.
    """

    samples: int
    draws: int
    moves: int
    enough: float | int

    @property
    def stages(self) -> tuple[int, ...]:
        """How many samples the stages take: those that can be enough, and the most."""
        least = max(self.enough, self.draws)
        return (*(size for size in STAGES if least < size < self.samples), self.samples)


class PartialRows(NamedTuple):
    """Rows `[N, D]` that all have missing units."""

    model: HelmholtzMachine
    bits: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.bool_]

    def impute(self, effort: Effort, key: Key[Array, ""], progress: Progress | None) -> Fields:
        """All rows' fields of an `Imputation`, each from the last stage that it needed."""
        left = np.arange(len(self.bits))
        fields: Fields = {}
        tell = _Teller(len(left), progress)
        for number, samples in enumerate(effort.stages):
            last = samples == effort.samples and not effort.moves
            how = _Weigh(samples, effort.draws, 0 if last else effort.enough)
            weighted = self._stage(left, how, jax.random.fold_in(key, number), tell)
            _put(fields, left, weighted, len(self.bits))
            left = left[weighted["effective_samples"] < how.enough]
            if not len(left):
                return fields
        samples = max(min(MOVED, effort.samples), effort.draws)
        moving = _Move(samples, effort.draws, effort.moves)
        moved = self._stage(left, moving, jax.random.fold_in(key, len(effort.stages)), tell)
        _put(fields, left, moved, len(self.bits))
        return fields

    def _stage(
        self, rows: npt.NDArray[np.intp], how: "_Stage", key: Key[Array, ""], tell: "_Teller"
    ) -> Fields:
        """What is known of these rows after one stage."""

        def of(block: Block) -> Any:
            chosen = rows[block.filled]
            x, missing = self.bits[chosen], self.missing[chosen]
            block_key = jax.random.fold_in(key, block.number)
            fields = how(self.model, block_key, jnp.asarray(x), jnp.asarray(missing))
            fields = jax.tree.map(np.asarray, fields)
            fields["probabilities"] = np.where(missing, fields["probabilities"], x)
            tell(int(how.finished(fields)[: len(block)].sum()))
            return fields

        return Blocks(len(rows), block_rows(self.model, how.samples, len(rows))).map(of)


class _Weigh(NamedTuple):
    """Weighted samples alone; a row with enough effective ones needs nothing more."""

    samples: int
    draws: int
    enough: float | int

    def __call__(self, model: HelmholtzMachine, *rows: Any) -> dict[str, Array]:
        key, x, missing = rows
        return _weighted_fields(model, key, x, missing, (self.samples, self.draws))

    def finished(self, fields: Fields) -> npt.NDArray[np.bool_]:
        return fields["effective_samples"] >= self.enough


class _Move(NamedTuple):
    """Weighted samples, then sweeps of moves: the end for every row."""

    samples: int
    draws: int
    sweeps: int

    def __call__(self, model: HelmholtzMachine, *rows: Any) -> dict[str, Array]:
        key, x, missing = rows
        return _moved_fields(model, key, x, missing, self)

    def finished(self, fields: Fields) -> npt.NDArray[np.bool_]:
        return fields["moved"]


_Stage = _Weigh | _Move


class _Teller:
    """Counts the rows that need no more, and tells."""

    def __init__(self, total: int, progress: Progress | None):
        self.done, self.total, self.progress = 0, total, progress

    def __call__(self, finished: int) -> None:
        self.done += finished
        if self.progress and finished:
            self.progress(self.done, self.total)


def _put(fields: Fields, rows: npt.NDArray[np.intp], new: Fields, total: int) -> None:
    """Replace what is known of some rows."""
    for name, values in new.items():
        if name not in fields:
            fields[name] = np.zeros((total, *values.shape[1:]), values.dtype)
        fields[name][rows] = values


@eqx.filter_jit
def _weighted_fields(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    x: UInt8[Array, "B D"],
    missing: Bool[Array, "B D"],
    how: tuple[int, int],
) -> dict[str, Array]:
    samples, draws = how
    key_weigh, key_resample = jax.random.split(key)
    conditions = observed(x.astype(jnp.float32), missing)
    weighted = weigh(model, key_weigh, conditions, samples)
    chosen = multinomial(key_resample, weighted.log_weights)[:, :draws]
    rows = len(x)
    return {
        "draws": take(weighted.particles.x, chosen).astype(jnp.uint8),
        "probabilities": weighted_mean(weighted),
        "log_likelihood": importance.log_likelihood_estimate(weighted.log_weights),
        "effective_samples": importance.effective_sample_size(weighted.log_weights),
        "moved": jnp.zeros(rows, bool),
        "accepted": jnp.full(rows, jnp.nan),
    }


@eqx.filter_jit
def _moved_fields(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    x: UInt8[Array, "B D"],
    missing: Bool[Array, "B D"],
    how: _Move,
) -> dict[str, Array]:
    key_weigh, key_resample, key_move = jax.random.split(key, 3)
    conditions = observed(x.astype(jnp.float32), missing)
    weighted = weigh(model, key_weigh, conditions, how.samples)
    chosen = multinomial(key_resample, weighted.log_weights)
    target = Target(model, conditions)
    moved = move(target, key_move, take(weighted.particles, chosen), how.sweeps)
    return {
        "draws": moved.particles.x[:, : how.draws].astype(jnp.uint8),
        "probabilities": moved.probabilities,
        "moved": jnp.ones(len(x), bool),
        "accepted": moved.accepted,
    }


def block_rows(model: BitModel, samples: int, rows: int) -> int:
    """A power of two where rows are few, so that numbers of rows share a compiled shape."""
    widest = max(model.features, *model.hidden_sizes, 1)
    most = max(1, LARGEST_ARRAY // (4 * samples * widest))
    return min(most, 1 << (rows - 1).bit_length())
