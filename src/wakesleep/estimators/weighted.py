"""What the estimators share: gradients Σ_k a_k ∂log p(x, h_k) + b_k ∂log q(h_k | x).

An estimator of this kind is two functions of the log weights, a and b: constants of the
gradient, `[B, K]` like the weights themselves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import importance
from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Info, summarise
from wakesleep.estimators.chains import chain_dreams, has_chains
from wakesleep.models.base import Draw, LatentModel


class Coefficients(NamedTuple):
    """What each sample counts.

    Attributes:
        p: a_k, of ∂log p(x, h_k).
        q: b_k, of ∂log q(h_k | x).
    """

    p: Float[Array, "B K"]
    q: Float[Array, "B K"]


def climb(
    model: LatentModel,
    batch: Batch,
    key: Key[Array, ""],
    samples: int,
    coefficients: Callable[[Float[Array, "B K"]], Coefficients],
) -> tuple[LatentModel, Info]:
    """Gradients of the loss whose descent climbs Σ_k a_k log p + b_k log q, and the samples' info.

    Args:
        model: p and q.
        batch: the examples.
        key: of the samples.
        samples: K.
        coefficients: from log weights `[B, K]`, through which no gradient flows.
    """

    def loss(model: LatentModel) -> tuple[Float[Array, ""], Info]:
        drawn = model.draw(key, batch.x, samples)
        fixed = lax.stop_gradient(coefficients(lax.stop_gradient(drawn.log_weights)))
        objective = (fixed.p * drawn.log_p + fixed.q * drawn.log_q).sum(-1)
        return -objective.mean(), summarise(drawn)

    gradients, info = eqx.filter_grad(loss, has_aux=True)(model)
    return gradients, info


def wake_objective(
    drawn: Draw, log_weights: Float[Array, "B K"], wake_p: float | int, wake_q: float | int
) -> Float[Array, ""]:
    """Σ_k ω̃_k (wake_p · log p(x, h_k) + wake_q · log q(h_k | x)), ω̃ constants (eqs. 3 and 4)."""
    weights = importance.normalise(lax.stop_gradient(log_weights))
    objective = jnp.zeros(())
    if wake_p:
        objective += wake_p * (weights * drawn.log_p).sum(-1).mean()
    if wake_q:
        objective += wake_q * (weights * drawn.log_q).sum(-1).mean()
    return objective


def sleep_objective(
    model: LatentModel, key: Key[Array, ""], count: int, chains: PyTree = ()
) -> Float[Array, ""]:
    """The mean of log q(h | x) over `count` dreams (x, h) ~ p, which are constants (eq. 5).

    Under an undirected top they hang below its `chains`.
    """
    below = has_chains(chains)
    x, h = chain_dreams(model, key, chains, count) if below else model.dream(key, count)
    x, h = lax.stop_gradient((x, h))
    return model.log_q(h, x).mean()


def others_mean(values: Float[Array, "*batch K"]) -> Float[Array, "*batch K"]:
    """For every k the mean of the others, (Σ_j v_j − v_k) / (K − 1)."""
    # From the centred values: far from zero their sum would cost digits.
    centre = values.mean(-1, keepdims=True)
    return centre - (values - centre) / (values.shape[-1] - 1)


def others_log_sum(log_weights: Float[Array, "*batch K"]) -> Float[Array, "*batch K"]:
    """For every k, log Σ_{j≠k} ω_j.

    A weight that is not the largest is at most half of the sum, so that log(1 − ω̃_k) is exact;
    the largest one's others are summed by themselves.
    """
    largest = jnp.arange(log_weights.shape[-1]) == log_weights.argmax(-1, keepdims=True)
    total = jax.nn.logsumexp(log_weights, axis=-1, keepdims=True)
    share = jnp.where(largest, 0.0, jnp.exp(log_weights - total))
    rest = jnp.where(largest, -jnp.inf, log_weights)
    without_largest = jax.nn.logsumexp(rest, axis=-1, keepdims=True)
    return jnp.where(largest, without_largest, total + jnp.log1p(-share))


def example_like(model: LatentModel, estimator: str) -> Any:
    """The shapes of one example x, `[1, ...]`, as the model dreams it.

    A state is made before any data is seen: what an example looks like is the model's to say.
    """
    try:
        x, _ = eqx.filter_eval_shape(lambda model: model.dream(jax.random.key(0), 1), model)
    except UsageError:
        raise UsageError(
            f"estimator '{estimator}' needs a model that can dream: give it a sample_p"
        ) from None
    return x
