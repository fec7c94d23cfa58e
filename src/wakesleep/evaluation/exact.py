"""Exact log p(x) of small machines, by listing their latent states.

Layers are summed out one at a time from the top: the tables of log p(h_l) over the states
of each layer do not depend on x, so only the states of the layer next to the data are
listed again for every example. In the same pass the exact variational bound
E_q[log p(x, h) − log q(h | x)] is split as log p(x | h₁) − log q(h₁ | x) + V₁(h₁) under q, with

    V_l(h_l) = E_q(h_{l+1} | h_l) [log p(h_l | h_{l+1}) − log q(h_{l+1} | h_l) + V_{l+1}(h_{l+1})].
"""

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float
from scipy.special import logsumexp

from wakesleep.errors import UsageError
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import Records, exact_records
from wakesleep.evaluation.tiles import bytes_of
from wakesleep.layers import Distribution, Layer
from wakesleep.models import HelmholtzMachine, Masked, Visible

Values = npt.NDArray[np.float64]

MOST_BITS = 20

LARGEST_ARRAY = 1 << 24
"""Bytes of the widest array: one layer's units, for every pair of states looked at together."""


@dataclass(frozen=True, eq=False)
class Enumeration(Evaluator):
    """log p(x) of a tile of examples.

    Attributes:
        model: the machine.
        pairs: how many pairs of an example and a state are looked at together.
        log_prior: log p(h₁) of every state, `[2^H]`.
        prior_bound: V₁(h₁) of every state, `[2^H]`.
    """

    model: HelmholtzMachine
    pairs: int
    log_prior: Values
    prior_bound: Values

    @property
    def exact(self) -> bool:
        """Yes."""
        return True

    @classmethod
    def of(cls, model: HelmholtzMachine) -> "Enumeration":
        """Sum out all latent layers but the first."""
        bits = sum(model.latent_sizes)
        if bits > MOST_BITS:
            raise UsageError(
                f"method 'exact' lists all states of up to {MOST_BITS} latent bits, but this "
                f"machine has {bits}: use importance sampling"
            )
        pairs = max(1, LARGEST_ARRAY // (4 * max(model.features, *model.latent_sizes)))
        return cls(model, pairs, *_prior(model, pairs))

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return max(1, self.pairs // len(self.log_prior))

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes."""
        return bytes_of(self.pairs, self.model.features + self.model.latent_sizes[0])

    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """Add up the states of the first latent layer."""
        visible: Visible = jax.tree.map(jnp.asarray, x)
        count = len(jax.tree.leaves(visible)[0])
        values, bounds = np.full(count, -np.inf), np.zeros(count)
        for part, states in _state_blocks(self.model.latent_sizes[0], self.pairs):
            log_p, log_q = map(_in_double, _score_visible(self.model, visible, states))
            values = np.logaddexp(values, logsumexp(log_p + self.log_prior[part], axis=1))
            bounds += (np.exp(log_q) * (log_p - log_q + self.prior_bound[part])).sum(axis=1)
            if stop.is_set():
                break
        return exact_records(values, bounds)


def _prior(model: HelmholtzMachine, pairs: int) -> tuple[Values, Values]:
    """log p(h₁) and V₁(h₁) of all states, from the top downwards."""
    _, every = next(_state_blocks(model.latent_sizes[-1], 2 ** model.latent_sizes[-1]))
    log_prior = np.asarray(model.p[-1].log_prob(every, jnp.zeros(0)), np.float64)
    bound = log_prior
    for p, q in zip(model.p[-2:0:-1], model.q[:0:-1], strict=True):
        log_prior, bound = _layer_below(p, q, log_prior, bound, pairs)
    return log_prior, bound


def _layer_below(
    p: Distribution, q: Layer, log_prior: Values, bound: Values, pairs: int
) -> tuple[Values, Values]:
    """The tables of one layer from those of the layer above it."""
    _, above = next(_state_blocks(p.parents, 2**p.parents))
    priors, bounds = [], []
    for _, states in _state_blocks(p.size, max(1, pairs // 2**p.parents)):
        log_p, log_q = _score(p, q, states, above)
        priors.append(logsumexp(log_p + log_prior, axis=1))
        bounds.append((np.exp(log_q) * (log_p - log_q + bound)).sum(axis=1))
    return np.concatenate(priors), np.concatenate(bounds)


def _score(
    p: Distribution, q: Layer, below: Float[Array, "E D"], above: Float[Array, "S H"]
) -> tuple[Values, Values]:
    """log p(below | above) and log q(above | below) of all pairs, `[E, S]`."""
    log_p, log_q = _score_on_device(p, q, below, above)
    return _in_double(log_p), _in_double(log_q)


def _in_double(values: Float[Array, "E S"]) -> Values:
    return np.asarray(values, np.float64)


@eqx.filter_jit
def _score_visible(
    model: HelmholtzMachine, x: Visible, states: Float[Array, "S H"]
) -> tuple[Float[Array, "E S"], Float[Array, "E S"]]:
    """log p(x | h₁) of what was observed, and log q(h₁ | x), of all pairs."""
    layer, above = model.visible, states[None]
    log_q = model.q[0].log_prob(above, model.q_input(x)[:, None])
    if not isinstance(x, Masked):
        return layer.log_prob(x[:, None], above), log_q
    bits, seen = x.x[:, None], x.units(model.groups)[:, None] > 0
    logits = layer.logits(bits, layer.preactivations(above))
    return layer.log_prob_observed(bits, logits, seen), log_q


@eqx.filter_jit
def _score_on_device(
    p: Distribution, q: Layer, below: Float[Array, "E D"], above: Float[Array, "S H"]
) -> tuple[Float[Array, "E S"], Float[Array, "E S"]]:
    return (
        p.log_prob(below[:, None], above[None]),
        q.log_prob(above[None], below[:, None]),
    )


def _state_blocks(size: int, block: int) -> Iterator[tuple[slice, Float[Array, "S H"]]]:
    """All vectors of `size` bits, in blocks."""
    places = np.arange(size)
    for start in range(0, 2**size, block):
        numbers = np.arange(start, min(start + block, 2**size))
        states = (numbers[:, None] >> places) & 1
        yield slice(start, start + len(numbers)), jnp.asarray(states, jnp.float32)
