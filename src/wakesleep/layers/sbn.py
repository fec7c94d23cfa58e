"""The sigmoid belief network layer: independent units given their parents."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.layers.base import Conditioning, Layer, Map, Options
from wakesleep.layers.initialisation import Initialisation
from wakesleep.numerics import bernoulli_sample


class SBN(Layer):
    """P(x_i = 1 | y) = σ(W_i y + b_i), the paper's P^SBN; without parents, a factorised Bernoulli.

    Attributes:
        W: weights from the parents, `[D, C]`.
        b: biases, `[D]`.
    """

    W: Float[Array, "D C"]
    b: Float[Array, " D"]

    @property
    def size(self) -> int:
        """D."""
        return self.W.shape[0]

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """W y + b, the logits themselves."""
        return ((self.W, self.b),)

    @classmethod
    def create(cls, key: Key[Array, ""], size: int, parents: int, init: Initialisation) -> "SBN":
        """Initial parameters; an SBN has no options."""
        bias = jnp.full(size, init.factorial_bias, jnp.float32)
        return cls(init.weights(key, size, parents), bias)

    @property
    def options(self) -> Options:
        """None."""
        return {}

    def with_bias(self, logits: Float[Array, " D"]) -> "SBN":
        """The same layer with b replaced."""
        return eqx.tree_at(lambda layer: layer.b, self, logits)

    def logits_given(
        self, x: Float[Array, "*#batch D"], conditioning: Conditioning
    ) -> Float[Array, "... D"]:
        """The conditioning; x plays no part."""
        return conditioning[0]

    def sample_with_log_prob(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """All units at once."""
        (logits,) = self.conditioning(y)
        return bernoulli_sample(key, logits, y.shape[:-1] if shape is None else shape)
