"""What a machine asks of every layer of p, whether its probabilities are normalised or not."""

import abc
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Key

from wakesleep.kernels import affine_update, bit_affine
from wakesleep.layers.emission import Emission
from wakesleep.layers.initialisation import Initialisation
from wakesleep.options import Rule

Options = Mapping[str, Any]
Map = tuple[Float[Array, "M C"], Float[Array, " M"]]
"""Weights and biases of an affine map of the parents."""

Preactivations = tuple[Float[Array, "... _"], ...]
"""What each of a layer's maps gives for the parents, W y + b."""


Kept = TypeVar("Kept", bound="Distribution")


class Distribution(eqx.Module):
    """A distribution over `size` bits given `parents` bits, batched over leading dimensions.

    Two kinds: a `Layer`, which is normalised, and an undirected top, which is known up to a
    constant and has no parents.

    Attributes:
        option_rules: what the values of a kind's options must be, by name.
    """

    option_rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({})

    @property
    @abc.abstractmethod
    def factorial(self) -> bool:
        """Whether the units are independent given y; a kind declares it as a class variable."""

    @property
    @abc.abstractmethod
    def emission(self) -> Emission:
        """How units emit values given their logits; a static field of a kind."""

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
    ) -> "Distribution":
        """A layer with initial parameters; a kind has its options for `*args` and `**options`."""

    @property
    @abc.abstractmethod
    def bias(self) -> Any:
        """The output bias `[D]`: the very leaf, which is added to the units' logits as it is.

        Any, because `with_bias` finds the leaf in a tree that has placeholders for arrays.
        """

    @property
    @abc.abstractmethod
    def parent_maps(self) -> tuple[Map, ...]:
        """The affine maps through which the parents act, at least one."""

    @abc.abstractmethod
    def log_prob_given(
        self, x: Float[Array, "*#batch D"], pre: Preactivations
    ) -> Float[Array, "*batch"]:
        """log P(x | y), given the pre-activations of y."""

    @abc.abstractmethod
    def sample_pass(
        self, key: Key[Array, ""], pre: Preactivations, batch_shape: tuple[int, ...]
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """Draw x and give log P(x | y), in one pass, given the pre-activations of y.

        `batch_shape` is the leading shape of the result, to which that of `pre` broadcasts.
        """

    @abc.abstractmethod
    def mean(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> Float[Array, "*batch D"]:
        """The probability each unit of a fresh sample is drawn with, for pictures."""

    @property
    def size(self) -> int:
        """D, the number of units."""
        return self.bias.shape[0]

    @property
    def parents(self) -> int:
        """C, the number of units they are conditioned on; 0 for a top layer."""
        return self.parent_maps[0][0].shape[1]

    @property
    def options(self) -> Options:
        """The kind's own options, with which `create` would make this layer's shape again."""
        return {name: getattr(self, name) for name in self.option_rules}

    def with_bias(self: Kept, bias: Float[Array, " D"]) -> Kept:
        """The same layer with its output bias replaced."""
        return eqx.tree_at(lambda layer: layer.bias, self, bias)

    def preactivations(self, y: Float[Array, "*batch C"]) -> Preactivations:
        """All that the layer makes of its parents alone."""
        return tuple(bit_affine(y, W, b) for W, b in self.parent_maps)

    def updated_preactivations(
        self,
        pre: Preactivations,
        before: Float[Array, "*batch C"],
        after: Float[Array, "*batch C"],
    ) -> Preactivations:
        """Those of `after`, given those of `before`: little work where they differ little."""
        return tuple(
            affine_update(outputs, before, after, W)
            for outputs, (W, _) in zip(pre, self.parent_maps, strict=True)
        )

    def log_prob(
        self, x: Float[Array, "*#batch D"], y: Float[Array, "*#batch C"]
    ) -> Float[Array, "*batch"]:
        """log P(x | y)."""
        return self.log_prob_given(x, self.preactivations(y))

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
        batch_shape = y.shape[:-1] if shape is None else shape
        return self.sample_pass(key, self.preactivations(y), batch_shape)

    def sample(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> Float[Array, "*batch D"]:
        """Draw x ~ P(x | y)."""
        return self.sample_with_log_prob(key, y, shape)[0]
