"""Independent bits: logistic noise, draws with their log-probability, log-probability, gradient.

Leading dimensions broadcast, and bits are constants of every gradient.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep import shares
from wakesleep.kernels import bernoulli_reference as reference
from wakesleep.kernels import native
from wakesleep.kernels.broadcasting import as_rows, rows_shape, sum_to
from wakesleep.shares import Share


def bernoulli_log_prob(
    x: Float[Array, "*#batch D"], logits: Float[Array, "*#batch D"]
) -> Float[Array, "*batch"]:
    """log Π_i P(x_i) with P(x_i = 1) = σ(logits_i), summed over the last axis.

    Computed from −softplus of the signed logits, so that a sum over many confident units adds
    small numbers instead of subtracting large ones.
    """
    return _log_prob(lax.stop_gradient(x), logits)


def logistic_noise(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Noise n with P(n < l) = σ(l), so that `logits > n` is an exact Bernoulli draw.

    A float32 uniform has a floor of 2^-24: compared with a probability it draws every rarer
    event too often or never. This noise is symmetric and resolves tails down to 2^-64.
    """
    if not _serves_key(key):
        return reference.logistic_noise(key, shape)

    among = shares.here().among

    def compiled(source: Array) -> Array:
        return native.call("logistic_noise", [shape], source)[0]

    def default(source: Array) -> Array:
        return _share_noise(source, shape, among)

    return lax.stop_gradient(native.on_cpu(compiled, default, _source(key)))


def bernoulli_sample(
    key: Key[Array, ""], logits: Float[Array, "*_ D"], batch: tuple[int, ...]
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
    """Draw x = [logits > logistic_noise] and give log P(x), in one pass.

    Args:
        key: used for these draws alone.
        logits: their leading dimensions broadcast to `batch`.
        batch: the leading dimensions of x.

    Returns:
        x and its log-probability, whose gradient holds x fixed.
    """
    if not (_serves_key(key) and native.serves(logits)):
        x = (logits > logistic_noise(key, (*batch, logits.shape[-1]))).astype(logits.dtype)
        return x, bernoulli_log_prob(x, logits)
    x, log_prob = _sample(batch, shares.here().among, _source(key), logits)
    return lax.stop_gradient(x), log_prob


def _serves_key(key: Array) -> bool:
    return native.serves() and str(jax.random.key_impl(key)) == "threefry2x32"


def _source(key: Array) -> Array:
    """What the compiled kernels draw from: the key, the share of its words, and how many share."""
    share = jnp.asarray(shares.here(), jnp.uint32)
    return jnp.concatenate([jax.random.key_data(key), share])


def _share_noise(source: Array, shape: tuple[int, ...], among: int) -> Array:
    return reference.share_noise(source[:2], shape, Share(source[2], among))


@jax.custom_vjp
def _log_prob(x: Array, logits: Array) -> Array:
    if not native.serves(x, logits):
        return reference.log_prob(x, logits)

    def compiled(x: Array, logits: Array) -> Array:
        batch = jnp.broadcast_shapes(x.shape[:-1], logits.shape[:-1])
        rows = as_rows(x, batch), as_rows(logits, batch)
        return native.call("bernoulli_log_prob", [batch], *rows)[0]

    return native.on_cpu(compiled, reference.log_prob, x, logits)


def _log_prob_forward(x, logits):  # type: ignore[no-untyped-def]
    return _log_prob(x, logits), (x, logits)


def _log_prob_backward(saved, g):  # type: ignore[no-untyped-def]
    x, logits = saved
    return jnp.zeros_like(x), _gradient(g, x, logits)


_log_prob.defvjp(_log_prob_forward, _log_prob_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _sample(
    batch: tuple[int, ...], among: int, source: Array, logits: Array
) -> tuple[Array, Array]:
    def compiled(source: Array, logits: Array) -> tuple[Array, Array]:
        shapes = [(*batch, logits.shape[-1]), batch]
        x, log_prob = native.call("bernoulli_sample", shapes, source, as_rows(logits, batch))
        return x, log_prob

    def default(source: Array, logits: Array) -> tuple[Array, Array]:
        noise = _share_noise(source, (*batch, logits.shape[-1]), among)
        x = (logits > noise).astype(logits.dtype)
        return x, reference.log_prob(x, logits)

    return native.on_cpu(compiled, default, source, logits)


def _sample_forward(batch, among, source, logits):  # type: ignore[no-untyped-def]
    x, log_prob = _sample(batch, among, source, logits)
    return (x, log_prob), (x, logits)


def _sample_backward(batch, among, saved, gradients):  # type: ignore[no-untyped-def]
    x, logits = saved
    return None, _gradient(gradients[1], x, logits)


_sample.defvjp(_sample_forward, _sample_backward)


def _gradient(g: Array, x: Array, logits: Array) -> Array:
    """The gradient of the logits, given that of the log-probabilities."""

    def default(g: Array, x: Array, logits: Array) -> Array:
        return sum_to(reference.gradient(g, x, logits), logits.shape)

    def compiled(g: Array, x: Array, logits: Array) -> Array:
        rows = as_rows(x, g.shape), as_rows(logits, g.shape)
        summed = native.call("bernoulli_gradient", [rows[1].shape], g, *rows)[0]
        return sum_to(summed.reshape(rows_shape(logits.shape, g.shape)), logits.shape)

    if not native.serves(g, x, logits):
        return default(g, x, logits)
    return native.on_cpu(compiled, default, g, x, logits)
