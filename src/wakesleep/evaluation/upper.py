"""log p(x) from above: importance sampling in which one of the samples is the posterior's own.

For h₁ ~ p(h | x) and h₂, …, h_K ~ q(h | x) with weights ω_k = p(x, h_k) / q(h_k | x),

    E[1 / ((1/K) Σ_k ω_k)] = 1 / p(x),    so that    E[log (1/K) Σ_k ω_k] ≥ log p(x):

the counterpart of eq. 1, whose samples are all of q and whose logarithm is low on average (Grosse,
Ancha & Roy 2016). The sample of the posterior is that of a chain: in every round one of the K is
chosen by its weight and is the first of the next round's, the others being drawn anew (iterated
sampling importance resampling, Andrieu, Lee & Vihola 2018). That leaves p(h | x) as it is, whatever
q is; only ω is needed of a sample, so any latent model will do. The first sample is no more than
one of q's, chosen by weight: a chain that in all its rounds has not found where the posterior is
makes the estimate too low, as it would the one from below.

A mixture's is the logarithm of the components' sum: of values that are high on average, the
log-sum-exp, which is convex, is high too.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Key
from scipy.special import logsumexp

from wakesleep import importance
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.errors import UsageError
from wakesleep.inference.blocks import Progress
from wakesleep.inference.each_row import map_rows
from wakesleep.inference.normaliser import undirected_top
from wakesleep.inference.posterior import infer_rows
from wakesleep.inference.rows import checked_rows
from wakesleep.keys import LikeKey, as_key
from wakesleep.models import BitModel, Mixture
from wakesleep.options import Whole, check_option

ROUNDS = 6
"""Of a chain, unless given; the first half of them moves it and is not looked at."""
CHAINS = 2
"""Of each row: that they are apart shows an error that no chain shows by itself."""


@dataclass(frozen=True, eq=False)
class UpperEstimate:
    """log p(x) of every row from above, in nats.

    Attributes:
        chains: what each chain of each row says, `[N, C]`.
    """

    chains: npt.NDArray[np.float64]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The mean over the chains, `[N]`."""
        return np.asarray(self.chains.mean(axis=1))

    @property
    def mean(self) -> float:
        """Over all rows."""
        return float(self.chains.mean())

    @property
    def standard_error(self) -> float:
        """That of the mean by Monte Carlo noise, from how far a row's chains are apart."""
        return float(np.sqrt(self.chains.var(axis=1, ddof=1).mean() / self.chains.size))


def upper_log_likelihood(
    model: BitModel,
    data: Any,
    samples: int = 1_000,
    *,
    key: LikeKey,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
) -> UpperEstimate:
    """log p(x) of every row from above; `log_likelihood` is from below.

    The two together bracket log p(x), on average and as far as the chains have found the posterior:
    that they are near each other is evidence that both are right, and no proof. A model without
    latents is exact.

    Args:
        model: a Helmholtz machine, or a mixture of them.
        data: `[N, D]` of 0 and 1, `PackedBits`, or `MaskedBits`, of which the observed cells count.
        samples: K, in each round of each of two chains.
        key: the randomness: a seed or a JAX key.
        rounds: of a chain; the mean of the later half counts.
        progress: called with the numbers of rows done and in all, for every component anew.

    >>> import wakesleep as ws
    >>> model = ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> exact = ws.log_likelihood(model, [[0, 1, 1, 0]], method="exact")
    >>> upper = upper_log_likelihood(model, [[0, 1, 1, 0]], samples=100, key=1)
    >>> bool(abs(upper.mean - exact.mean) < 0.1)
    True
    """
    if undirected_top(model):
        raise UsageError(
            "a model with an undirected top has no upper estimate of its own: log_likelihood gives "
            "its log Z from both sides"
        )
    check_option("samples", samples, Whole(2))
    check_option("rounds", rounds, Whole(2))
    rows = checked_rows(model, data)
    assert isinstance(rows, PackedBits | MaskedBits)
    chain = _Chain(samples, rounds)
    return UpperEstimate(_chains(model, rows, chain, as_key(key), progress))


@dataclass(frozen=True)
class _Chain:
    """What the later rounds of each chain say of one example, `[1, ...]`."""

    samples: int
    rounds: int

    def __call__(self, model: BitModel, x: Any, key: Key[Array, ""]) -> Float[Array, " C"]:
        return lax.map(lambda each: self._one(model, x, each), jax.random.split(key, CHAINS))

    def _one(self, model: BitModel, x: Any, key: Key[Array, ""]) -> Float[Array, ""]:
        key_q, key_choose, key_rounds = jax.random.split(key, 3)
        kept = choose(key_choose, importance.log_weights(model, x, self.samples, key_q))

        def step(kept: Array, round_key: Key[Array, ""]) -> tuple[Array, Array]:
            value, following = chain_round(model, x, kept, self.samples, round_key)
            return following, value

        _, values = lax.scan(step, kept, jax.random.split(key_rounds, self.rounds))
        return values[self.rounds // 2 :].mean()


def chain_round(
    model: BitModel, x: Any, kept: Float[Array, " E"], samples: int, key: Key[Array, ""]
) -> tuple[Float[Array, " E"], Float[Array, " E"]]:
    """The estimate from a kept sample and K − 1 of q, and the sample that is kept next.

    Of the kept sample of each example its log weight is all that is needed.
    """
    key_q, key_choose = jax.random.split(key)
    fresh = importance.log_weights(model, x, samples - 1, key_q)
    log_weights = jnp.concatenate([kept[:, None], fresh], axis=1)
    return importance.log_likelihood_estimate(log_weights), choose(key_choose, log_weights)


def choose(key: Key[Array, ""], log_weights: Float[Array, "E K"]) -> Float[Array, " E"]:
    """The log weight of a sample that is chosen by it, for each example."""
    places = jax.random.categorical(key, log_weights)
    return jnp.take_along_axis(log_weights, places[:, None], axis=1)[:, 0]


def _chains(
    model: BitModel,
    rows: PackedBits | MaskedBits,
    chain: _Chain,
    key: Key[Array, ""],
    progress: Progress | None,
) -> npt.NDArray[np.float64]:
    """Of every row, `[N, C]`."""
    if isinstance(model, Mixture):
        each = [
            _chains(component, rows, chain, jax.random.fold_in(key, number), progress)
            for number, component in enumerate(model.components)
        ]
        joint = np.stack(each, axis=-1) + np.asarray(model.log_proportions, np.float64)
        return np.asarray(logsumexp(joint, axis=-1))
    if model.exact_samples(masked=isinstance(rows, MaskedBits)) is not None:
        exact = infer_rows(model, rows, 1, key).log_likelihood
        return np.repeat(exact[:, None], CHAINS, axis=1)
    return np.asarray(map_rows(lambda _: chain, model, rows, key, progress), np.float64)
