"""AR-SBN: drawing units one after another, each a logistic regression on those before it."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from wakesleep.kernels import native
from wakesleep.kernels.broadcasting import as_rows, sum_to

Following = tuple[int, ...]
"""For every unit, the next one that may be 1 when it is 1; `()` where that is always the next."""


def ar_sbn_sample(
    noise: Float[Array, "*batch D"],
    c: Float[Array, "*#batch D"],
    S: Float[Array, "D D"],
    following: Following = (),
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """Draw x_i = [logit_i > noise_i] with logit_i = c_i + S_i,<i x_<i, for i = 1, 2, ….

    Args:
        noise: logistic noise, one value per unit drawn.
        c: what the parents and the bias contribute to each logit.
        S: autoregressive weights, of which only the strictly lower triangle is read.
        following: where units come in groups of which one alone is 1, where each group ends.

    Returns:
        x and its conditional logits, whose gradients hold x fixed.
    """
    x, logits = _draw(following, lax.stop_gradient(noise), c, S)
    return lax.stop_gradient(x), logits


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _draw(following: Following, noise: Array, c: Array, S: Array) -> tuple[Array, Array]:
    default = functools.partial(reference, following=following)
    if not native.serves(noise, c, S):
        return default(noise, c, S)
    compiled = functools.partial(_compiled, following=following)
    return native.on_cpu(compiled, default, noise, c, S)


def _draw_forward(following, noise, c, S):  # type: ignore[no-untyped-def]
    x, logits = _draw(following, noise, c, S)
    return (x, logits), (x, c)


def _draw_backward(following, saved, gradients):  # type: ignore[no-untyped-def]
    x, c = saved
    _, g = gradients
    samples = list(range(x.ndim - 1))
    dS = jnp.tril(jnp.tensordot(g, x, (samples, samples)), -1)
    return jnp.zeros_like(x), sum_to(g, c.shape), dS


_draw.defvjp(_draw_forward, _draw_backward)


def _compiled(noise: Array, c: Array, S: Array, following: Following) -> tuple[Array, Array]:
    operands = noise, as_rows(c, noise.shape[:-1]), S, jnp.array(following, jnp.int32)
    x, logits = native.call("ar_sbn_sample", [noise.shape, noise.shape], *operands)
    return x, logits


def reference(noise: Array, c: Array, S: Array, following: Following = ()) -> tuple[Array, Array]:
    """The same in pure JAX, for whatever JAX runs on."""
    units = jnp.arange(noise.shape[-1])

    def draw(state, step):  # type: ignore[no-untyped-def]
        logits, resume = state
        i, noise_i, effect_of_i, following_i = step
        logit_i = lax.dynamic_index_in_dim(logits, i, -1, keepdims=False)
        x_i = ((logit_i > noise_i) & (i >= resume)).astype(c.dtype)
        resume = jnp.where(x_i > 0, following_i, resume)
        return (logits + x_i[..., None] * effect_of_i, resume), x_i

    start = jnp.broadcast_to(c, noise.shape), jnp.zeros(noise.shape[:-1], jnp.int32)
    after = jnp.array(following, jnp.int32) if following else units + 1
    steps = (units, jnp.moveaxis(noise, -1, 0), jnp.tril(S, -1).T, after)
    (logits, _), x = lax.scan(draw, start, steps)
    return jnp.moveaxis(x, 0, -1), logits
