"""The Helmholtz machine: a generative network p and an inference network q over binary layers."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.errors import UsageError
from wakesleep.layers import RBM, Distribution, Emission, Layer
from wakesleep.models.base import Draw, Terms
from wakesleep.models.bit_model import BitModel, Visible
from wakesleep.models.masked import Masked

Latents = tuple[Float[Array, "... _"], ...]

UNOBSERVED = 2**31 - 1
"""Folded into a draw's key for the visible groups that were not observed."""


class HelmholtzMachine(BitModel):
    """p(x, h) = p₀(x | h₁) p₁(h₁ | h₂) ⋯ p_L(h_L)  and  q(h | x) = q₁(h₁ | x) ⋯ q_L(h_L | h_{L−1}).

    The top p_L may be undirected (an RBM): then log p is known up to its normaliser everywhere
    here, and dreams begin with Gibbs sweeps. Without layers below it that is a plain RBM.

    Both tuples run from the data upwards: `p[0]` generates x, `p[-1]` is the top layer, and
    `q[0]` infers the latent layer next to the data. Latent values h are tuples in that order.

    Attributes:
        p: L + 1 layers; the last has no parents.
        q: L layers.
    """

    p: tuple[Distribution, ...]
    q: tuple[Layer, ...]

    def __check_init__(self) -> None:
        sizes = [layer.size for layer in self.p]
        if [layer.parents for layer in self.p] != [*sizes[1:], 0]:
            raise ValueError(f"p's layers of sizes {sizes} do not chain downwards from a top layer")
        parents = [layer.parents for layer in self.q]
        # A q that sees the mask of observed groups has so many parents more.
        if parents and parents[0] == sizes[0] + self.groups_count:
            parents[0] = sizes[0]
        if [layer.size for layer in self.q] != sizes[1:] or parents != sizes[:-1]:
            raise ValueError(f"q's layers do not chain upwards through sizes {sizes}")

    @property
    def features(self) -> int:
        """The number of visible units."""
        return self.p[0].size

    @property
    def latent_sizes(self) -> tuple[int, ...]:
        """The numbers of latent units, from the layer next to the data upwards."""
        return tuple(layer.size for layer in self.p[1:])

    @property
    def undirected(self) -> RBM | None:
        """The top layer where it is an RBM, with which log p lacks its normaliser."""
        top = self.p[-1]
        return top if isinstance(top, RBM) else None

    @property
    def visible(self) -> Layer:
        """The layer that generates x given h₁, unit by unit; a plain RBM has none."""
        layer = self.p[0]
        if not isinstance(layer, Layer):
            raise UsageError(
                "a plain RBM cannot sum over missing cells: put a layer below it, as in "
                "'dbn 50-20', or make missing a level (--missing level)"
            )
        return layer

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """`latent_sizes`, and above them the hidden units of an RBM."""
        return (*self.latent_sizes, *([self.undirected.units] if self.undirected else []))

    @property
    def visible_emission(self) -> Emission:
        """That of p's layer next to the data."""
        return self.p[0].emission

    def exact_samples(self, *, masked: bool) -> int | None:
        """One without latents, where nothing is drawn for missing cells either."""
        drawn = masked and not self.p[0].factorial
        return None if self.latent_sizes or drawn else 1

    @property
    def sees_mask(self) -> bool:
        """Whether q also sees which groups were observed."""
        return bool(self.q) and self.q[0].parents != self.features

    def draw(self, key: Key[Array, ""], x: Visible, samples: int) -> Draw:
        """K latents per example from q, scored layer by layer."""
        h, log_q_terms = self.sample_q_with_terms(key, x, samples)
        return Draw(h, self.joint_terms(key, x, h, samples), log_q_terms)

    def joint_terms(self, key: Key[Array, ""], x: Visible, h: Latents, samples: int) -> Terms:
        """log p₀(x | h₁), log p₁(h₁ | h₂), …, log p_L(h_L) of K latents per example.

        The key is for what is drawn in place of missing cells.
        """
        if isinstance(x, Masked):
            terms = self._observed_terms(key, x, h, samples)
            shape = (x.x.shape[0], samples)
        else:
            terms = self.log_joint_terms(x[:, None, :], h)
            shape = (x.shape[0], samples)
        return tuple(jnp.broadcast_to(term, shape) for term in terms)

    def _observed_terms(
        self, key: Key[Array, ""], x: Masked, h: Latents, samples: int
    ) -> tuple[Float[Array, "..."], ...]:
        """log p of what was observed given h₁, and log p of the latents.

        A missing group is drawn from its own conditional and contributes no term: where units are
        independent given h₁ that is exact marginalisation, elsewhere an unbiased weight.
        """
        layer, seen = self.visible, x.units(self.groups)[:, None, :] > 0
        parents = h[0] if h else jnp.zeros(0)
        pre, bits = layer.preactivations(parents), x.x[:, None, :]
        if layer.factorial:
            logits = layer.logits(bits, pre)
        else:
            drawn_key = jax.random.fold_in(key, UNOBSERVED)
            bits = jnp.broadcast_to(bits, (x.x.shape[0], samples, self.features))
            bits, logits = layer.draw_unobserved(drawn_key, bits, seen, pre)
        first = layer.log_prob_observed(bits, logits, seen)
        above = (*h[1:], jnp.zeros(0)) if h else ()
        rest = [p.log_prob(v, y) for p, v, y in zip(self.p[1:], h, above, strict=True)]
        return (first, *rest)

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
        return self._descend(keys[1:], self.p[-1].sample(keys[0], jnp.zeros(0), leading))

    def dream_below(
        self, key: Key[Array, ""], top: Float[Array, "... _"]
    ) -> tuple[Float[Array, "... D"], Latents]:
        """(x, h) whose topmost values are given, such as those of an RBM's chains."""
        return self._descend(jax.random.split(key, len(self.p) - 1), top)

    def dream_latents(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Latents:
        """h ~ p(h): dreams without the data they would give."""
        keys = jax.random.split(key, len(self.p) - 1)
        values = list[Array]()
        for layer, layer_key in zip(self.p[:0:-1], keys, strict=True):
            above = values[-1] if values else jnp.zeros(0)
            values.append(layer.sample(layer_key, above, shape))
        return tuple(reversed(values))

    def _descend(
        self, keys: Key[Array, " _"], top: Float[Array, "... _"]
    ) -> tuple[Float[Array, "... D"], Latents]:
        values = [top]
        for layer, layer_key in zip(self.p[-2::-1], keys, strict=True):
            values.append(layer.sample(layer_key, values[-1], top.shape[:-1]))
        x, *h = reversed(values)
        return x, tuple(h)

    def mean_p(self, key: Key[Array, ""], shape: int | tuple[int, ...]) -> Float[Array, "... D"]:
        """The pixel probabilities of dreams, as the paper's sample figures show them."""
        key_h, key_x = jax.random.split(key)
        leading = (shape,) if isinstance(shape, int) else shape
        _, h = self.dream(key_h, leading)
        return self.p[0].mean(key_x, h[0] if h else jnp.zeros(0), leading)

    def sample_q(self, key: Key[Array, ""], x: Visible, samples: int) -> Latents:
        """K samples h ~ q(h | x) for each example; layer l is `[B, K, H_l]`."""
        return self.sample_q_with_terms(key, x, samples)[0]

    def sample_q_with_terms(
        self, key: Key[Array, ""], x: Visible, samples: int
    ) -> tuple[Latents, Terms]:
        """K samples of h with each layer's log q(h_l | h_{l−1}), in one pass upwards."""
        h: list[Array] = []
        terms: list[Array] = []
        below = self.q_input(x)[:, None, :]
        shape = (below.shape[0], samples)
        for layer, layer_key in zip(self.q, jax.random.split(key, len(self.q)), strict=True):
            below, term = layer.sample_with_log_prob(layer_key, below, shape)
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

    def q_input(self, x: Visible) -> Float[Array, "... _"]:
        """What q sees of an example: its observed bits, and the mask if it sees one."""
        bits = x.x if isinstance(x, Masked) else x
        if not self.sees_mask:
            return bits
        everything = jnp.ones((*bits.shape[:-1], self.groups_count))
        observed = x.observed if isinstance(x, Masked) else everything
        return jnp.concatenate([bits, observed], axis=-1)

    def log_q_terms(self, h: Sequence[Float[Array, "... _"]], x: Visible) -> Terms:
        """log q₁(h₁ | x), …, log q_L(h_L | h_{L−1})."""
        below = (self.q_input(x), *h)[: len(h)]
        return tuple(
            layer.log_prob(value, parent)
            for layer, value, parent in zip(self.q, h, below, strict=True)
        )

    def log_joint(
        self, x: Float[Array, "... D"], h: Sequence[Float[Array, "... _"]]
    ) -> Float[Array, "..."]:
        """log p(x, h); for K samples give x as `[B, 1, D]` beside h `[B, K, H]`."""
        return sum(self.log_joint_terms(x, h), start=jnp.zeros(()))

    def log_q(self, h: Sequence[Float[Array, "... _"]], x: Visible) -> Float[Array, "..."]:
        """log q(h | x)."""
        return sum(self.log_q_terms(h, x), start=jnp.zeros(()))

    def with_visible_mean(self, mean: Float[Array, " D"]) -> "HelmholtzMachine":
        """The bias of p's layer next to the data."""
        bias = self.p[0].emission.bias_for(mean)
        return eqx.tree_at(lambda model: model.p[0], self, self.p[0].with_bias(bias))
