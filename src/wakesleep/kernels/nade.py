"""NADE: a hidden layer that accumulates the units seen so far and predicts the next one.

With the conditioning terms a = U_a y + a₀ and c = U_b y + b already computed,

    logit_i = V_i · σ(a + Σ_{j<i} W_j x_j) + c_i.

Leading dimensions broadcast, and bits are constants of every gradient.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from wakesleep.kernels import nade_reference, native
from wakesleep.kernels.broadcasting import as_rows, sum_to


def nade_logits(
    x: Float[Array, "*#batch D"],
    a: Float[Array, "*#batch H"],
    c: Float[Array, "*#batch D"],
    W: Float[Array, "D H"],
    V: Float[Array, "D H"],
) -> Float[Array, "*batch D"]:
    """The conditional logits of a given x.

    Args:
        x: bits, in the layer's order.
        a: pre-activation of the hidden layer before any unit is seen.
        c: what the parents and the bias contribute to each logit.
        W: encoding weights; row i is added to the pre-activation when x_i = 1.
        V: decoding weights; row i predicts unit i.
    """
    return _effects(lax.stop_gradient(x), a, W, V) + c


def nade_sample(
    noise: Float[Array, "*batch D"],
    a: Float[Array, "*#batch H"],
    c: Float[Array, "*#batch D"],
    W: Float[Array, "D H"],
    V: Float[Array, "D H"],
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """Draw x_i = [logit_i > noise_i] for i = 1, 2, …; returns x and its conditional logits."""
    return _draw(lax.stop_gradient(noise), a, c, W, V)


@jax.custom_vjp
def _effects(x: Array, a: Array, W: Array, V: Array) -> Array:
    """V_i · σ(…) for every unit."""
    batch = jnp.broadcast_shapes(x.shape[:-1], a.shape[:-1])
    if not native.serves(x, a, W, V):
        return nade_reference.effects(x, a, W, V)

    def compiled(x: Array, a: Array, W: Array, V: Array) -> Array:
        shape = (math.prod(batch), W.shape[0])
        rows = as_rows(x, batch), as_rows(a, batch)
        (effects,) = native.call("nade_logits", (shape,), *rows, W, V)
        return effects.reshape(*batch, W.shape[0])

    return lax.platform_dependent(x, a, W, V, cpu=compiled, default=nade_reference.effects)


def _effects_forward(x, a, W, V):  # type: ignore[no-untyped-def]
    return _effects(x, a, W, V), (x, a, W, V)


def _effects_backward(saved, g):  # type: ignore[no-untyped-def]
    x, a, W, V = saved
    da, dW, dV = _gradient(g, x, a, W, V)
    return jnp.zeros_like(x), sum_to(da, a.shape), dW, dV


_effects.defvjp(_effects_forward, _effects_backward)


@jax.custom_vjp
def _draw(noise: Array, a: Array, c: Array, W: Array, V: Array) -> tuple[Array, Array]:
    if not native.serves(noise, a, c, W, V):
        return nade_reference.draw(noise, a, c, W, V)

    def compiled(noise: Array, a: Array, c: Array, W: Array, V: Array) -> tuple[Array, Array]:
        batch = noise.shape[:-1]
        shape = (math.prod(batch), W.shape[0])
        rows = (as_rows(operand, batch) for operand in (noise, a, c))
        x, logits = native.call("nade_sample", (shape, shape), *rows, W, V)
        return x.reshape(noise.shape), logits.reshape(noise.shape)

    return lax.platform_dependent(noise, a, c, W, V, cpu=compiled, default=nade_reference.draw)


def _draw_forward(noise, a, c, W, V):  # type: ignore[no-untyped-def]
    x, logits = _draw(noise, a, c, W, V)
    return (x, logits), (x, a, c, W, V)


def _draw_backward(saved, gradients):  # type: ignore[no-untyped-def]
    x, a, c, W, V = saved
    _, g = gradients
    da, dW, dV = _gradient(g, x, a, W, V)
    return jnp.zeros_like(x), sum_to(da, a.shape), sum_to(g, c.shape), dW, dV


_draw.defvjp(_draw_forward, _draw_backward)


def _gradient(g: Array, x: Array, a: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
    """The gradients of a (at full batch shape), W and V, given that of the logits."""
    if not native.serves(g, x, a, W, V):
        return nade_reference.gradient(g, x, a, W, V)

    def compiled(g: Array, x: Array, a: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
        batch = g.shape[:-1]
        shapes = ((math.prod(batch), W.shape[1]), W.shape, W.shape)
        rows = (as_rows(operand, batch) for operand in (g, x, a))
        da, dW, dV = native.call("nade_gradient", shapes, *rows, W, V)
        return da.reshape(*batch, W.shape[1]), dW, dV

    return lax.platform_dependent(g, x, a, W, V, cpu=compiled, default=nade_reference.gradient)
