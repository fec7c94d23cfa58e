"""Deterministic units between a layer and its parents; any kind of layer can be given them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.layers.base import Conditioning, Layer, Map, Options
from wakesleep.layers.initialisation import Initialisation

NONLINEARITIES: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {"tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu}
)


class Deterministic(Layer):
    """P(x | y) = inner(x | f(A y + c)): the inner layer sees a learnt function of its parents.

    Attributes:
        A: weights of the deterministic units, `[U, C]`.
        c: their biases, `[U]`.
        inner: the layer they feed; its parents are the U units.
        nonlinearity: the name of f in `NONLINEARITIES`.
    """

    A: Float[Array, "U C"]
    c: Float[Array, " U"]
    inner: Layer
    nonlinearity: str = eqx.field(static=True)

    @property
    def size(self) -> int:
        """D."""
        return self.inner.size

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """A y + c, the units before their nonlinearity."""
        return ((self.A, self.c),)

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        size: int,
        parents: int,
        init: Initialisation,
        *,
        layer: type[Layer],
        units: int,
        nonlinearity: str = "tanh",
        **options: int,
    ) -> "Deterministic":
        """An inner layer of class `layer` with `units` parents, and the units before it."""
        key_inner, key_units = jax.random.split(key)
        inner = layer.create(key_inner, size, units, init, **options)
        return cls(init.weights(key_units, units, parents), jnp.zeros(units), inner, nonlinearity)

    @property
    def options(self) -> Options:
        """The inner layer's, the number of units and their nonlinearity."""
        return {
            **self.inner.options,
            "units": self.inner.parents,
            "nonlinearity": self.nonlinearity,
        }

    def with_bias(self, logits: Float[Array, " D"]) -> "Deterministic":
        """The same layer with the inner layer's bias replaced."""
        return eqx.tree_at(lambda layer: layer.inner, self, self.inner.with_bias(logits))

    def logits_given(
        self, x: Float[Array, "*#batch D"], conditioning: Conditioning
    ) -> Float[Array, "... D"]:
        """The inner layer's, given the units."""
        return self.inner.conditional_logits(x, self._units(conditioning[0]))

    def sample_with_log_prob(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """The inner layer's, given the units."""
        return self.inner.sample_with_log_prob(key, self._units(*self.conditioning(y)), shape)

    def _units(self, before: Float[Array, "*batch U"]) -> Float[Array, "*batch U"]:
        return NONLINEARITIES[self.nonlinearity](before)
