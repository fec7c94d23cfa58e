"""Deterministic units between a layer and its parents; any kind of layer can be given them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.layers.base import Layer, Options
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
    size: int = eqx.field(static=True)
    parents: int = eqx.field(static=True)

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        parents: int,
        init: Initialisation,
        *,
        inner: Layer,
        nonlinearity: str,
    ) -> Self:
        """Units from `parents` to as many as the inner layer takes."""
        A = init.weights(key, inner.parents, parents)
        return cls(A, jnp.zeros(inner.parents), inner, nonlinearity, inner.size, parents)

    @property
    def options(self) -> Options:
        """The inner layer's, the number of units and their nonlinearity."""
        own = {"units": self.inner.parents, "nonlinearity": self.nonlinearity}
        return {**self.inner.options, **own}

    def with_bias(self, logits: Float[Array, " D"]) -> Self:
        """The same layer with the inner layer's bias replaced."""
        return eqx.tree_at(lambda layer: layer.inner, self, self.inner.with_bias(logits))

    def conditional_logits(
        self, x: Float[Array, "*#batch D"], y: Float[Array, "*#batch C"]
    ) -> Float[Array, "*?result D"]:
        """The inner layer's, given the units."""
        return self.inner.conditional_logits(x, self._units(y))

    def sample_with_log_prob(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """The inner layer's, given the units."""
        return self.inner.sample_with_log_prob(key, self._units(y), shape)

    def _units(self, y: Float[Array, "*batch C"]) -> Float[Array, "*batch U"]:
        return NONLINEARITIES[self.nonlinearity](y @ self.A.T + self.c)
