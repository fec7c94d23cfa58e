"""The Helmholtz machine: a generative network p and an inference network q over binary layers."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree, UInt8

from wakesleep.layers import Layer
from wakesleep.models.base import Draw, LatentModel, Terms

Latents = tuple[Float[Array, "... _"], ...]


class HelmholtzMachine(LatentModel):
    """p(x, h) = p₀(x | h₁) p₁(h₁ | h₂) ⋯ p_L(h_L)  and  q(h | x) = q₁(h₁ | x) ⋯ q_L(h_L | h_{L−1}).

    Both tuples run from the data upwards: `p[0]` generates x, `p[-1]` is the top layer, and
    `q[0]` infers the latent layer next to the data. Latent values h are tuples in that order.

    Attributes:
        p: L + 1 layers; the last has no parents.
        q: L layers.
    """

    p: tuple[Layer, ...]
    q: tuple[Layer, ...]

    def __check_init__(self) -> None:
        sizes = [layer.size for layer in self.p]
        if [layer.parents for layer in self.p] != [*sizes[1:], 0]:
            raise ValueError(f"p's layers of sizes {sizes} do not chain downwards from a top layer")
        if [(layer.size, layer.parents) for layer in self.q] != list(
            zip(sizes[1:], sizes, strict=False)
        ):
            raise ValueError(f"q's layers do not chain upwards through sizes {sizes}")

    @property
    def features(self) -> int:
        """The number of visible units."""
        return self.p[0].size

    @property
    def latent_sizes(self) -> tuple[int, ...]:
        """The numbers of latent units, from the layer next to the data upwards."""
        return tuple(layer.size for layer in self.p[1:])

    def draw(self, key: Key[Array, ""], x: Float[Array, "B D"], samples: int) -> Draw:
        """K latents per example from q, scored layer by layer."""
        h, log_q_terms = self.sample_q_with_terms(key, x, samples)
        shape = (x.shape[0], samples)
        terms = self.log_joint_terms(x[:, None, :], h)
        return Draw(h, tuple(jnp.broadcast_to(term, shape) for term in terms), log_q_terms)

    def p_leaves(self) -> PyTree:
        """True in p's layers, False in q's."""
        marks = jax.tree.map(lambda _: True, self.p), jax.tree.map(lambda _: False, self.q)
        return eqx.tree_at(lambda machine: (machine.p, machine.q), self, marks)

    def dream(
        self, key: Key[Array, ""], count: int | tuple[int, ...]
    ) -> tuple[Float[Array, "... D"], Latents]:
        """(x, h) ~ p(x, h) by ancestral sampling from the top; `count` may be a leading shape."""
        keys = jax.random.split(key, len(self.p))
        leading = (count,) if isinstance(count, int) else count
        values: list[Array] = []
        parents = jnp.zeros(0)
        for layer, layer_key in zip(reversed(self.p), keys, strict=True):
            parents = layer.sample(layer_key, parents, leading)
            values.append(parents)
        x, *h = reversed(values)
        return x, tuple(h)

    def mean_p(self, key: Key[Array, ""], shape: int | tuple[int, ...]) -> Float[Array, "... D"]:
        """The pixel probabilities of dreams, as the paper's sample figures show them."""
        key_h, key_x = jax.random.split(key)
        leading = (shape,) if isinstance(shape, int) else shape
        _, h = self.dream(key_h, leading)
        return self.p[0].mean(key_x, h[0] if h else jnp.zeros(0), leading)

    def sample_q(self, key: Key[Array, ""], x: Float[Array, "B D"], samples: int) -> Latents:
        """K samples h ~ q(h | x) for each example; layer l is `[B, K, H_l]`."""
        return self.sample_q_with_terms(key, x, samples)[0]

    def sample_q_with_terms(
        self, key: Key[Array, ""], x: Float[Array, "B D"], samples: int
    ) -> tuple[Latents, Terms]:
        """K samples of h with each layer's log q(h_l | h_{l−1}), in one pass upwards."""
        h: list[Array] = []
        terms: list[Array] = []
        below = x[:, None, :]
        for layer, layer_key in zip(self.q, jax.random.split(key, len(self.q)), strict=True):
            below, term = layer.sample_with_log_prob(layer_key, below, (x.shape[0], samples))
            h.append(below)
            terms.append(term)
        return tuple(h), tuple(terms)

    def log_joint_terms(
        self, x: Float[Array, "... D"], h: Sequence[Float[Array, "... _"]]
    ) -> Terms:
        """log p₀(x | h₁), log p₁(h₁ | h₂), …, log p_L(h_L)."""
        values = (x, *h)
        parents = (*h, jnp.zeros(0))
        return tuple(
            layer.log_prob(value, parent)
            for layer, value, parent in zip(self.p, values, parents, strict=True)
        )

    def log_q_terms(self, h: Sequence[Float[Array, "... _"]], x: Float[Array, "... D"]) -> Terms:
        """log q₁(h₁ | x), …, log q_L(h_L | h_{L−1})."""
        below = (x, *h)[: len(h)]
        return tuple(
            layer.log_prob(value, parent)
            for layer, value, parent in zip(self.q, h, below, strict=True)
        )

    def log_joint(
        self, x: Float[Array, "... D"], h: Sequence[Float[Array, "... _"]]
    ) -> Float[Array, "..."]:
        """log p(x, h); for K samples give x as `[B, 1, D]` beside h `[B, K, H]`."""
        return sum(self.log_joint_terms(x, h), start=jnp.zeros(()))

    def log_q(
        self, h: Sequence[Float[Array, "... _"]], x: Float[Array, "... D"]
    ) -> Float[Array, "..."]:
        """log q(h | x)."""
        return sum(self.log_q_terms(h, x), start=jnp.zeros(()))

    def with_visible_mean(self, mean: Float[Array, " D"]) -> "HelmholtzMachine":
        """The same machine with p's visible bias at the log-odds of the data's mean.

        The mean should be smoothed: a column that is always 0 would give −∞.
        """
        log_odds = jnp.log(mean) - jnp.log1p(-mean)
        return eqx.tree_at(lambda model: model.p[0], self, self.p[0].with_bias(log_odds))


def sample(model: HelmholtzMachine, n: int, *, key: Key[Array, ""]) -> UInt8[np.ndarray, "n D"]:
    """Draw n vectors of bits from the model."""
    x, _ = eqx.filter_jit(HelmholtzMachine.dream)(model, key, n)
    return np.asarray(x, np.uint8)


def sample_means(
    model: HelmholtzMachine, n: int, *, key: Key[Array, ""]
) -> Float[np.ndarray, "n D"]:
    """The probabilities that the bits of n samples are drawn with, as the paper's figures show."""
    return np.asarray(eqx.filter_jit(HelmholtzMachine.mean_p)(model, key, n))
