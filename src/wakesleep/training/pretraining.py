"""Greedy pretraining of a deep belief network: one RBM after another.

The RBM of the data and h₁ is trained first; its two sides start p₀(x | h₁) and q₁(h₁ | x). The
next one is trained on samples of q₁, and so on up to the RBM that is p's top (Hinton, Osindero &
Teh 2006).
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from wakesleep.data import Dataset, PackedBits, as_bits
from wakesleep.errors import UsageError
from wakesleep.estimators.base import check_normalises
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.layers import RBM, SBN, Layer
from wakesleep.models import BitModel, HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.training.session import fit_model

PRETRAINING = 2**31 + 1
"""Folded into the seed's key for the samples that the next layer is trained on."""

ROWS_PER_CALL = 4096


def pretrained(model: BitModel, data: Dataset, recipe: Recipe, seed: int = 0) -> HelmholtzMachine:
    """The machine with its layers started by `recipe.pretrain` epochs each.

    Chains, sweeps, batches, optimiser and rates are the recipe's; the last parameters of each RBM
    are taken.
    """
    if (
        not isinstance(model, HelmholtzMachine)
        or model.undirected is None
        or not model.latent_sizes
        or not _is_plain(model)
    ):
        raise UsageError(
            "pretrain is for deep belief networks of SBN layers on whole rows of bits, as "
            "'dbn 2000-500'"
        )
    check_normalises(recipe.estimator, model)
    key = jax.random.fold_in(jax.random.key(seed), PRETRAINING)
    alone = dataclasses.replace(
        recipe,
        epochs=recipe.pretrain,
        pretrain=0,
        phases=(),
        estimator=dataclasses.replace(recipe.estimator, samples=1),
    )
    bits = as_bits(data.train, "training set")
    p, q = list(model.p), list(model.q)
    for level in range(len(q)):
        below, above = p[level], q[level]
        assert isinstance(above, SBN)
        rbm = _trained(RBM(above.W, below.bias, above.b), bits, alone, seed)
        p[level], q[level] = SBN(rbm.W.T, rbm.b, below.emission), SBN(rbm.W, rbm.c)
        bits = _samples(q[level], bits, jax.random.fold_in(key, level))
    p[-1] = _trained(model.undirected, bits, alone, seed)
    return HelmholtzMachine(tuple(p), tuple(q))


def _is_plain(model: HelmholtzMachine) -> bool:
    """Whether two sides of an RBM make each pair of layers."""
    plain = all(type(layer) is SBN for layer in (*model.p[:-1], *model.q))
    return plain and not model.sees_mask and model.p[0].emission.group_sizes is None


def _trained(rbm: RBM, bits: PackedBits, recipe: Recipe, seed: int) -> RBM:
    nothing = bits.take([])
    data = Dataset("pretraining", bits, nothing, nothing, binarisation="samples")
    model = fit_model(HelmholtzMachine((rbm,), ()), data, recipe, seed=seed, progress=False).model
    assert isinstance(model, HelmholtzMachine)
    trained = model.undirected
    assert trained is not None
    return trained


def _samples(layer: Layer, bits: PackedBits, key: Key[Array, ""]) -> PackedBits:
    """One draw of the layer for every row."""

    def draw(block: Block) -> tuple[Array]:
        rows = jnp.asarray(bits[block.filled], jnp.float32)
        return (_draw(layer, jax.random.fold_in(key, block.number), rows),)

    (drawn,) = Blocks(len(bits), ROWS_PER_CALL).map(draw)
    return PackedBits.pack(drawn.astype(np.uint8))


@eqx.filter_jit
def _draw(layer: Layer, key: Key[Array, ""], rows: Float[Array, "B D"]) -> Float[Array, "B H"]:
    return layer.sample(key, rows)
