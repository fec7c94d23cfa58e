"""NADE: a hidden layer that accumulates the units seen so far and predicts the next one.

With the conditioning terms a = U_a y + a₀ and c = U_b y + b already computed,

    logit_i = V_i · σ(a + Σ_{j<i} W_j x_j) + c_i.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


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
    batch = jnp.broadcast_shapes(x.shape[:-1], a.shape[:-1], c.shape[:-1])

    def predict(a, step):  # type: ignore[no-untyped-def]
        x_i, W_i, V_i = step
        return a + x_i[..., None] * W_i, jax.nn.sigmoid(a) @ V_i

    start = jnp.broadcast_to(a, (*batch, a.shape[-1]))
    _, effects = lax.scan(predict, start, (jnp.moveaxis(x, -1, 0), W, V))
    return jnp.moveaxis(effects, 0, -1) + c


def nade_sample(
    noise: Float[Array, "*batch D"],
    a: Float[Array, "*#batch H"],
    c: Float[Array, "*#batch D"],
    W: Float[Array, "D H"],
    V: Float[Array, "D H"],
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """Draw x_i = [logit_i > noise_i] for i = 1, 2, …; returns x and its conditional logits."""

    def draw(a, step):  # type: ignore[no-untyped-def]
        noise_i, c_i, W_i, V_i = step
        logit_i = jax.nn.sigmoid(a) @ V_i + c_i
        x_i = (logit_i > noise_i).astype(a.dtype)
        return a + x_i[..., None] * W_i, (x_i, logit_i)

    batch = noise.shape[:-1]
    start = jnp.broadcast_to(a, (*batch, a.shape[-1]))
    c = jnp.broadcast_to(c, noise.shape)
    _, (x, logits) = lax.scan(
        draw, start, (jnp.moveaxis(noise, -1, 0), jnp.moveaxis(c, -1, 0), W, V)
    )
    return jnp.moveaxis(x, 0, -1), jnp.moveaxis(logits, 0, -1)
