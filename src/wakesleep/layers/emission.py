"""How the units of a layer emit values given their logits: each by itself, or in groups.

A kind of layer makes logits and asks its emission for everything that happens after them.
"""

import abc
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.numerics import bernoulli_log_prob, bernoulli_sample, logistic_noise

CERTAIN = 200.0
"""A logit so large that its unit adds nothing to a log-probability in float32."""


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
    def decide(
        self, logits: Float[Array, "*#batch D"], noise: Float[Array, "*batch D"]
    ) -> Float[Array, "*batch D"]:
        """The draws that the noise decides, for units whose logits are all known."""

    @property
    @abc.abstractmethod
    def following(self) -> tuple[int, ...]:
        """For every unit, the next that may be 1 when it is 1; `()` if that is always the next."""

    @property
    @abc.abstractmethod
    def group_sizes(self) -> tuple[int, ...] | None:
        """The sizes of the groups, in order; None where every unit is a group of its own."""

    @abc.abstractmethod
    def bias_for(self, mean: Float[Array, " D"]) -> Float[Array, " D"]:
        """The logits of units that are 1 as often as this, were there nothing else to know."""

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

    def decide(
        self, logits: Float[Array, "*#batch D"], noise: Float[Array, "*batch D"]
    ) -> Float[Array, "*batch D"]:
        """[logit > noise], unit by unit."""
        return (logits > noise).astype(logits.dtype)

    @property
    def following(self) -> tuple[int, ...]:
        """Always the next unit."""
        return ()

    @property
    def group_sizes(self) -> tuple[int, ...] | None:
        """Every unit by itself."""
        return None

    def bias_for(self, mean: Float[Array, " D"]) -> Float[Array, " D"]:
        """Log-odds."""
        return jnp.log(mean) - jnp.log1p(-mean)


BERNOULLI = Bernoulli()
"""What every kind of layer emits unless it is given another."""
