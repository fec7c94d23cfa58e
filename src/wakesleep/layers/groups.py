"""Units in groups of which one alone is 1: the levels of a category, the bins of a number.

A group of m > 1 units takes one of m values. Its units are asked in turn, each a Bernoulli with a
logit of its own, until one is 1; the last is 1 where none before it was. So

    P(level j) = σ(l_j) Π_{i<j} (1 − σ(l_i)),    P(level m) = Π_{i<m} (1 − σ(l_i)),

which sums to one, has as many free parameters as a softmax, and costs what m bits cost: the
kernels of single bits serve as they are. A unit that is asked has only zeros before it in its
group, so it never sees its group's others. A group of one unit is a plain bit.
"""

from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from wakesleep.errors import UsageError
from wakesleep.layers.emission import BERNOULLI, CERTAIN, Emission
from wakesleep.numerics import bernoulli_log_prob, logistic_noise


@dataclass(frozen=True)
class Groups(Emission):
    """Groups of units, in order; a group of more than one has exactly one 1.

    Attributes:
        sizes: how many units each has.
    """

    sizes: tuple[int, ...]

    @cached_property
    def starts(self) -> npt.NDArray[np.int32]:
        """For every unit, the first of its group, `[D]`."""
        first = np.cumsum((0, *self.sizes[:-1]))
        return np.repeat(first, self.sizes).astype(np.int32)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int32]:
        """For every unit, the number of its group, `[D]`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes).astype(np.int32)

    @cached_property
    def last(self) -> npt.NDArray[np.bool_]:
        """The units that are 1 if none before them in their group is, `[D]`."""
        ends = np.zeros(sum(self.sizes), bool)
        ends[np.cumsum(self.sizes) - 1] = np.asarray(self.sizes) > 1
        return ends

    @property
    def following(self) -> tuple[int, ...]:
        """The first unit of the next group."""
        return tuple(np.repeat(np.cumsum(self.sizes), self.sizes).tolist())

    @property
    def group_sizes(self) -> tuple[int, ...] | None:
        """As given."""
        return self.sizes

    def log_prob(
        self, x: Float[Array, "*#batch D"], logits: Float[Array, "*#batch D"]
    ) -> Float[Array, "*batch"]:
        """Of the units that were asked; the others are certain."""
        asked = (self._before(x) < 0.5) & ~self.last
        return bernoulli_log_prob(x, jnp.where(asked, logits, CERTAIN * (2 * x - 1)))

    def sample(
        self, key: Key[Array, ""], logits: Float[Array, "*_ D"], batch_shape: tuple[int, ...]
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """All groups at once: in each, the first unit whose logit is above its noise."""
        x = self.decide(logits, self.noise(key, (*batch_shape, logits.shape[-1])))
        return lax.stop_gradient(x), self.log_prob(x, logits)

    def noise(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Logistic noise, but for the last of a group, which is drawn whenever it is asked."""
        return jnp.where(self.last, -jnp.inf, logistic_noise(key, shape))

    def decide(
        self, logits: Float[Array, "*#batch D"], noise: Float[Array, "*batch D"]
    ) -> Float[Array, "*batch D"]:
        """The first of each group whose logit is above its noise."""
        above = (logits > noise).astype(logits.dtype)
        return above * (self._before(above) < 0.5)

    def mean(self, logits: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """The probability of each level."""
        log_no = self._sum_before(jax.nn.log_sigmoid(-logits))
        log_yes = jnp.where(self.last, 0.0, jax.nn.log_sigmoid(logits))
        return jnp.exp(log_no + log_yes)

    def bias_for(self, mean: Float[Array, " D"]) -> Float[Array, " D"]:
        """Log-odds of each level against those behind it in its group."""
        wanted, first = np.asarray(mean, np.float64), np.cumsum((0, *self.sizes[:-1]))
        single = (np.asarray(self.sizes) == 1)[self.numbers]
        totals = np.add.reduceat(wanted, first)[self.numbers]
        shares = np.where(single, wanted, wanted / totals)
        reached = np.cumsum(shares)
        behind = reached[first + self.sizes - 1][self.numbers] - reached
        behind = np.where(single, 1 - shares, np.maximum(behind, np.finfo(np.float32).tiny))
        rest = np.where(self.last, shares, behind)
        return jnp.asarray(np.log(shares) - np.log(rest), jnp.float32)

    def _before(self, x: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """How many units before each, in its group, are 1."""
        earlier = jnp.cumsum(x, axis=-1) - x
        return earlier - jnp.take(earlier, self.starts, axis=-1)

    def _sum_before(self, values: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """Sums over the units before each in its group, which restart with every group."""

        def join(
            left: tuple[Array, Bool[Array, "..."]], right: tuple[Array, Bool[Array, "..."]]
        ) -> tuple[Array, Array]:
            (a, starts_a), (b, starts_b) = left, right
            return jnp.where(starts_b, b, a + b), starts_a | starts_b

        begins = jnp.broadcast_to(self.starts == np.arange(len(self.starts)), values.shape)
        total, _ = lax.associative_scan(join, (values, begins), axis=-1)
        return total - values


def emission_of(sizes: tuple[int, ...] | None, features: int) -> Emission:
    """Bernoulli units where every group has one, groups elsewhere."""
    if sizes is None or all(size == 1 for size in sizes):
        return BERNOULLI
    if min(sizes) < 1 or sum(sizes) != features:
        raise UsageError(f"groups of {sum(sizes)} units do not make up {features} visible units")
    return Groups(tuple(sizes))
