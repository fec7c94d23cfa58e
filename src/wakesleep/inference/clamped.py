"""Drawing some units of a layer while the others are held at what was observed."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from wakesleep.layers import Layer
from wakesleep.numerics import logistic_noise, softplus


def draw_missing(
    layer: Layer,
    key: Key[Array, ""],
    x: Float[Array, "*batch D"],
    missing: Bool[Array, "*#batch D"],
    y: Float[Array, "*batch C"],
) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """Draw x_i ~ P(x_i | x_<i, y) for the missing units in turn; the others stay.

    With the noise fixed, the draw is the one solution of x_i = [logit_i(x_<i) > noise_i].
    Evaluating all logits together and drawing all units anew settles at least one more unit
    each time, in practice many: far fewer passes than units, and no kernel of its own.

    Returns:
        x, and every unit's logit given the units before it.
    """
    noise = logistic_noise(key, x.shape)

    def logits_of(x: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        return jnp.broadcast_to(layer.conditional_logits(x, y), x.shape)

    def redraw(x: Float[Array, "*batch D"], logits: Float[Array, "*batch D"]) -> Array:
        return jnp.where(missing, (logits > noise).astype(x.dtype), x)

    logits = logits_of(x)
    if layer.factorial:
        return redraw(x, logits), logits

    def settle(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, logits, passes, _ = state
        drawn = redraw(x, logits)
        return drawn, logits_of(drawn), passes + 1, jnp.any(drawn != x)

    def unsettled(state: tuple[Array, Array, Array, Array]) -> Array:
        _, _, passes, changed = state
        return changed & (passes <= layer.size)

    start = (x, logits, jnp.zeros((), jnp.int32), jnp.ones((), bool))
    x, logits, _, _ = lax.while_loop(unsettled, settle, start)
    return x, logits


def log_observed(
    x: Float[Array, "*batch D"],
    logits: Float[Array, "*batch D"],
    missing: Bool[Array, "*#batch D"],
) -> Float[Array, "*batch"]:
    """Σ log P(x_i | x_<i, y) over the units that were observed."""
    terms = -softplus((1 - 2 * x) * logits)
    return jnp.where(missing, 0.0, terms).sum(-1)
