"""Models of one's own: Reweighted Wake-Sleep for any p(x, h) and q(h | x) written in JAX.

A model is four plain functions of one example, each differentiable in its own parameters:

    log_p(theta, x, h)          log p(x, h)
    log_q(phi, h, x)            log q(h | x)
    sample_q(phi, x, key)       h ~ q(h | x)
    sample_p(theta, key)        (x, h) ~ p(x, h); without it there is no sleep update

x and h are arrays or trees of arrays: continuous, categorical, of any shape. Minibatches and
samples are this module's business: importance weights are normalised over the samples of each
example, never over the minibatch.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep import importance
from wakesleep.errors import UsageError
from wakesleep.estimators.base import Info
from wakesleep.estimators.reweighted import Reweighted
from wakesleep.evaluation.gathering import Gathered
from wakesleep.evaluation.result import LogLikelihood

SAMPLES_PER_CALL = 1024
"""Samples of one compiled call of `own_log_likelihood`, over all its examples."""


class OwnModel(eqx.Module):
    """A generative model and an inference model, as functions and their parameters.

    Attributes:
        theta: p's parameters, any tree of arrays.
        phi: q's.
        log_p: `(theta, x, h) -> scalar`.
        log_q: `(phi, h, x) -> scalar`.
        sample_q: `(phi, x, key) -> h`. No gradient flows through what it returns.
        sample_p: `(theta, key) -> (x, h)`, or None.
    """

    theta: Any
    phi: Any
    log_p: Callable[..., Any] = eqx.field(static=True)
    log_q: Callable[..., Any] = eqx.field(static=True)
    sample_q: Callable[..., Any] = eqx.field(static=True)
    sample_p: Callable[..., Any] | None = eqx.field(static=True, default=None)


def reweighted_gradients(
    model: OwnModel,
    x: Any,
    samples: int = 5,
    *,
    key: Key[Array, ""],
    wake_p: float | int = 1.0,
    wake_q: float | int = 1.0,
    sleep_q: float | int | None = None,
    dreams: int = 1,
) -> tuple[OwnModel, Info]:
    """Gradients to descend, averaged over the minibatch, in the shape of the model.

    The same objective as `Reweighted`'s. Info's `kl` is empty: a model of one's own has no layers.

    Args:
        model: the functions and where their parameters stand.
        x: a minibatch: the example's arrays with one more dimension in front.
        samples: K, latents drawn for each example.
        key: the randomness.
        wake_p: weight of p's update; 0 switches it off.
        wake_q: weight of q's update on weighted samples; 0 switches it off.
        sleep_q: weight of q's update on dreams; None: 1 if the model has a `sample_p`, else 0.
        dreams: dreams per example.
    """
    if sleep_q is None:
        sleep_q = 0.0 if model.sample_p is None else 1.0
    if sleep_q and model.sample_p is None:
        raise UsageError("sleep_q needs dreams, but the model was given no sample_p")
    estimator = Reweighted(
        samples=samples, wake_p=wake_p, wake_q=wake_q, sleep_q=sleep_q, dreams=dreams
    )

    def wake(model: OwnModel, wake_key: Key[Array, ""]) -> importance.Draw:
        return draw_own(model, x, samples, wake_key)

    def sleep(model: OwnModel, sleep_key: Key[Array, ""]) -> Float[Array, " N"]:
        return _dream_log_q(model, sleep_key, _examples(x) * dreams)

    return estimator.gradients(model, wake, sleep, key)


def draw_own(model: OwnModel, x: Any, samples: int, key: Key[Array, ""]) -> importance.Draw:
    """K latents of q for each example, scored by p and q; `h`'s leading dimensions are B and K."""
    keys = jax.random.split(key, (_examples(x), samples))

    def one(x: Any, key: Key[Array, ""]) -> tuple[Any, Array, Array]:
        h = lax.stop_gradient(model.sample_q(model.phi, x, key))
        return h, model.log_p(model.theta, x, h), model.log_q(model.phi, h, x)

    each_sample = jax.vmap(one, in_axes=(None, 0))
    h, log_p, log_q = jax.vmap(each_sample)(x, keys)
    _check_scalars(log_p, log_q, keys.shape)
    return importance.Draw(h, (log_p,), (log_q,))


def own_log_likelihood(
    model: OwnModel, x: Any, samples: int = 1_000, *, key: Key[Array, ""]
) -> LogLikelihood:
    """log p̂(x) of every example by importance sampling from q, with standard errors.

    Samples are drawn in blocks, so that memory does not grow with their number.
    """
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    count = _examples(x)
    rows = min(count, max(1, SAMPLES_PER_CALL // samples))
    found = []
    for start in range(0, count, rows):
        # The last block is filled up with the first rows again: one shape is compiled.
        chosen = np.arange(start, start + rows) % count
        block = jax.tree.map(lambda leaf, chosen=chosen: leaf[chosen], x)
        records = _score(model, block, samples, jax.random.fold_in(key, start))
        found.append(records[: count - start])
    return LogLikelihood(np.concatenate(found), "importance")


def _score(model: OwnModel, x: Any, samples: int, key: Key[Array, ""]) -> np.ndarray:
    count = _examples(x)
    gathered = Gathered(count, samples)
    block = min(samples, SAMPLES_PER_CALL)
    while gathered.count < samples:
        wanted = samples - gathered.count
        block_key = jax.random.fold_in(key, gathered.count)
        gathered.add(np.asarray(_log_weights(model, x, block, block_key))[:, :wanted])
    return gathered.records()


@eqx.filter_jit
def _log_weights(model: OwnModel, x: Any, samples: int, key: Key[Array, ""]) -> Float[Array, "B K"]:
    return draw_own(model, x, samples, key).log_weights


def _dream_log_q(model: OwnModel, key: Key[Array, ""], count: int) -> Float[Array, " N"]:
    def one(key: Key[Array, ""]) -> Array:
        x, h = lax.stop_gradient(model.sample_p(model.theta, key))  # type: ignore[misc]
        return model.log_q(model.phi, h, x)

    return jax.vmap(one)(jax.random.split(key, count))


def _examples(x: Any) -> int:
    leaves = jax.tree.leaves(x)
    counts = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in leaves}
    if len(counts) != 1 or 0 in counts:
        raise UsageError(
            "x must be a minibatch: one or more arrays whose first dimension counts the examples"
        )
    return counts.pop()


def _check_scalars(log_p: Array, log_q: Array, shape: tuple[int, ...]) -> None:
    for name, value in (("log_p", log_p), ("log_q", log_q)):
        if jnp.shape(value) != shape:
            extra = jnp.shape(value)[2:]
            raise UsageError(
                f"{name} must give one number for one example and one h, not shape {extra}"
            )
