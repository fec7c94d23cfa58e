"""How the units of a layer emit values given their logits; a Bernoulli per unit here.

A kind of layer makes logits and asks its emission for everything that happens after them, so a
new emission (a softmax over groups of units, say) is one class here, and no kind changes.
"""

import abc
from dataclasses import dataclass

import jax
from jaxtyping import Array, Float, Key

from wakesleep.numerics import bernoulli_log_prob, bernoulli_sample, logistic_noise


class Emission(abc.ABC):
    """The distribution of a layer's units given their logits.

    A static field of a layer: no arrays inside, and equal emissions must compare equal.
    """

    @abc.abstractmethod
    def log_prob(
        self, x: Float[Array, "*#batch D"], logits: Float[Array, "*#batch D"]
    ) -> Float[Array, "*batch"]:
        """log P(x), summed over the units; x is a constant of its gradient."""

    @abc.abstractmethod
    def sample(
        self, key: Key[Array, ""], logits: Float[Array, "*_ D"], batch_shape: tuple[int, ...]
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """Draw x of this leading shape, to which that of the logits broadcasts, and give log P(x).

        For units whose logits are all known before the first is drawn.
        """

    @abc.abstractmethod
    def noise(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
        """What decides each draw once its logit is known, for units drawn one after another."""

    @abc.abstractmethod
    def mean(self, logits: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """The probability that each unit is 1."""


@dataclass(frozen=True)
class Bernoulli(Emission):
    """P(x_i = 1) = σ(logit_i), each unit by itself; x_i = [logit_i > noise_i]."""

    def log_prob(
        self, x: Float[Array, "*#batch D"], logits: Float[Array, "*#batch D"]
    ) -> Float[Array, "*batch"]:
        """From the signed logits, in one pass."""
        return bernoulli_log_prob(x, logits)

    def sample(
        self, key: Key[Array, ""], logits: Float[Array, "*_ D"], batch_shape: tuple[int, ...]
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """One pass, without noise in memory."""
        return bernoulli_sample(key, logits, batch_shape)

    def noise(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Logistic noise: P(noise < l) = σ(l), tails resolved down to 2^-64."""
        return logistic_noise(key, shape)

    def mean(self, logits: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """σ of the logits."""
        return jax.nn.sigmoid(logits)


BERNOULLI = Bernoulli()
"""What every kind of layer emits unless it is given another."""
