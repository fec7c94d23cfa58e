"""NADE: a hidden layer that accumulates the units seen so far and predicts the next one.

With the pre-activations a = U_a y + a₀ and c = U_b y + b already computed,

    logit_i = V_i · σ(a + Σ_{j<i} W_j x_j) + c_i.

Leading dimensions broadcast, and bits are constants of every gradient.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from wakesleep.kernels import nade_reference, native
from wakesleep.kernels.ar_sbn import Following
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
    following: Following = (),
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """Draw x_i = [logit_i > noise_i] for i = 1, 2, …; returns x and its conditional logits.

    `following` is where units come in groups of which one alone is 1: where each group ends.
    """
    x, logits = _draw(following, lax.stop_gradient(noise), a, c, W, V)
    return lax.stop_gradient(x), logits


@jax.custom_vjp
def _effects(x: Array, a: Array, W: Array, V: Array) -> Array:
    """V_i · σ(…) for every unit."""
    return _effects_and_last(x, a, W, V)[0]


def _effects_forward(x, a, W, V):  # type: ignore[no-untyped-def]
    effects, last = _effects_and_last(x, a, W, V)
    return effects, (x, a, last, W, V)


def _effects_backward(saved, g):  # type: ignore[no-untyped-def]
    x, a, last, W, V = saved
    da, dW, dV = _gradient(g, x, last, W, V)
    return jnp.zeros_like(x), sum_to(da, a.shape), dW, dV


_effects.defvjp(_effects_forward, _effects_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _draw(following: Following, *operands: Array) -> tuple[Array, Array]:
    return _draw_and_last(following, *operands)[:2]


def _draw_forward(following, *operands):  # type: ignore[no-untyped-def]
    x, logits, last = _draw_and_last(following, *operands)
    _, a, c, W, V = operands
    return (x, logits), (x, a, c, last, W, V)


def _draw_backward(following, saved, gradients):  # type: ignore[no-untyped-def]
    x, a, c, last, W, V = saved
    _, g = gradients
    da, dW, dV = _gradient(g, x, last, W, V)
    return jnp.zeros_like(x), sum_to(da, a.shape), sum_to(g, c.shape), dW, dV


_draw.defvjp(_draw_forward, _draw_backward)


def _effects_and_last(x: Array, a: Array, W: Array, V: Array) -> tuple[Array, Array]:
    if not native.serves(x, a, W, V):
        return nade_reference.effects(x, a, W, V)

    def compiled(x: Array, a: Array, W: Array, V: Array) -> tuple[Array, Array]:
        batch = jnp.broadcast_shapes(x.shape[:-1], a.shape[:-1])
        shapes = [(*batch, width) for width in W.shape]
        rows = as_rows(x, batch), as_rows(a, batch)
        effects, last = native.call("nade_logits", shapes, *rows, W, V)
        return effects, last

    return native.on_cpu(compiled, nade_reference.effects, x, a, W, V)


def _draw_and_last(following: Following, *operands: Array) -> tuple[Array, Array, Array]:
    """noise, a, c, W and V to x, its logits and the last pre-activation."""
    default = functools.partial(nade_reference.draw, following=following)
    if not native.serves(*operands):
        return default(*operands)

    def compiled(
        noise: Array, a: Array, c: Array, W: Array, V: Array
    ) -> tuple[Array, Array, Array]:
        batch = noise.shape[:-1]
        shapes = [noise.shape, noise.shape, (*batch, W.shape[1])]
        rows = as_rows(a, batch), as_rows(c, batch)
        groups = jnp.array(following, jnp.int32)
        x, logits, last = native.call("nade_sample", shapes, noise, *rows, W, V, groups)
        return x, logits, last

    return native.on_cpu(compiled, default, *operands)


def _gradient(g: Array, x: Array, last: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
    """The gradients of a (at full batch shape), W and V, given that of the logits."""
    if not native.serves(g, x, last, W, V):
        return nade_reference.gradient(g, x, last, W, V)

    def compiled(g: Array, x: Array, last: Array, W: Array, V: Array) -> tuple[Array, Array, Array]:
        shapes = [last.shape, W.shape, V.shape]
        da, dW, dV = native.call("nade_gradient", shapes, g, as_rows(x, g.shape[:-1]), last, W, V)
        return da, dW, dV

    return native.on_cpu(compiled, nade_reference.gradient, g, x, last, W, V)
