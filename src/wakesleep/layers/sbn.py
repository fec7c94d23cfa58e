"""The sigmoid belief network layer: independent units given their parents."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.layers.base import Layer, Map, Preactivations
from wakesleep.layers.emission import BERNOULLI, Emission
from wakesleep.layers.initialisation import Initialisation


class SBN(Layer):
    """P(x_i = 1 | y) = σ(W_i y + b_i), the paper's P^SBN; without parents, a factorised Bernoulli.

    Attributes:
        W: weights from the parents, `[D, C]`.
        b: biases, `[D]`.
        emission: how units emit.
    """

    W: Float[Array, "D C"]
    b: Float[Array, " D"]
    emission: Emission = eqx.field(static=True, default=BERNOULLI)

    factorial: ClassVar[bool] = True

    @classmethod
    def create(cls, key: Key[Array, ""], size: int, parents: int, init: Initialisation) -> "SBN":
        """Initial parameters; an SBN has no options."""
        bias = jnp.full(size, init.factorial_bias, jnp.float32)
        return cls(init.weights(key, size, parents), bias)

    @property
    def bias(self) -> Any:
        """The leaf b."""
        return self.b

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """W y + b, the logits themselves."""
        return ((self.W, self.b),)

    def logits(self, x: Float[Array, "*#batch D"], pre: Preactivations) -> Float[Array, "... D"]:
        """The pre-activations; x plays no part."""
        return pre[0]

    def draw_units(
        self, noise: Float[Array, "*batch D"], pre: Preactivations
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "... D"]]:
        """All units at once."""
        return self.emission.decide(pre[0], noise), pre[0]
