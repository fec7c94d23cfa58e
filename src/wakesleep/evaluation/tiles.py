"""The unit of work: some examples times some samples, one compiled call.

A tile's shape follows from the model and K alone, and its key from its place in the set
and among the samples. So the same arguments give the same numbers, to the bit, whatever the
memory budget and wherever an evaluation was interrupted.
"""

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key

from wakesleep.importance import log_weights
from wakesleep.inference.combinations import combine, combined_log_likelihood
from wakesleep.inference.defensive import (
    DefensiveDraw,
    Proposals,
    defensive_draw,
    find_neighbourhoods,
)
from wakesleep.inference.neighbourhoods import Neighbourhoods
from wakesleep.models import HelmholtzMachine, LatentModel

ROWS = 1024
"""Samples in a tile, over all its examples: enough to fill a matrix product."""

FEWEST_ROWS = 16

LARGEST_ARRAY = 1 << 26
"""Bytes of a tile's widest array; only models with arrays above 16,384 numbers come near."""

ARRAYS_ALIVE = 8
"""Arrays of a layer's width that a tile holds at a time, generously."""


@dataclass(frozen=True)
class Widths:
    """How many numbers one sample of a model is made of.

    Attributes:
        widest: in the largest of x's and h's arrays; in a machine, the units of a layer.
        scored: in all that p and q score: x once, h by both.
    """

    widest: int
    scored: int

    @classmethod
    def of(cls, model: LatentModel, x: Any) -> "Widths":
        """Those of a model for one example `x`, a tree of arrays `[1, ...]`."""
        visible, latent = _sizes(x), _latent_sizes(model, x)
        return cls(max(*visible, *latent, 1), sum(visible) + 2 * sum(latent))

    @property
    def tile_rows(self) -> int:
        """Samples in a tile."""
        return max(FEWEST_ROWS, min(ROWS, LARGEST_ARRAY // (4 * self.widest)))


def _sizes(tree: Any) -> list[int]:
    return [math.prod(leaf.shape) for leaf in jax.tree.leaves(tree)]


def _latent_sizes(model: LatentModel, x: Any) -> list[int]:
    """A machine knows them; the mere shapes of a draw take longer than evaluating a few rows."""
    if isinstance(model, HelmholtzMachine):
        return list(model.latent_sizes)
    return _sizes(eqx.filter_eval_shape(_one_draw, model, x))


@eqx.filter_jit
def _one_draw(model: LatentModel, x: Any) -> Any:
    # Never run. It is compiled code so that JAX remembers its shapes.
    return model.draw(jax.random.key(0), x, 1).h


def bytes_of(rows: int, width: int) -> int:
    """Memory for a tile of so many samples, roughly and from above."""
    return 4 * ARRAYS_ALIVE * rows * width


@dataclass(frozen=True)
class Tiling:
    """How K samples per example are cut.

    Attributes:
        total: K.
        examples: examples in a tile; more than one only where K is small.
        samples: samples per example in a tile. The last tile of an example may draw a few
            too many, which are dropped: one shape is compiled.
    """

    total: int
    examples: int
    samples: int

    @classmethod
    def of(cls, samples: int, rows: int) -> "Tiling":
        """Blocks of equal size, as few as possible."""
        blocks = -(-samples // rows)
        per_block = -(-samples // blocks)
        return cls(samples, max(1, rows // per_block), per_block)

    @property
    def blocks(self) -> int:
        """Tiles per example."""
        return -(-self.total // self.samples)


@eqx.filter_jit
def neighbourhoods_of_tile(
    machine: HelmholtzMachine, x: Any, key: Key[Array, ""], place: Int[Array, "2"]
) -> Neighbourhoods:
    """What a search finds for the examples of a tile, before their first block."""
    return find_neighbourhoods(machine, x, _key_at(key, place))


@eqx.filter_jit
def defensive_tile(
    machine: HelmholtzMachine,
    x: Any,
    proposals: Proposals,
    near: Neighbourhoods | None,
    key: Key[Array, ""],
    place: Int[Array, "2"],
) -> DefensiveDraw:
    """As `tile_log_weights`, with samples of several proposals."""
    return defensive_draw(machine, x, proposals, near, _key_at(key, place))


@eqx.filter_jit
def tile_log_weights(
    model: LatentModel,
    x: Any,
    samples: int,
    key: Key[Array, ""],
    place: Int[Array, "2"],
) -> Float[Array, "E S"]:
    """log ω of one tile of examples, a tree of arrays `[E, ...]`.

    `place` is (tile of examples, block of samples).
    """
    return log_weights(model, x, samples, _key_at(key, place))


@eqx.filter_jit
def combined_tile(
    machine: HelmholtzMachine,
    x: Any,
    shape: tuple[int, int],
    key: Key[Array, ""],
    place: Int[Array, "2"],
) -> tuple[Float[Array, "E S"], Float[Array, " E"]]:
    """log p̂(x) of S groups of M samples of q each, over all combinations within a group.

    `shape` is (S, M). Beside them is the mean of log ω over all samples, each by itself.
    """
    groups, group = shape
    drawn = machine.draw(_key_at(key, place), x, groups * group)
    apart = jax.tree.map(lambda each: each.reshape(-1, group, *each.shape[2:]), drawn)
    estimates = combined_log_likelihood(combine(machine, apart)).reshape(-1, groups)
    return estimates, drawn.log_weights.mean(axis=1)


def _key_at(key: Key[Array, ""], place: Int[Array, "2"]) -> Key[Array, ""]:
    return jax.random.fold_in(jax.random.fold_in(key, place[0]), place[1])
