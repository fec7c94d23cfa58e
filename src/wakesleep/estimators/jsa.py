"""Joint stochastic approximation: a Markov chain of latents for every training row."""

import functools
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep import shares
from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Estimator, Info, Part, refuse_missing, summarise
from wakesleep.estimators.weighted import example_like
from wakesleep.models.base import LatentModel
from wakesleep.models.helmholtz import HelmholtzMachine
from wakesleep.options import Whole


class JSAState(NamedTuple):
    """Where every row's chain stands.

    Attributes:
        h: latents, `[N, ...]` for N training rows; a Helmholtz machine's bits are a byte each.
        visited: whether the row was ever shown, `[N]`.
    """

    h: Any
    visited: Bool[Array, " N"]


@dataclass(frozen=True, kw_only=True)
class JSA(Estimator):
    """Climbs log p(x), and for q E_p(h|x)[log q(h | x)], at the samples of a chain that lasts.

    A row's chain goes on from where its last visit left it, by K Metropolis steps whose
    proposals are q's: h' ~ q(h | x) is accepted with probability min(1, ω(h') / ω(h)). Then

    - p: (1/K) Σ_k ∂/∂θ log p(x, h_k)
    - q: (1/K) Σ_k ∂/∂φ log q(h_k | x)

    over the K states of the chain. A row's first visit accepts its first proposal.

    Xu & Ou, "Joint stochastic approximation learning of Helmholtz machines" (2016), Ou & Song
    (UAI 2020); Naesseth, Lindsten & Blei, "Markovian score climbing" (NeurIPS 2020).

    Attributes:
        samples: K, the number of Metropolis steps of a visit.
    """

    samples: Annotated[int, Whole(least=1)] = 5

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> JSAState:
        """A place for every row's latents, none of them visited."""

        def draw(model: LatentModel, x: Any) -> Any:
            return model.draw(key, x, 1).h

        like = eqx.filter_eval_shape(draw, model, example_like(model, "jsa"))
        _check_scored(model)
        is_bits = isinstance(model, HelmholtzMachine)
        h = jax.tree.map(
            lambda leaf: jnp.zeros((rows, *leaf.shape[2:]), jnp.uint8 if is_bits else leaf.dtype),
            like,
        )
        return JSAState(h, jnp.zeros(rows, bool))

    def scored(self, depth: int) -> int:
        """K proposals, and what is remembered."""
        del depth
        return self.samples + 1

    def part(self, model: LatentModel, state: JSAState, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus both log-probabilities along the chains, and where these end."""
        refuse_missing(batch.x, "jsa")
        proposal_key, accept_key = jax.random.split(key)

        def loss(model: Any) -> tuple[Float[Array, ""], tuple[Any, Info]]:
            drawn = model.draw(proposal_key, batch.x, self.samples)
            start = _starts(state, batch.rows, drawn.h)
            log_p = _joined(model.log_joint(batch.x, start), drawn.log_p)
            log_q = _joined(model.log_q(start, batch.x), drawn.log_q)
            path = _metropolis(accept_key, lax.stop_gradient(log_p - log_q))
            share = jax.nn.one_hot(path, self.samples + 1).mean(0)
            last = _chosen(start, drawn.h, path[-1])
            objective = (share * (log_p + log_q)).sum(-1).mean()
            return -objective, (last, summarise(drawn))

        gradients, (last, info) = eqx.filter_grad(loss, has_aux=True)(model)
        return Part(gradients, last, info)

    def remember(
        self,
        model: LatentModel,
        state: JSAState,
        notes: Any,
        rows: Int[Array, " B"],
        key: Key[Array, ""],
    ) -> JSAState:
        """The chains go on from where they ended."""
        del model, key
        h = jax.tree.map(
            lambda all_rows, new: all_rows.at[rows].set(new.astype(all_rows.dtype)),
            state.h,
            notes,
        )
        return JSAState(h, state.visited.at[rows].set(True))


def _metropolis(key: Key[Array, ""], log_weights: Float[Array, "B _"]) -> Int[Array, "K B"]:
    """Where the chains stand after each step: 0 for the start, k for proposal k.

    Column 0 has the start's log weight, column k that of proposal k.
    """
    proposals = log_weights.T[1:]
    draw = functools.partial(jax.random.exponential, key)
    thresholds = -shares.drawn(draw, proposals.shape, axis=1)

    def move(
        at: tuple[Array, Array], step: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        place, current = at
        number, proposed, threshold = step
        accept = proposed - current > threshold
        place, current = jnp.where(accept, number, place), jnp.where(accept, proposed, current)
        return (place, current), place

    numbers = jnp.arange(1, len(proposals) + 1)
    start = jnp.zeros(len(log_weights), numbers.dtype), log_weights[:, 0]
    _, path = lax.scan(move, start, (numbers, proposals, thresholds))
    return path


def _starts(state: JSAState, rows: Int[Array, " B"], proposals: Any) -> Any:
    """The rows' remembered latents; the first proposal where there are none."""
    visited = state.visited[rows]

    def start(remembered: Array, proposed: Array) -> Array:
        first = proposed[:, 0]
        mask = visited.reshape(-1, *[1] * (first.ndim - 1))
        return jnp.where(mask, remembered[rows].astype(first.dtype), first)

    return lax.stop_gradient(jax.tree.map(start, state.h, proposals))


def _joined(of_start: Array, of_proposals: Float[Array, "B K"]) -> Float[Array, "B _"]:
    start = jnp.broadcast_to(of_start, of_proposals.shape[:1])
    return jnp.concatenate([start[:, None], of_proposals], axis=1)


def _chosen(start: Any, proposals: Any, place: Int[Array, " B"]) -> Any:
    def pick(first: Array, rest: Array) -> Array:
        every = jnp.concatenate([first[:, None], rest], axis=1)
        return every[jnp.arange(len(place)), place]

    return jax.tree.map(pick, start, proposals)


def _check_scored(model: LatentModel) -> None:
    if not hasattr(model, "log_joint"):
        raise UsageError(
            "estimator 'jsa' scores latents that it remembers: give the model a log_joint(x, h)"
        )
