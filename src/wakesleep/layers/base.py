"""What a layer is: one conditional distribution P(x | y) over a vector of bits."""

import abc
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from wakesleep.layers.distribution import Distribution, Map, Options, Preactivations
from wakesleep.layers.emission import CERTAIN
from wakesleep.layers.initialisation import Initialisation
from wakesleep.layers.order import UnitOrder, unit_order

__all__ = ["Layer", "Map", "Options", "Preactivations"]


class Layer(Distribution):
    """A distribution over `size` bits given `parents` bits, batched over leading dimensions.

    A top layer has `parents == 0`: it is conditioned on an array whose last dimension is
    empty, and every formula below holds unchanged.

    Leading dimensions of x and y broadcast. With K samples per example y is `[B, 1, C]` and
    x `[B, K, D]`, and what depends on y alone, the pre-activations, is computed once per example.

    To write a new kind, in a file of its own:

    1. Fields: the parameters, and after them
       `emission: Emission = eqx.field(static=True, default=BERNOULLI)`, through which units are
       drawn and scored.
    2. `factorial`, a class variable: whether the units are independent given the parents.
    3. `create`: draw initial parameters with an `Initialisation`. Options that a user can set in
       an architecture string are keyword arguments with defaults, each with its rule in
       `option_rules` and an attribute of its name, from which it is read back.
    4. `bias`, `parent_maps`, `logits` and `draw_units`.
    5. One line in `LAYERS` (`layers/__init__.py`). The contract tests then cover it.

    Attributes:
        option_rules: what the values of a kind's options must be, by name.
    """

    @classmethod
    @abc.abstractmethod
    def create(
        cls,
        key: Key[Array, ""],
        size: int,
        parents: int,
        init: Initialisation,
        *args: Any,
        **options: Any,
    ) -> "Layer":
        """A layer with initial parameters; a kind has its options for `*args` and `**options`."""

    @abc.abstractmethod
    def logits(self, x: Float[Array, "*#batch D"], pre: Preactivations) -> Float[Array, "... D"]:
        """The logit of P(x_i = 1 | x_<i, y) for every i, given the pre-activations of y.

        In a factorial kind, which ignores x, the result has the leading dimensions of `pre`.
        """

    @abc.abstractmethod
    def draw_units(
        self, noise: Float[Array, "*batch D"], pre: Preactivations
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "... D"]]:
        """Draw x_i = [logit_i > noise_i] for every i in turn; x, and its conditional logits.

        The noise is the emission's, whose `decide` or `following` say which units are drawn at all;
        −∞ makes a unit that is drawn 1, ∞ makes it 0. The logits can be differentiated with
        respect to the parameters, x held fixed.
        """

    @property
    def unit_order(self) -> UnitOrder:
        """In which order the units are drawn: as they stand, unless a kind has an order."""
        return unit_order(0, self.emission, self.size)

    def place(self, unit: int) -> int:
        """When a unit is drawn: its place in the layer's order."""
        return self.unit_order.place(unit)

    def conditional_logits(
        self, x: Float[Array, "*#batch D"], y: Float[Array, "*#batch C"]
    ) -> Float[Array, "... D"]:
        """The logit of P(x_i = 1 | x_<i, y) for every i."""
        return self.logits(x, self.preactivations(y))

    def log_prob_given(
        self, x: Float[Array, "*#batch D"], pre: Preactivations
    ) -> Float[Array, "*batch"]:
        """log P(x | y), given the pre-activations of y."""
        return self.emission.log_prob(x, self.logits(x, pre))

    def sample_pass(
        self, key: Key[Array, ""], pre: Preactivations, batch_shape: tuple[int, ...]
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """All units at once where they are independent, else one after another."""
        if self.factorial:
            logits = self.logits(jnp.zeros(self.size), pre)
            return self.emission.sample(key, logits, batch_shape)
        noise = self.emission.noise(key, (*batch_shape, self.size))
        x, logits = self.draw_units(noise, pre)
        return x, self.emission.log_prob(x, logits)

    def draw_unobserved(
        self,
        key: Key[Array, ""],
        x: Float[Array, "*batch D"],
        observed: Bool[Array, "*#batch D"],
        pre: Preactivations,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
        """Draw the units that were not observed from P(x_i | x_<i, y), in turn; the others stay.

        Returns x, and every unit's logit given the units before it.
        """
        given = jnp.where(x > 0, -jnp.inf, jnp.inf)
        noise = jnp.where(observed, given, self.emission.noise(key, x.shape))
        drawn, logits = self.draw_units(noise, pre)
        return drawn, jnp.broadcast_to(logits, x.shape)

    def log_prob_observed(
        self,
        x: Float[Array, "*#batch D"],
        logits: Float[Array, "*#batch D"],
        observed: Bool[Array, "*#batch D"],
    ) -> Float[Array, "*batch"]:
        """Σ log P(x_i | x_<i, y) over the units that were observed, whole groups of them."""
        return self.emission.log_prob(x, jnp.where(observed, logits, CERTAIN * (2 * x - 1)))

    def mean(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> Float[Array, "*batch D"]:
        """The probability each unit of a fresh sample is drawn with, for pictures."""
        x = self.sample(key, y, shape)
        return jnp.broadcast_to(self.emission.mean(self.conditional_logits(x, y)), x.shape)
