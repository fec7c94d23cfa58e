"""Mixtures: several Helmholtz machines on the same visible units, as one model."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Key, PyTree

from wakesleep.errors import UsageError
from wakesleep.layers import Emission
from wakesleep.models.base import Draw
from wakesleep.models.bit_model import BitModel, Visible
from wakesleep.models.helmholtz import HelmholtzMachine, Latents

MOST_COMPONENTS = 100


class Mixture(BitModel):
    """p(x) = Σ_c π_c p_c(x): each row comes from one of the components, chosen by weight.

    The components are trained by themselves; `ws.mix` puts them together. As a latent model its
    latents are those of all components, each drawn from its own q. The joint distribution that
    goes with that,

        p(x, h) = Σ_c π_c p_c(x, h_c) Π_{d≠c} q_d(h_d | x),

    sums to p(x), and its importance weight is Σ_c π_c p_c(x, h_c) / q_c(h_c | x).

    Attributes:
        components: machines with the same visible units in the same groups.
        log_weights: log π_c up to a common constant, `[C]`.

    >>> import jax, wakesleep as ws
    >>> keys = jax.random.split(jax.random.key(0))
    >>> parts = [ws.build(f"nade(order={i})", features=4, key=key) for i, key in enumerate(keys)]
    >>> mixture = ws.Mixture(parts, [0.0, 0.0])
    >>> ws.describe(mixture)
    'mixture of 2: nade; nade(order=1)'
    """

    components: tuple[HelmholtzMachine, ...]
    log_weights: Float[Array, " C"]

    def __init__(self, components: Sequence[HelmholtzMachine], log_weights: Any):
        """Take the machines, and their log weights as an array."""
        self.components = tuple(components)
        self.log_weights = jnp.asarray(log_weights, jnp.float32)

    def __check_init__(self) -> None:
        if not 0 < len(self.components) <= MOST_COMPONENTS:
            raise UsageError(
                f"a mixture has from 1 to {MOST_COMPONENTS} components, not {len(self.components)}"
            )
        if not all(isinstance(each, HelmholtzMachine) for each in self.components):
            raise UsageError("the components of a mixture must be Helmholtz machines")
        if any(each.undirected for each in self.components):
            raise UsageError(
                "a machine with an undirected top cannot be a component of a mixture, because its "
                "log Z is only estimated: mix machines whose tops are directed"
            )
        if self.log_weights.shape != (len(self.components),):
            raise UsageError(
                f"a mixture of {len(self.components)} components needs as many log weights, not "
                f"an array of shape {self.log_weights.shape}"
            )
        if len({each.groups for each in self.components}) > 1:
            raise UsageError(
                "the components of a mixture must have the same visible units in the same groups"
            )

    @property
    def features(self) -> int:
        """The number of visible units."""
        return self.components[0].features

    @property
    def visible_emission(self) -> Emission:
        """That of every component."""
        return self.components[0].visible_emission

    def exact_samples(self, *, masked: bool) -> int | None:
        """None: every component has a number of its own."""
        del masked
        return None

    def with_visible_mean(self, mean: Float[Array, " D"]) -> "Mixture":
        """The mixture of the components with that mean."""
        return Mixture([each.with_visible_mean(mean) for each in self.components], self.log_weights)

    @property
    def latent_sizes(self) -> tuple[int, ...]:
        """The numbers of latent units of all components, one after another."""
        return tuple(size for each in self.components for size in each.latent_sizes)

    @property
    def log_proportions(self) -> Float[Array, " C"]:
        """log π_c, whose exponentials sum to one."""
        return jax.nn.log_softmax(self.log_weights)

    def draw(self, key: Key[Array, ""], x: Visible, samples: int) -> Draw:
        """K latents of every component for each example; `h` is a tuple of machines' latents."""
        keys = jax.random.split(key, len(self.components))
        draws = [
            each.draw(part, x, samples) for each, part in zip(self.components, keys, strict=True)
        ]
        log_q = sum((draw.log_q for draw in draws[1:]), start=draws[0].log_q)
        # The q in p's terms are constants of its gradient, as a model's log p must not move q.
        fixed = [draw.log_p - lax.stop_gradient(draw.log_q) for draw in draws]
        weights = jnp.stack(fixed, axis=-1) + self.log_proportions
        log_p = lax.stop_gradient(log_q) + jax.nn.logsumexp(weights, axis=-1)
        return Draw(tuple(draw.h for draw in draws), (log_p,), (log_q,))

    def dream(
        self, key: Key[Array, ""], count: int | tuple[int, ...]
    ) -> tuple[Float[Array, "... D"], tuple[Latents, ...]]:
        """(x, h) ~ p(x, h): x and its latents from one component, the others' latents from q."""
        leading = (count,) if isinstance(count, int) else count
        key_choice, key_dream, key_q = jax.random.split(key, 3)
        chosen, dreams = self._each(key_choice, key_dream, leading)
        x = _chosen_rows(chosen, [dream[0] for dream in dreams])
        rows = x.reshape(-1, self.features)
        h = []
        for c, (each, (_, own)) in enumerate(zip(self.components, dreams, strict=True)):
            others = each.sample_q(jax.random.fold_in(key_q, c), rows, 1)
            pairs = zip(own, others, strict=True)
            is_own = (chosen == c)[..., None]
            h.append(tuple(jnp.where(is_own, a, b.reshape(a.shape)) for a, b in pairs))
        return x, tuple(h)

    def mean_p(self, key: Key[Array, ""], shape: int | tuple[int, ...]) -> Float[Array, "... D"]:
        """The probabilities that each bit of a dream is drawn with in its own component."""
        leading = (shape,) if isinstance(shape, int) else shape
        key_choice, key_means = jax.random.split(key)
        chosen = self.choose(key_choice, leading)
        keys = jax.random.split(key_means, len(self.components))
        pairs = zip(self.components, keys, strict=True)
        return _chosen_rows(chosen, [each.mean_p(part, leading) for each, part in pairs])

    def choose(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Int[Array, "..."]:
        """The numbers of components, drawn by weight."""
        return jax.random.categorical(key, self.log_proportions, shape=shape)

    def log_q(self, h: Any, x: Visible) -> Float[Array, "..."]:
        """log q(h | x), over the latents of all components."""
        pairs = zip(self.components, h, strict=True)
        return sum((each.log_q(own, x) for each, own in pairs), start=jnp.zeros(()))

    def p_leaves(self) -> PyTree:
        """True in the components' p and for their weights, False in their q."""
        marks = tuple(each.p_leaves() for each in self.components), True
        return eqx.tree_at(lambda mixture: (mixture.components, mixture.log_weights), self, marks)

    def _each(
        self, key_choice: Key[Array, ""], key_dream: Key[Array, ""], leading: tuple[int, ...]
    ) -> tuple[Int[Array, "..."], list[tuple[Array, Latents]]]:
        """Which component every row is from, and as many dreams of each."""
        keys = jax.random.split(key_dream, len(self.components))
        pairs = zip(self.components, keys, strict=True)
        return self.choose(key_choice, leading), [each.dream(part, leading) for each, part in pairs]


def _chosen_rows(
    chosen: Int[Array, "..."], each: Sequence[Float[Array, "... D"]]
) -> Float[Array, "... D"]:
    """Every row from the component that was chosen for it."""
    rows = each[0]
    for number, others in enumerate(each[1:], start=1):
        rows = jnp.where((chosen == number)[..., None], others, rows)
    return rows
