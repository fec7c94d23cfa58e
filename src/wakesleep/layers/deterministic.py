"""Deterministic units between a layer and its parents; any kind of layer can be given them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.layers.base import Layer, Map, Preactivations
from wakesleep.layers.emission import Emission
from wakesleep.layers.initialisation import Initialisation
from wakesleep.layers.order import UnitOrder
from wakesleep.numerics import affine
from wakesleep.options import Choice, Rule, Whole

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

    option_rules: ClassVar[Mapping[str, Rule]] = MappingProxyType(
        {"units": Whole(least=1), "nonlinearity": Choice(tuple(NONLINEARITIES))}
    )

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
        **options: Any,
    ) -> "Deterministic":
        """An inner layer of class `layer` with `units` parents, and the units before it."""
        key_inner, key_units = jax.random.split(key)
        inner = layer.create(key_inner, size, units, init, **options)
        return cls(init.weights(key_units, units, parents), jnp.zeros(units), inner, nonlinearity)

    @property
    def factorial(self) -> bool:
        """As the inner layer: the units are no function of x."""
        return self.inner.factorial

    @property
    def emission(self) -> Emission:
        """The inner layer's."""
        return self.inner.emission

    @property
    def unit_order(self) -> UnitOrder:
        """The inner layer's."""
        return self.inner.unit_order

    @property
    def units(self) -> int:
        """U, the number of deterministic units."""
        return self.inner.parents

    @property
    def bias(self) -> Any:
        """The inner layer's."""
        return self.inner.bias

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """A y + c, the units before their nonlinearity."""
        return ((self.A, self.c),)

    def logits(self, x: Float[Array, "*#batch D"], pre: Preactivations) -> Float[Array, "... D"]:
        """The inner layer's, given the units."""
        return self.inner.logits(x, self._inner_preactivations(pre))

    def draw_units(
        self, noise: Float[Array, "*batch D"], pre: Preactivations
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "... D"]]:
        """The inner layer's, given the units."""
        return self.inner.draw_units(noise, self._inner_preactivations(pre))

    def _inner_preactivations(self, pre: Preactivations) -> Preactivations:
        units = NONLINEARITIES[self.nonlinearity](pre[0])
        return tuple(affine(units, W, b) for W, b in self.inner.parent_maps)
