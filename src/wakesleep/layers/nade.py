"""The conditional NADE layer."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.kernels import nade_logits, nade_sample
from wakesleep.layers.base import Layer, Map, Preactivations
from wakesleep.layers.emission import BERNOULLI, Emission
from wakesleep.layers.initialisation import Initialisation
from wakesleep.layers.order import ORDER, UnitOrder, unit_order
from wakesleep.options import Rule, Whole


class NADE(Layer):
    """P(x_i = 1 | x_<i, y) = σ(V_i σ(W_<i x_<i + U_a y + a) + U_b,i y + b_i), the paper's P^NADE.

    Attributes:
        W: encoding weights, `[D, H]`: row i joins the hidden layer when x_i = 1. Rows of W and V
            are places in the layer's order.
        V: decoding weights, `[D, H]`.
        U_a: weights from the parents to the hidden layer, `[H, C]`.
        U_b: weights from the parents to the units, `[D, C]`.
        a: hidden biases, `[H]`.
        b: unit biases, `[D]`.
        emission: how units emit.
        order: 0, -1 for the units' groups backwards, -W for the columns of a picture W wide
            backwards, or the seed of a fixed random order of them.
    """

    W: Float[Array, "D H"]
    V: Float[Array, "D H"]
    U_a: Float[Array, "H C"]
    U_b: Float[Array, "D C"]
    a: Float[Array, " H"]
    b: Float[Array, " D"]
    emission: Emission = eqx.field(static=True, default=BERNOULLI)
    order: int = eqx.field(static=True, default=0)

    factorial: ClassVar[bool] = False
    option_rules: ClassVar[Mapping[str, Rule]] = MappingProxyType(
        {"hidden": Whole(least=1), "order": ORDER}
    )

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        size: int,
        parents: int,
        init: Initialisation,
        *,
        hidden: int | None = None,
        order: int = 0,
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
            order=order,
        )

    @property
    def hidden(self) -> int:
        """H, the width of the hidden layer."""
        return self.a.shape[0]

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
        """U_a y + a, into the hidden layer, and U_b y + b, into the logits."""
        return ((self.U_a, self.a), (self.U_b, self.b))

    def logits(self, x: Float[Array, "*#batch D"], pre: Preactivations) -> Float[Array, "... D"]:
        """One pass over the units, the hidden layer growing as it goes."""
        hidden, fixed = pre
        order = self.unit_order
        return order.put_back(nade_logits(order.take(x), hidden, order.take(fixed), self.W, self.V))

    def draw_units(
        self, noise: Float[Array, "*batch D"], pre: Preactivations
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "... D"]]:
        """Unit after unit, the hidden layer growing as it goes."""
        hidden, fixed = pre
        order = self.unit_order
        noise, fixed = order.take(noise), order.take(fixed)
        x, logits = nade_sample(noise, hidden, fixed, self.W, self.V, order.following)
        return order.put_back(x), order.put_back(logits)
