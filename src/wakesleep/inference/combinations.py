"""All combinations of the samples that were drawn for each layer (Massively Parallel RWS).

q draws h_l^k for k = 1, …, K, layer after layer. The plain estimate of p(x) takes K of them, each
sample above its own parent. All K^L choices of one sample for each layer are states as well. With

    q̄_1(h) = q_1(h | x)  and  q̄_{l+1}(h) = (1/K) Σ_i q_{l+1}(h | h_l^i)

the mean over all of them,

    p̂(x) = K^−L Σ_{k_1 … k_L} p_0(x | h_1) / q̄_1(h_1) · p_1(h_1 | h_2) / q̄_2(h_2) ⋯ p_L(h_L),

is p(x) on average: given the layers below, the K samples of a layer are a stratified sample of q̄.
A chain of K x K matrices sums it. In a layer of independent units such a matrix is one product.

Training takes them where they cost matrix products alone (`are_products`).

Heap & Aitchison, "Massively parallel reweighted wake-sleep", UAI 2023.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from wakesleep.layers import BERNOULLI, Distribution, Layer
from wakesleep.models.base import Draw, LatentModel
from wakesleep.models.helmholtz import HelmholtzMachine, Latents
from wakesleep.numerics import log_mean_exp

Pairs = tuple[Float[Array, "B K K"], ...]


class Combinations(NamedTuple):
    """What p and q say of every sample, and of every two samples of neighbouring layers.

    Attributes:
        log_p_x: log p₀(x | h₁ⁱ), `[B, K]`.
        log_p_pairs: for l = 1, …, L − 1, log p_l(h_lⁱ | h_{l+1}ʲ) at `[:, i, j]`.
        log_p_top: log p_L(h_Lʲ), `[B, K]`.
        log_q_first: log q₁(h₁ⁱ | x), `[B, K]`.
        log_q_pairs: for l = 1, …, L − 1, log q_{l+1}(h_{l+1}ʲ | h_lⁱ) at `[:, i, j]`.
    """

    log_p_x: Float[Array, "B K"]
    log_p_pairs: Pairs
    log_p_top: Float[Array, "B K"]
    log_q_first: Float[Array, "B K"]
    log_q_pairs: Pairs

    def as_drawn(self, h: Latents) -> Draw:
        """The samples by themselves, each above its own parent."""
        p, q = (
            tuple(jnp.diagonal(each, axis1=-2, axis2=-1) for each in pairs)
            for pairs in (self.log_p_pairs, self.log_q_pairs)
        )
        return Draw(h, (self.log_p_x, *p, self.log_p_top), (self.log_q_first, *q))


def are_products(model: LatentModel) -> bool:
    """Whether there are several latent layers, and every two of their samples cost a product.

    Autoregressive layers score K² pairs one by one, and with one latent layer there are none.
    """
    if not isinstance(model, HelmholtzMachine) or len(model.q) < 2:
        return False
    return all(_is_product(layer) for layer in (*model.p[1:-1], *model.q[1:]))


def combine(machine: HelmholtzMachine, drawn: Draw) -> Combinations:
    """Score every two samples of neighbouring layers; for machines with latents."""
    below, above = drawn.h[:-1], drawn.h[1:]
    p_layers, q_layers = machine.p[1:-1], machine.q[1:]
    return Combinations(
        drawn.log_p_terms[0],
        tuple(_pairs(layer, x, y) for layer, x, y in zip(p_layers, below, above, strict=True)),
        drawn.log_p_terms[-1],
        drawn.log_q_terms[0],
        tuple(
            jnp.swapaxes(_pairs(layer, x, y), -1, -2)
            for layer, x, y in zip(q_layers, above, below, strict=True)
        ),
    )


def combined_log_likelihood(each: Combinations) -> Float[Array, " B"]:
    """log p̂(x), over all combinations."""
    rest = each.log_p_top
    for log_p, log_q in zip(reversed(each.log_p_pairs), reversed(each.log_q_pairs), strict=True):
        proposed = log_mean_exp(jnp.swapaxes(log_q, -1, -2))
        rest = log_mean_exp(log_p + (rest - proposed)[:, None, :])
    return log_mean_exp(each.log_p_x - each.log_q_first + rest)


def combined_objective(
    each: Combinations, wake_p: float | int, wake_q: float | int
) -> tuple[Float[Array, ""], Float[Array, " B"]]:
    """wake_p · log p(x, h) + wake_q · log q(h | x), averaged over all combinations by weight.

    The weights are constants of the gradient: a pair's is the sum over the combinations that it
    is part of, which is the derivative of log p̂(x) with respect to its log p. Returns log p̂(x) too.
    """
    fixed = lax.stop_gradient(each)
    log_likelihood, pull_back = jax.vjp(combined_log_likelihood, fixed)
    (share,) = pull_back(jnp.ones_like(log_likelihood))

    def weighted(shares: tuple[Array, ...], terms: tuple[Array, ...]) -> Float[Array, ""]:
        sums = [(share * term).sum() for share, term in zip(shares, terms, strict=True)]
        return jnp.stack(sums).sum() / log_likelihood.shape[0]

    objective = jnp.zeros(())
    if wake_p:
        shares = (share.log_p_x, *share.log_p_pairs, share.log_p_top)
        objective += wake_p * weighted(shares, (each.log_p_x, *each.log_p_pairs, each.log_p_top))
    if wake_q:
        shares = (share.log_p_x, *share.log_p_pairs)
        objective += wake_q * weighted(shares, (each.log_q_first, *each.log_q_pairs))
    return objective, log_likelihood


def _pairs(
    layer: Distribution, x: Float[Array, "B K D"], y: Float[Array, "B K C"]
) -> Float[Array, "B K K"]:
    """log P(xⁱ | yʲ) at `[:, i, j]`."""
    if not _is_product(layer):
        return layer.log_prob(x[:, :, None, :], y[:, None, :, :])
    assert isinstance(layer, Layer)
    # Σ_d x_d l_d − log(1 + exp l_d): one matrix product for all pairs.
    logits = layer.logits(x, layer.preactivations(y))
    silent = jax.nn.softplus(logits).sum(-1)
    return jnp.einsum("bid,bjd->bij", x, logits) - silent[:, None, :]


def _is_product(layer: Distribution) -> bool:
    return isinstance(layer, Layer) and layer.factorial and layer.emission == BERNOULLI
