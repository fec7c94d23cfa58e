"""AR-SBN: drawing units one after another, each a logistic regression on those before it."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from wakesleep.kernels import native
from wakesleep.kernels.broadcasting import as_rows, sum_to


def ar_sbn_sample(
    noise: Float[Array, "*batch D"], c: Float[Array, "*#batch D"], S: Float[Array, "D D"]
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """Draw x_i = [logit_i > noise_i] with logit_i = c_i + S_i,<i x_<i, for i = 1, 2, ….

    Args:
        noise: logistic noise, one value per unit drawn.
        c: what the parents and the bias contribute to each logit.
        S: autoregressive weights, of which only the strictly lower triangle is read.

    Returns:
        x and its conditional logits, whose gradients hold x fixed.
    """
    x, logits = _draw(lax.stop_gradient(noise), c, S)
    return lax.stop_gradient(x), logits


@jax.custom_vjp
def _draw(noise: Array, c: Array, S: Array) -> tuple[Array, Array]:
    if not native.serves(noise, c, S):
        return reference(noise, c, S)
    return lax.platform_dependent(noise, c, S, cpu=_compiled, default=reference)


def _draw_forward(noise, c, S):  # type: ignore[no-untyped-def]
    x, logits = _draw(noise, c, S)
    return (x, logits), (x, c)


def _draw_backward(saved, gradients):  # type: ignore[no-untyped-def]
    x, c = saved
    _, g = gradients
    samples = list(range(x.ndim - 1))
    dS = jnp.tril(jnp.tensordot(g, x, (samples, samples)), -1)
    return jnp.zeros_like(x), sum_to(g, c.shape), dS


_draw.defvjp(_draw_forward, _draw_backward)


def _compiled(noise: Array, c: Array, S: Array) -> tuple[Array, Array]:
    rows = as_rows(c, noise.shape[:-1])
    x, logits = native.call("ar_sbn_sample", [noise.shape, noise.shape], noise, rows, S)
    return x, logits


def reference(noise: Array, c: Array, S: Array) -> tuple[Array, Array]:
    """The same in pure JAX, for whatever JAX runs on."""

    def draw(logits, step):  # type: ignore[no-untyped-def]
        i, noise_i, effect_of_i = step
        x_i = (lax.dynamic_index_in_dim(logits, i, -1, keepdims=False) > noise_i).astype(c.dtype)
        return logits + x_i[..., None] * effect_of_i, x_i

    start = jnp.broadcast_to(c, noise.shape)
    steps = (jnp.arange(noise.shape[-1]), jnp.moveaxis(noise, -1, 0), jnp.tril(S, -1).T)
    logits, x = lax.scan(draw, start, steps)
    return jnp.moveaxis(x, 0, -1), logits
