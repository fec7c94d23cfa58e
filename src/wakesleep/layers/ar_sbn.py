"""The autoregressive sigmoid belief network layer, the building block of DARN."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.kernels import ar_sbn_sample, bit_affine
from wakesleep.layers.base import Layer, Map, Preactivations
from wakesleep.layers.emission import BERNOULLI, Emission
from wakesleep.layers.initialisation import Initialisation
from wakesleep.layers.order import ORDER, UnitOrder, unit_order
from wakesleep.options import Rule


class ARSBN(Layer):
    """P(x_i = 1 | x_<i, y) = σ(W_i y + S_i,<i x_<i + b_i); without parents, an FVSBN.

    Attributes:
        W: weights from the parents, `[D, C]`.
        S: autoregressive weights, `[D, D]`; only the strictly lower triangle is ever used. Its rows
            and columns are places in the layer's order.
        b: biases, `[D]`.
        emission: how units emit.
        order: 0, -1 for the units' groups backwards, -W for the columns of a picture W wide
            backwards, or the seed of a fixed random order of them.
    """

    W: Float[Array, "D C"]
    S: Float[Array, "D D"]
    b: Float[Array, " D"]
    emission: Emission = eqx.field(static=True, default=BERNOULLI)
    order: int = eqx.field(static=True, default=0)

    factorial: ClassVar[bool] = False
    option_rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({"order": ORDER})

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        size: int,
        parents: int,
        init: Initialisation,
        *,
        order: int = 0,
    ) -> "ARSBN":
        """Initial parameters."""
        key_W, key_S = jax.random.split(key)
        S = jnp.tril(init.weights(key_S, size, size), -1)
        return cls(init.weights(key_W, size, parents), S, jnp.zeros(size), order=order)

    @property
    def unit_order(self) -> UnitOrder:
        """That of the option `order`."""
        return unit_order(self.order, self.emission, self.size)

    @property
    def bias(self) -> Any:
        """The leaf b."""
        return self.b

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """W y + b, the parents' part of each logit."""
        return ((self.W, self.b),)

    def logits(self, x: Float[Array, "*#batch D"], pre: Preactivations) -> Float[Array, "... D"]:
        """All at once: with x known, the recurrence is a masked matrix product."""
        order = self.unit_order
        before = bit_affine(order.take(x), jnp.tril(self.S, -1), jnp.zeros(self.size))
        return order.put_back(before) + pre[0]

    def draw_units(
        self, noise: Float[Array, "*batch D"], pre: Preactivations
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "... D"]]:
        """Unit after unit, each adding its column of S to the logits behind it."""
        order = self.unit_order
        x, logits = ar_sbn_sample(order.take(noise), order.take(pre[0]), self.S, order.following)
        return order.put_back(x), order.put_back(logits)
