"""The autoregressive sigmoid belief network layer, the building block of DARN."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.kernels import ar_sbn_sample
from wakesleep.layers.base import Conditioning, Layer, Map, Options
from wakesleep.layers.initialisation import Initialisation
from wakesleep.numerics import bernoulli_log_prob, logistic_noise


class ARSBN(Layer):
    """P(x_i = 1 | x_<i, y) = σ(W_i y + S_i,<i x_<i + b_i); without parents, an FVSBN.

    Attributes:
        W: weights from the parents, `[D, C]`.
        S: autoregressive weights, `[D, D]`; only the strictly lower triangle is ever used.
        b: biases, `[D]`.
    """

    W: Float[Array, "D C"]
    S: Float[Array, "D D"]
    b: Float[Array, " D"]

    @property
    def size(self) -> int:
        """D."""
        return self.W.shape[0]

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """W y + b, the parents' part of each logit."""
        return ((self.W, self.b),)

    @classmethod
    def create(cls, key: Key[Array, ""], size: int, parents: int, init: Initialisation) -> "ARSBN":
        """Initial parameters; an AR-SBN has no options."""
        key_W, key_S = jax.random.split(key)
        S = jnp.tril(init.weights(key_S, size, size), -1)
        return cls(init.weights(key_W, size, parents), S, jnp.zeros(size))

    @property
    def options(self) -> Options:
        """None."""
        return {}

    def with_bias(self, logits: Float[Array, " D"]) -> "ARSBN":
        """The same layer with b replaced."""
        return eqx.tree_at(lambda layer: layer.b, self, logits)

    def logits_given(
        self, x: Float[Array, "*#batch D"], conditioning: Conditioning
    ) -> Float[Array, "... D"]:
        """All at once: with x known, the recurrence is a masked matrix product."""
        return x @ jnp.tril(self.S, -1).T + conditioning[0]

    def sample_with_log_prob(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """Unit after unit, the log-probability along the way."""
        (c,) = self.conditioning(y)
        noise = logistic_noise(key, (*(y.shape[:-1] if shape is None else shape), self.size))
        x, logits = ar_sbn_sample(noise, c, self.S)
        return x, bernoulli_log_prob(x, logits)
