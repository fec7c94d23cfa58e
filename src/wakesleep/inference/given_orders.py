"""Rows under conditions from a model that reads its groups in any order: the known ones first.

In each of the model's orderings the known groups come before all others. Each is drawn within what
is allowed of it, and the row's weight is the probability of that; all else follows from them, and
adds no weight. So weights are even, and draws exact, where one group is known.
"""

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Int, Key

from wakesleep.inference.blocks import Block
from wakesleep.inference.conditions import PartialGroup
from wakesleep.inference.pool_weights import (
    PLENTY,
    effective_samples,
    log_mean,
    systematic_choice,
)
from wakesleep.models import EoNADE, Masked

EVEN = 0.999
"""The share of effective samples in a pool from which its weights are all the same."""


class OrdersPool(NamedTuple):
    """How a chunk of rows is drawn.

    Attributes:
        model: the model.
        known: what is allowed of groups, by number.
        rows: of a chunk.
        samples: the most that are weighted for each.
    """

    model: EoNADE
    known: dict[int, PartialGroup]
    rows: int
    samples: int

    def draw(self, block: Block, key: Key[Array, ""], moves: int) -> dict[str, Any]:
        """A chunk's rows, and what their weights say, once for each row; nothing is moved."""
        del moves
        key_choose, key_rounds = jax.random.split(key)
        x, log_weights = self._weighted(key_rounds)
        chosen = systematic_choice(log_weights, self.rows, key_choose)[: len(block)]
        effective = effective_samples(log_weights) / self.rows
        return {
            "draws": x[chosen],
            "log_probability": np.full(len(block), log_mean(log_weights)),
            "effective_samples": np.full(len(block), effective),
        }

    def _weighted(
        self, key: Key[Array, ""]
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
        """Rounds through all orderings until weights are even, or enough rows have weight."""
        orders = self.model.spec.orders(self.model.groups_count)
        rows = math.ceil(self.rows / len(orders))
        drawn, weights = [], []
        for number in range(self.samples):
            for place, order in enumerate(orders):
                own = jax.random.fold_in(jax.random.fold_in(key, number), place)
                x, log_weights = self._in_order(own, order, rows)
                drawn.append(np.asarray(x, np.uint8))
                weights.append(np.asarray(log_weights, np.float64))
            everything = np.concatenate(weights)
            if effective_samples(everything) >= min(PLENTY * self.rows, EVEN * len(everything)):
                break
        return np.concatenate(drawn), everything

    def _in_order(
        self, key: Key[Array, ""], order: npt.NDArray[np.int32], rows: int
    ) -> tuple[Float[Array, "rows D"], Float[Array, " rows"]]:
        key_known, key_rest = jax.random.split(key)
        known = tuple((group, self.known[group]) for group in order.tolist() if group in self.known)
        x, log_weights = _known(self.model, key_known, known, rows)
        return _rest(self.model, key_rest, x, jnp.asarray(order)), log_weights


@eqx.filter_jit
def _known(
    model: EoNADE, key: Key[Array, ""], known: tuple[tuple[int, PartialGroup], ...], rows: int
) -> tuple[Masked, Float[Array, " rows"]]:
    """Rows of which the known groups are drawn, one after another, and their log weights."""
    x, seen = jnp.zeros((rows, model.features)), jnp.zeros((rows, model.groups_count))
    log_weights = jnp.zeros(rows)
    for number, group in known:
        log_allowed = group.log_allowed(model.predict(x, seen))
        log_weights = log_weights + jax.nn.logsumexp(log_allowed, axis=-1)
        state = jax.random.categorical(jax.random.fold_in(key, number), log_allowed)
        x = x.at[:, group.slice].set(group.units(state))
        seen = seen.at[:, number].set(1.0)
    return Masked(x, seen), log_weights


@eqx.filter_jit
def _rest(
    model: EoNADE, key: Key[Array, ""], x: Masked, order: Int[Array, " G"]
) -> Float[Array, "rows D"]:
    return model.impute_in_order(key, x, order)
