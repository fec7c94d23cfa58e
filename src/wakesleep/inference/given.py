"""`sample_given`: rows of which some groups have allowed states, without rejection.

Rows are proposed within what is allowed, weighted, and drawn anew in proportion to their weights
from one large pool. Where the weights are uneven the pool grows, and where it has grown enough
Metropolis moves make the rows that were drawn more than once differ. Draws are exact, with equal
weights, where there are no latents and the known groups come first, each but the last in one state;
an EoNADE reads them first in every ordering.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.conditions import Allowed, allowing, partial_groups
from wakesleep.inference.given_orders import OrdersPool
from wakesleep.inference.moves import Target, move
from wakesleep.inference.pool_weights import (
    PLENTY,
    effective_samples,
    log_mean,
    systematic_choice,
)
from wakesleep.inference.population import (
    WARM_UP,
    Particles,
    Weighted,
    dream_rows,
    next_rows,
    propose,
)
from wakesleep.inference.responsibilities import (
    COUNTS,
    component_choices,
    components_in_turn,
    responsibilities,
)
from wakesleep.models import EoNADE, HelmholtzMachine, LatentModel, Mixture

CHUNKS = (256, 1024)
"""The fewest and the most rows that are drawn from a pool of their own."""

FEW = 0.1
"""Effective samples for each row below which the rows should not be believed."""


@dataclass(frozen=True, eq=False)
class GivenSamples:
    """Rows drawn under conditions.

    Attributes:
        draws: `[N, D]`, uint8.
        log_probability: of the conditions, in nats.
        effective_samples: of the weights that the rows were drawn by, for each row; PLENTY or
            more but for conditions that the model finds hard.
    """

    draws: npt.NDArray[np.uint8]
    log_probability: float
    effective_samples: float

    @property
    def unreliable(self) -> bool:
        """Whether so few samples had weight that the rows are few different ones."""
        return self.effective_samples < FEW


def sample_given(
    model: LatentModel,
    allowed: Allowed,
    count: int,
    samples: int = 100,
    *,
    key: Key[Array, ""],
    moves: int = 20,
    progress: Progress | None = None,
) -> GivenSamples:
    """Draw rows from p(x | the groups' states are allowed ones).

    Args:
        model: a Helmholtz machine, an EoNADE, or a mixture of them.
        allowed: for some groups, by number, how much of each state is allowed: an array of
            shares from 0 to 1, or a mask. A group of one unit has the states 0 and 1.
        count: how many rows.
        samples: the most that are weighted for each row.
        key: the randomness.
        moves: sweeps of Metropolis moves, where few samples have weight.
        progress: called with the numbers of rows done and in all.

    >>> import jax, numpy as np, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2", features=4, key=jax.random.key(0), groups=(1, 3))
    >>> given = sample_given(model, {1: [True, False, True]}, 5, key=jax.random.key(1))
    >>> given.draws.shape, given.draws[:, 2].tolist()
    ((5, 4), [0, 0, 0, 0, 0])
    """
    if not isinstance(model, HelmholtzMachine | EoNADE | Mixture):
        raise UsageError(
            "conditions are for Helmholtz machines, EoNADEs and mixtures of them: this model is "
            f"of the kind {type(model).__name__}"
        )
    if isinstance(model, HelmholtzMachine) and model.undirected:
        raise UsageError(
            "a machine with an undirected top takes no conditions: put them into rows with "
            "missing cells and impute those"
        )
    for name, value in (("count", count), ("samples", samples)):
        if value < 1:
            raise UsageError(f"{name} is {value}, but it must be at least 1")
    for group in allowed:
        if not 0 <= group < model.groups_count:
            raise UsageError(f"there is no group {group}: the model has {model.groups_count}")
    if isinstance(model, Mixture):
        alone = functools.partial(
            sample_given, allowed=allowed, count=count, samples=samples, moves=moves
        )
        return _from_components(model, alone, key, progress)
    rows = int(np.clip(1 << (count - 1).bit_length(), *CHUNKS))
    pool, log_share = _pool_of(model, allowed, rows, samples)

    def of(block: Block) -> Any:
        return pool.draw(block, jax.random.fold_in(key, block.number), moves)

    drawn = Blocks(count, pool.rows).map(of, progress)
    log_mean = float(np.logaddexp.reduce(drawn["log_probability"]) - np.log(count))
    return GivenSamples(
        drawn["draws"], log_mean + log_share, float(drawn["effective_samples"].mean())
    )


def _pool_of(
    model: HelmholtzMachine | EoNADE, allowed: Allowed, rows: int, samples: int
) -> "tuple[_Pool | OrdersPool, float]":
    """How rows are drawn, and the log share that their weights know nothing of."""
    if isinstance(model, EoNADE):
        return OrdersPool(model, partial_groups(model.groups, allowed), rows, samples), 0.0
    conditions, log_share = allowing(model.groups, allowed)
    return _Pool(Target(model, conditions), rows, samples), log_share


def _from_components(
    model: Mixture,
    alone: Callable[..., GivenSamples],
    key: Key[Array, ""],
    progress: Progress | None,
) -> GivenSamples:
    """Every row from a component, chosen by what the conditions say of it."""
    turns = components_in_turn(model, key, progress)
    each = [alone(component, key=own, progress=told) for component, own, told in turns]
    values = np.array([[one.log_probability for one in each]])
    total, shares = responsibilities(model, values)
    draws = np.stack([one.draws for one in each])
    rows = np.arange(draws.shape[1])
    (chosen,) = component_choices(jax.random.fold_in(key, len(turns)), shares, len(rows))
    effective = min(
        one.effective_samples / share
        for one, share in zip(each, shares[0], strict=True)
        if share >= COUNTS
    )
    return GivenSamples(draws[chosen, rows], float(total[0]), float(effective))


class _Pool(NamedTuple):
    """How a chunk of rows is drawn.

    Attributes:
        target: the machine, and what is known.
        rows: of a chunk.
        samples: the most that are weighted for each.
    """

    target: Target
    rows: int
    samples: int

    def draw(self, block: Block, key: Key[Array, ""], moves: int) -> dict[str, Any]:
        """A chunk's rows, and what their weights say, once for each row."""
        key_choose, key_rounds, key_move = jax.random.split(key, 3)
        parts = self._weighted(key_rounds)
        log_weights = _log_weights(parts)
        chosen = systematic_choice(log_weights, self.rows, key_choose)
        particles = jax.tree.map(
            lambda *leaves: np.concatenate(leaves, axis=1)[:, chosen],
            *(part.particles for part in parts),
        )
        effective = effective_samples(log_weights) / self.rows
        if effective < PLENTY and moves:
            particles = _moved(self.target, key_move, jax.tree.map(jnp.asarray, particles), moves)
        height = len(block)
        return {
            "draws": np.asarray(particles.x[0], np.uint8)[:height],
            "log_probability": np.full(height, log_mean(log_weights)),
            "effective_samples": np.full(height, effective),
        }

    def _weighted(self, key: Key[Array, ""]) -> list[Weighted]:
        """Dreams where enough of them have weight, rounds of q's proposals where not.

        A dream's weight is its evidence and never above one, so that no weight comes as a surprise;
        but conditions that hardly ever hold need proposals that know of them.
        """
        target, goal = self.target, PLENTY * self.rows
        part = _fetched(_dreamt(target, jax.random.fold_in(key, 0), self.rows))
        parts, unweighted = [part], 0
        effective = effective_samples(_log_weights(parts))
        follow = bool(target.model.q) and effective * self.samples < goal
        if follow:
            # The first rounds start from dreams of which few have weight.
            parts, unweighted = [], WARM_UP
        for number in range(1, self.samples + unweighted + follow):
            if parts and effective_samples(_log_weights(parts)) >= goal:
                break
            round_key = jax.random.fold_in(key, number)
            if follow:
                part = _fetched(_followed(target, round_key, part))
            else:
                part = _fetched(_dreamt(target, round_key, self.rows))
            if number > unweighted:
                parts.append(part)
        return parts


@eqx.filter_jit
def _dreamt(target: Target, key: Key[Array, ""], rows: int) -> Weighted:
    return dream_rows(target.model, key, target.conditions, rows)


@eqx.filter_jit
def _followed(target: Target, key: Key[Array, ""], last: Weighted) -> Weighted:
    key_next, key_propose = jax.random.split(key)
    return propose(target.model, key_propose, next_rows(key_next, last), target.conditions)


def _fetched(weighted: Weighted) -> Weighted:
    return jax.tree.map(np.asarray, weighted)


def _log_weights(parts: list[Weighted]) -> npt.NDArray[np.float64]:
    return np.concatenate([part.log_weights[0] for part in parts]).astype(np.float64)


@eqx.filter_jit
def _moved(target: Target, key: Key[Array, ""], particles: Particles, sweeps: int) -> Particles:
    return move(target, key, particles, sweeps).particles
