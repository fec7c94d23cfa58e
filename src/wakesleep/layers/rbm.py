"""The restricted Boltzmann machine: an undirected prior, known up to its normaliser."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep.layers.distribution import Distribution, Map, Preactivations
from wakesleep.layers.emission import BERNOULLI, Emission
from wakesleep.layers.initialisation import Initialisation
from wakesleep.numerics import affine, bernoulli_sample, softplus
from wakesleep.options import Rule, Whole

SWEEPS = 1000
"""Gibbs sweeps from random starts to a sample, where no chain is at hand to go on from."""


class RBM(Distribution):
    """P(x) = (1/Z) Σ_u exp(b·x + u·(W x + c)), with binary hidden units u.

    The hidden units are summed out, so that

        log P(x) = b·x + Σ_j log(1 + exp(W_j x + c_j)) − log Z.

    `log_prob` is that without log Z, the negative free energy: Z is the same for every x and
    cancels where weights are normalised. Given x the hidden units are independent and given
    them so is x, which is all that block Gibbs sampling needs. No chain is kept here: `sample`
    takes `SWEEPS` sweeps from random bits.

    Attributes:
        W: weights, `[U, D]`.
        b: biases of the units, `[D]`.
        c: biases of the hidden units, `[U]`.
        emission: how units emit, which is one by one.
    """

    W: Float[Array, "U D"]
    b: Float[Array, " D"]
    c: Float[Array, " U"]
    emission: Emission = eqx.field(static=True, default=BERNOULLI)

    factorial: ClassVar[bool] = False
    option_rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({"units": Whole(least=1)})

    @classmethod
    def create(
        cls,
        key: Key[Array, ""],
        size: int,
        parents: int,
        init: Initialisation,
        units: int | None = None,
    ) -> "RBM":
        """Initial parameters; as many hidden units as there are others unless given."""
        del parents
        hidden = units or size
        bias = jnp.full(size, init.factorial_bias, jnp.float32)
        return cls(init.weights(key, hidden, size), bias, jnp.zeros(hidden))

    @property
    def units(self) -> int:
        """U, the number of hidden units."""
        return self.c.shape[0]

    @property
    def bias(self) -> Any:
        """The leaf b."""
        return self.b

    @property
    def parent_maps(self) -> tuple[Map, ...]:
        """b alone: an RBM has no parents."""
        return ((jnp.zeros((self.b.shape[0], 0)), self.b),)

    def log_prob_given(
        self, x: Float[Array, "*#batch D"], pre: Preactivations
    ) -> Float[Array, "*batch"]:
        """log P(x) + log Z; x is a constant of its gradient."""
        bits = lax.stop_gradient(x)
        return (bits * pre[0]).sum(-1) + softplus(self.hidden_logits(bits)).sum(-1)

    def sample_pass(
        self, key: Key[Array, ""], pre: Preactivations, batch_shape: tuple[int, ...]
    ) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch"]]:
        """x after `SWEEPS` Gibbs sweeps from random bits, and log P(x) + log Z."""
        key_start, key_chain = jax.random.split(key)
        start = jax.random.bernoulli(key_start, 0.5, (*batch_shape, self.size))
        x = self.gibbs(key_chain, start.astype(jnp.float32), SWEEPS)
        return x, self.log_prob_given(x, pre)

    def mean(
        self,
        key: Key[Array, ""],
        y: Float[Array, "*_ C"],
        shape: tuple[int, ...] | None = None,
    ) -> Float[Array, "*batch D"]:
        """P(x_i = 1 | u) for hidden units u of a fresh sample."""
        key_x, key_u = jax.random.split(key)
        x = self.sample(key_x, y, shape)
        return jax.nn.sigmoid(self.visible_logits(self.sample_hidden(key_u, x)))

    def hidden_logits(self, x: Float[Array, "*batch D"]) -> Float[Array, "*batch U"]:
        """The logits of P(u_j = 1 | x)."""
        return affine(x, self.W, self.c)

    def hidden_mean(self, x: Float[Array, "*batch D"]) -> Float[Array, "*batch U"]:
        """P(u_j = 1 | x)."""
        return jax.nn.sigmoid(self.hidden_logits(x))

    def visible_logits(self, u: Float[Array, "*batch U"]) -> Float[Array, "*batch D"]:
        """The logits of P(x_i = 1 | u)."""
        return affine(u, self.W.T, self.b)

    def sample_hidden(
        self, key: Key[Array, ""], x: Float[Array, "*batch D"]
    ) -> Float[Array, "*batch U"]:
        """u ~ P(u | x)."""
        return bernoulli_sample(key, self.hidden_logits(x), x.shape[:-1])[0]

    def gibbs(
        self, key: Key[Array, ""], x: Float[Array, "*batch D"], sweeps: int
    ) -> Float[Array, "*batch D"]:
        """The chains after so many sweeps u ~ P(u | x), x ~ P(x | u); no gradient flows through."""
        fixed = lax.stop_gradient(self)

        def sweep(i: Array, x: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
            key_u, key_x = jax.random.split(jax.random.fold_in(key, i))
            logits = fixed.visible_logits(fixed.sample_hidden(key_u, x))
            return bernoulli_sample(key_x, logits, x.shape[:-1])[0]

        return lax.fori_loop(0, sweeps, sweep, lax.stop_gradient(x))
