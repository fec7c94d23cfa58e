"""AR-SBN: drawing units one after another, each a logistic regression on those before it."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def ar_sbn_sample(
    noise: Float[Array, "*batch D"], c: Float[Array, "*#batch D"], S: Float[Array, "D D"]
) -> Float[Array, "*batch D"]:
    """Draw x_i = [c_i + S_i,<i x_<i > noise_i] for i = 1, 2, ….

    Args:
        noise: logistic noise, one value per unit drawn.
        c: what the parents and the bias contribute to each logit.
        S: autoregressive weights, strictly lower triangular.
    """

    def draw(logits, step):  # type: ignore[no-untyped-def]
        i, noise_i, effect_of_i = step
        x_i = (lax.dynamic_index_in_dim(logits, i, -1, keepdims=False) > noise_i).astype(c.dtype)
        return logits + x_i[..., None] * effect_of_i, x_i

    units = jnp.arange(noise.shape[-1])
    start = jnp.broadcast_to(c, noise.shape)
    _, x = lax.scan(draw, start, (units, jnp.moveaxis(noise, -1, 0), S.T))
    return jnp.moveaxis(x, 0, -1)
