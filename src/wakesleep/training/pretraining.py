"""Greedy pretraining of a deep belief network: one RBM after another.

The RBM of the data and h₁ is trained first; its two sides start p₀(x | h₁) and q₁(h₁ | x). The
next one is trained on samples of q₁, and so on up to the RBM that is p's top (Hinton, Osindero &
Teh 2006).
"""

import dataclasses
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from wakesleep.data import Dataset, PackedBits, as_bits
from wakesleep.errors import UsageError, WakesleepError
from wakesleep.estimators.base import check_normalises
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.layers import RBM, SBN, Layer
from wakesleep.models import HelmholtzMachine, LatentModel
from wakesleep.recipe import Recipe
from wakesleep.training.events import EpochDone, Event, Observer, PretrainingEpoch, Watched
from wakesleep.training.session import fit_model

PRETRAINING = 2**31 + 1
"""Folded into the seed's key for the samples that the next layer is trained on."""

ROWS_PER_CALL = 4096


class PretrainingStoppedError(WakesleepError):
    """Pretraining was asked to stop before its end."""

    def __init__(self) -> None:
        super().__init__(
            "stopped in pretraining, of which nothing is kept outside a run folder: "
            "ws.fit_run and `wakesleep train` go on where they stopped"
        )


def pretrained(
    model: LatentModel,
    data: Dataset,
    recipe: Recipe,
    seed: int = 0,
    watched: Watched | None = None,
) -> HelmholtzMachine:
    """The machine with its layers started by `recipe.pretrain` epochs each.

    Chains, sweeps, batches, optimiser and rates are the recipe's; the last parameters of each RBM
    are taken. Raises `PretrainingStoppedError` when it is stopped.
    """
    machine = pretrainable(model, recipe)
    key = jax.random.fold_in(jax.random.key(seed), PRETRAINING)
    stack = _Stack(len(machine.q) + 1, _alone(recipe), seed, watched or Watched())
    bits = as_bits(data.train, "training set")
    p, q = list(machine.p), list(machine.q)
    for level in range(len(q)):
        below, above = p[level], q[level]
        assert isinstance(above, SBN)
        rbm = stack.trained(level + 1, RBM(above.W, below.bias, above.b), bits)
        p[level], q[level] = SBN(rbm.W.T, rbm.b, below.emission), SBN(rbm.W, rbm.c)
        bits = _samples(q[level], bits, jax.random.fold_in(key, level))
    top = machine.undirected
    assert top is not None
    p[-1] = stack.trained(stack.layers, top, bits)
    return HelmholtzMachine(tuple(p), tuple(q))


def pretrainable(model: LatentModel, recipe: Recipe) -> HelmholtzMachine:
    """The model itself, if it can be pretrained; a `UsageError` if not."""
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
    return model


def _is_plain(model: HelmholtzMachine) -> bool:
    """Whether two sides of an RBM make each pair of layers."""
    plain = all(type(layer) is SBN for layer in (*model.p[:-1], *model.q))
    return plain and not model.sees_mask and model.p[0].emission.group_sizes is None


def _alone(recipe: Recipe) -> Recipe:
    """How each of the RBMs is trained."""
    return dataclasses.replace(
        recipe,
        epochs=recipe.pretrain,
        pretrain=0,
        phases=(),
        estimator=dataclasses.replace(recipe.estimator, samples=1),
    )


@dataclass(frozen=True)
class _Stack:
    layers: int
    recipe: Recipe
    seed: int
    watched: Watched

    def trained(self, layer: int, rbm: RBM, bits: PackedBits) -> RBM:
        if self.watched.should_stop():
            raise PretrainingStoppedError
        nothing = bits.take([])
        data = Dataset("pretraining", bits, nothing, nothing, binarisation="samples")
        keeper = self.watched.keeper
        result = fit_model(
            HelmholtzMachine((rbm,), ()),
            data,
            self.recipe,
            seed=self.seed,
            observers=(self._tell(layer), *([keeper.observer(layer)] if keeper else [])),
            resume=keeper.newest(layer, self.recipe, bits) if keeper else None,
            should_stop=self.watched.should_stop,
            progress=False,
        )
        if not result.snapshot.finished:
            raise PretrainingStoppedError
        assert isinstance(result.model, HelmholtzMachine)
        trained = result.model.undirected
        assert trained is not None
        return trained

    def _tell(self, layer: int) -> Observer:
        def tell(event: Event) -> None:
            if isinstance(event, EpochDone):
                for observer in self.watched.observers:
                    observer(PretrainingEpoch(layer, self.layers, event.record))

        return tell


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
