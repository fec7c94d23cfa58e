"""What a layer is: one conditional distribution P(x | y) over a vector of bits."""

import abc
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.kernels import affine_update
from wakesleep.numerics import affine, bernoulli_log_prob

Options = Mapping[str, Any]
Map = tuple[Float[Array, "M C"], Float[Array, " M"]]
"""Weights and biases of an affine map of the parents."""

Conditioning = tuple[Float[Array, "... _"], ...]
"""What each of a layer's maps makes of the parents."""


class Layer(eqx.Module):
    """A distribution over `size` bits given `parents` bits, batched over leading dimensions.

    A top layer has `parents == 0`: it is conditioned on an array whose last dimension is
    empty, and every formula below holds unchanged.

    Leading dimensions of x and y broadcast. With K samples per example y is `[B, 1, C]` and
    x `[B, K, D]`, and what depends on y alone is computed once per example.

    To write a new kind, in a file of its own:

    1. Fields: the parameters; `size` read off their shapes.
    2. `create`: draw initial parameters with an `Initialisation`; keyword arguments beyond
       the four given are the options a user can set in an architecture string.
    3. `parent_maps`, `logits_given`, `sample_with_log_prob`, `with_bias` and `options`.
    4. One line in `LAYERS` (`layers/__init__.py`). The contract tests then cover it.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """D, the number of units."""

    @property
    @abc.abstractmethod
    def parent_maps(self) -> tuple[Map, ...]:
        """The affine maps through which the parents act, at least one."""

    @classmethod
    @abc.abstractmethod
    def create(cls, *args: Any, **options: Any) -> "Layer":
        """`create(key, size, parents, init, *, …options)`: a layer with initial parameters."""

    @abc.abstractmethod
    def logits_given(
        self, x: Float[Array, "*#batch D"], conditioning: Conditioning
    ) -> Float[Array, "... D"]:
        """The logit of P(x_i = 1 | x_<i, y) for every i, given what the maps make of y.

        Where a kind does not depend on x, the result has the conditioning's leading dimensions.
        """

    @abc.abstractmethod
    def sample_with_log_prob(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """Draw x and give log P(x | y), in one pass.

        `shape` is the leading shape of the result, to which y's broadcasts; None: y's own.
        The log-probability can be differentiated with respect to the parameters, x held fixed.
        """

    @abc.abstractmethod
    def with_bias(self, logits: Float[Array, " D"]) -> "Layer":
        """The same layer with its output bias replaced."""

    @property
    @abc.abstractmethod
    def options(self) -> Options:
        """The options that `create` would need to make this layer's shape again."""

    @property
    def parents(self) -> int:
        """C, the number of units they are conditioned on; 0 for a top layer."""
        return self.parent_maps[0][0].shape[1]

    def conditioning(self, y: Float[Array, "*batch C"]) -> Conditioning:
        """All that the layer makes of its parents alone."""
        return tuple(affine(y, W, b) for W, b in self.parent_maps)

    def conditioning_after(
        self,
        conditioning: Conditioning,
        before: Float[Array, "*batch C"],
        after: Float[Array, "*batch C"],
    ) -> Conditioning:
        """That of `after`, given that of `before`: little work where they differ little."""
        return tuple(
            affine_update(made, before, after, W)
            for made, (W, _) in zip(conditioning, self.parent_maps, strict=True)
        )

    def conditional_logits(
        self, x: Float[Array, "*#batch D"], y: Float[Array, "*#batch C"]
    ) -> Float[Array, "... D"]:
        """The logit of P(x_i = 1 | x_<i, y) for every i."""
        return self.logits_given(x, self.conditioning(y))

    def log_prob_given(
        self, x: Float[Array, "*#batch D"], conditioning: Conditioning
    ) -> Float[Array, "*batch"]:
        """`log_prob`, given what the maps make of y."""
        return bernoulli_log_prob(x, self.logits_given(x, conditioning))

    @property
    def is_factorial(self) -> bool:
        """Whether the units are independent given y: their logits then lack x's own dimensions."""
        x = jax.ShapeDtypeStruct((2, self.size), jnp.float32)
        y = jax.ShapeDtypeStruct((1, self.parents), jnp.float32)
        return jax.eval_shape(self.conditional_logits, x, y).shape[0] == 1

    def sample(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> Float[Array, "*batch D"]:
        """Draw x ~ P(x | y)."""
        return self.sample_with_log_prob(key, y, shape)[0]

    def log_prob(
        self, x: Float[Array, "*#batch D"], y: Float[Array, "*#batch C"]
    ) -> Float[Array, "*batch"]:
        """log P(x | y)."""
        return self.log_prob_given(x, self.conditioning(y))

    def mean(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> Float[Array, "*batch D"]:
        """The probability each unit of a fresh sample is drawn with, for pictures."""
        x = self.sample(key, y, shape)
        return jax.nn.sigmoid(self.conditional_logits(x, y) + 0 * x)
