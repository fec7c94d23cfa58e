"""What a latent model is: K scored samples of q, dreams of p, and log q of given latents."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

Terms = tuple[Float[Array, "..."], ...]


class Draw(NamedTuple):
    """K samples from q for each example, scored by p and q term by term.

    Attributes:
        h: latents, any tree of arrays whose leading dimensions are B and K.
        log_p_terms: summands of log p(x, h), each `[B, K]`; in a Helmholtz machine
            log p₀(x | h₁), log p₁(h₁ | h₂), …, log p_L(h_L).
        log_q_terms: summands of log q(h | x), each `[B, K]`; none without latents.
    """

    h: Any
    log_p_terms: Terms
    log_q_terms: Terms

    @property
    def log_p(self) -> Float[Array, "B K"]:
        """log p(x, h_k)."""
        return sum(self.log_p_terms[1:], start=self.log_p_terms[0])

    @property
    def log_q(self) -> Float[Array, "B K"]:
        """log q(h_k | x)."""
        return sum(self.log_q_terms, start=jnp.zeros_like(self.log_p_terms[0]))

    @property
    def log_weights(self) -> Float[Array, "B K"]:
        """log ω_k = log p(x, h_k) − log q(h_k | x)."""
        return self.log_p - self.log_q


class LatentModel(eqx.Module):
    """A generative model p(x, h) with an inference model q(h | x).

    Estimators, training, validation, checkpoints and `log_likelihood` ask for nothing but
    what is declared here. x and h are arrays or trees of arrays with the examples in front.

    To write one: a module with its parameters as fields, and the four members below.
    """

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""], x: Any, samples: int) -> Draw:
        """K latents of q for each example, scored (the first half of Algorithm 1).

        The scores can be differentiated; no gradient flows through the latents themselves.
        """

    @abc.abstractmethod
    def dream(self, key: Key[Array, ""], count: int) -> tuple[Any, Any]:
        """(x, h) ~ p(x, h), `count` of them."""

    @abc.abstractmethod
    def log_q(self, h: Any, x: Any) -> Float[Array, "..."]:
        """log q(h | x) of given latents, such as a dream's."""

    @abc.abstractmethod
    def p_leaves(self) -> PyTree:
        """A tree of the model's structure: True at p's parameters, False at q's."""


def by_network(model: LatentModel, tree: PyTree) -> tuple[PyTree, PyTree]:
    """p's and q's part of a tree of the model's structure, such as its gradients."""
    p, q = eqx.partition(tree, model.p_leaves())
    return p, q
