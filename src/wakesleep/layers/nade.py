"""The conditional NADE layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.kernels import nade_logits, nade_sample
from wakesleep.layers.base import Conditioning, Layer, Map, Options
from wakesleep.layers.initialisation import Initialisation
from wakesleep.numerics import bernoulli_log_prob, logistic_noise


class NADE(Layer):
    """P(x_i = 1 | x_<i, y) = σ(V_i σ(W_<i x_<i + U_a y + a) + U_b,i y + b_i), the paper's P^NADE.

    Attributes:
        W: encoding weights, `[D, H]`: row i joins the hidden layer when x_i = 1.
        V: decoding weights, `[D, H]`.
        U_a: weights from the parents to the hidden layer, `[H, C]`.
        U_b: weights from the parents to the units, `[D, C]`.
        a: hidden biases, `[H]`.
        b: unit biases, `[D]`.
    """

    W: Float[Array, "D H"]
    V: Float[Array, "D H"]
    U_a: Float[Array, "H C"]
    U_b: Float[Array, "D C"]
    a: Float[Array, " H"]
    b: Float[Array, " D"]

    @property
    def size(self) -> int:
        """D."""
        return self.U_b.shape[0]

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """U_a y + a, into the hidden layer, and U_b y + b, into the logits."""
        return ((self.U_a, self.a), (self.U_b, self.b))

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        size: int,
        parents: int,
        init: Initialisation,
        *,
        hidden: int | None = None,
    ) -> "NADE":
        """Initial parameters; `hidden` defaults to min(D, C), for a top layer to D."""
        width = hidden or (min(size, parents) if parents else size)
        key_W, key_V, key_a, key_b = jax.random.split(key, 4)
        return cls(
            W=init.weights(key_W, width, size).T,
            V=init.weights(key_V, size, width),
            U_a=init.weights(key_a, width, parents),
            U_b=init.weights(key_b, size, parents),
            a=jnp.zeros(width),
            b=jnp.zeros(size),
        )

    @property
    def options(self) -> Options:
        """The hidden width."""
        return {"hidden": self.a.shape[0]}

    def with_bias(self, logits: Float[Array, " D"]) -> "NADE":
        """The same layer with b replaced."""
        return eqx.tree_at(lambda layer: layer.b, self, logits)

    def logits_given(
        self, x: Float[Array, "*#batch D"], conditioning: Conditioning
    ) -> Float[Array, "... D"]:
        """One pass over the units, the hidden layer growing as it goes."""
        hidden, logits = conditioning
        return nade_logits(x, hidden, logits, self.W, self.V)

    def sample_with_log_prob(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """Unit after unit, the log-probability along the way."""
        noise = logistic_noise(key, (*(y.shape[:-1] if shape is None else shape), self.size))
        hidden, fixed = self.conditioning(y)
        x, logits = nade_sample(noise, hidden, fixed, self.W, self.V)
        return x, bernoulli_log_prob(x, logits)
