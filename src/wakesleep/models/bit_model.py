"""Latent models of rows of bits: what tables, pictures and evaluation ask of them."""

import abc

from jaxtyping import Array, Float, Key

from wakesleep.layers.emission import Emission
from wakesleep.models.base import LatentModel
from wakesleep.models.masked import Masked

Visible = Float[Array, "... D"] | Masked
"""An example's bits, or those that were observed with the mask that says which."""


class BitModel(LatentModel):
    """A latent model whose examples are bits in groups, whole or `Masked`.

    To write one: the members of a `LatentModel` and those below; h is a tuple of arrays of latent
    units, `[B, K, H]`, with sizes as in `latent_sizes`.
    """

    @property
    @abc.abstractmethod
    def visible_emission(self) -> Emission:
        """How visible units emit: each by itself, or in groups."""

    @property
    @abc.abstractmethod
    def features(self) -> int:
        """The number of visible units."""

    @property
    @abc.abstractmethod
    def latent_sizes(self) -> tuple[int, ...]:
        """The numbers of latent units, from the layer next to the data upwards."""

    @abc.abstractmethod
    def exact_samples(self, *, masked: bool) -> int | None:
        """The K of which log p̂(x) is log p(x) itself, whatever the key; None if there is none."""

    @abc.abstractmethod
    def mean_p(self, key: Key[Array, ""], shape: int | tuple[int, ...]) -> Float[Array, "... D"]:
        """The probabilities with which the bits of dreams are drawn."""

    @abc.abstractmethod
    def with_visible_mean(self, mean: Float[Array, " D"]) -> "BitModel":
        """The same model with its visible bias at the log-odds of the data's mean.

        The mean should be smoothed: a column that is always 0 would give −∞.
        """

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """`latent_sizes`, and above them the hidden units of an undirected top."""
        return self.latent_sizes

    @property
    def groups(self) -> tuple[int, ...]:
        """The sizes of the groups of visible units; a bit by itself is a group of one."""
        return self.visible_emission.group_sizes or (1,) * self.features

    @property
    def groups_count(self) -> int:
        """G, how many groups there are."""
        return len(self.visible_emission.group_sizes or range(self.features))
