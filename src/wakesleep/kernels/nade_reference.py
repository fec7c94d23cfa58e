"""NADE in pure JAX, for whatever JAX runs on: the definition the native kernels are held to."""

import jax
import jax.numpy as jnp
from jax import Array, lax


def effects(x: Array, a: Array, W: Array, V: Array) -> tuple[Array, Array]:
    """V_i · σ(a + Σ_{j<i} W_j x_j) for every unit; and a + Σ_j W_j x_j, to walk back from."""

    def predict(a, step):  # type: ignore[no-untyped-def]
        x_i, W_i, V_i = step
        return a + x_i[..., None] * W_i, jax.nn.sigmoid(a) @ V_i

    batch = jnp.broadcast_shapes(x.shape[:-1], a.shape[:-1])
    start = jnp.broadcast_to(a, (*batch, a.shape[-1]))
    last, result = lax.scan(predict, start, (jnp.moveaxis(x, -1, 0), W, V))
    return jnp.moveaxis(result, 0, -1), last


def draw(
    noise: Array, a: Array, c: Array, W: Array, V: Array, following: tuple[int, ...] = ()
) -> tuple[Array, Array, Array]:
    """x_i = [logit_i > noise_i], unit after unit; the logits; and a + Σ_j W_j x_j.

    With `following`, units between a one and the unit that follows its group are 0.
    """

    def draw_unit(state, step):  # type: ignore[no-untyped-def]
        a, resume = state
        i, noise_i, c_i, W_i, V_i, following_i = step
        logit_i = jax.nn.sigmoid(a) @ V_i + c_i
        x_i = ((logit_i > noise_i) & (i >= resume)).astype(a.dtype)
        resume = jnp.where(x_i > 0, following_i, resume)
        return (a + x_i[..., None] * W_i, resume), (x_i, logit_i)

    batch, places = noise.shape[:-1], jnp.arange(noise.shape[-1])
    start = jnp.broadcast_to(a, (*batch, a.shape[-1])), jnp.zeros(batch, jnp.int32)
    units = (
        places,
        jnp.moveaxis(noise, -1, 0),
        jnp.moveaxis(jnp.broadcast_to(c, noise.shape), -1, 0),
        W,
        V,
        jnp.array(following, jnp.int32) if following else places + 1,
    )
    (last, _), (x, logits) = lax.scan(draw_unit, start, units)
    return jnp.moveaxis(x, 0, -1), jnp.moveaxis(logits, 0, -1), last


def gradient(g: Array, x: Array, last: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
    """The gradients of a (at full batch shape), W and V, given g, that of the effects.

    The scan starts from the last pre-activation, runs backwards and takes each W_j out again,
    so that no activation has to be stored on the way forwards.
    """
    x = jnp.broadcast_to(x, g.shape)

    def back(carry, step):  # type: ignore[no-untyped-def]
        a, da = carry
        g_i, x_i, W_i, V_i = step
        a = a - x_i[..., None] * W_i
        hidden = jax.nn.sigmoid(a)
        dW_i = jnp.tensordot(x_i, da, x_i.ndim)
        dV_i = jnp.tensordot(g_i, hidden, g_i.ndim)
        da = da + g_i[..., None] * V_i * hidden * (1 - hidden)
        return (a, da), (dW_i, dV_i)

    units = (jnp.moveaxis(g, -1, 0), jnp.moveaxis(x, -1, 0), W, V)
    (_, da), (dW, dV) = lax.scan(back, (last, jnp.zeros_like(last)), units, reverse=True)
    return da, dW, dV
