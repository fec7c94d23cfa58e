"""The arithmetic that a training step and an evaluation cannot do without.

Only products of weights count, as two FLOPs a weight and row; random bits, sigmoids, logarithms
and the optimiser are time and not work. An SBN's work is matrix products; that of an AR-SBN and
a NADE is as much arithmetic in another order, so divided by the machine's matrix-multiply rate
it is the time that no order of doing it can beat.
"""

from functools import cache

import jax

from wakesleep.architecture import build
from wakesleep.layers.ar_sbn import ARSBN
from wakesleep.layers.base import Layer
from wakesleep.layers.nade import NADE
from wakesleep.layers.sbn import SBN
from wakesleep.models import HelmholtzMachine


def own_weights(layer: Layer) -> tuple[int, int]:
    """Weights among a layer's own units that a row is multiplied by, forwards and backwards.

    A zero adds nothing to a NADE's hidden layer, so W hardly counts; V does, three times where
    the layer learns: for the logits, for its own gradient and for the hidden layer's.
    """
    if isinstance(layer, SBN):
        return 0, 0
    if isinstance(layer, ARSBN):
        return layer.S.size // 2, layer.S.size // 2
    if isinstance(layer, NADE):
        return layer.V.size, 2 * layer.V.size
    raise ValueError(f"the work of a {type(layer).__name__} is not known here")


def forwards(layer: Layer, rows: int, parent_rows: int) -> int:
    """FLOPs of drawing or scoring `rows`, whose parents are fewer where samples share them."""
    return 2 * (parent_weights(layer) * parent_rows + own_weights(layer)[0] * rows)


def learning(layer: Layer, rows: int, parent_rows: int) -> int:
    """FLOPs of scoring them and of the gradients of its weights."""
    backwards = 2 * (parent_weights(layer) * parent_rows + own_weights(layer)[1] * rows)
    return forwards(layer, rows, parent_rows) + backwards


def parent_weights(layer: Layer) -> int:
    return sum(weights.size for weights, _ in layer.parent_maps)


@cache
def machine(architecture: str, features: int) -> HelmholtzMachine:
    return build(architecture, features, key=jax.random.key(0))


def step_flops(architecture: str, features: int, batch: int, samples: int) -> int:
    """Of one step: wake-p, wake-q, and sleep-q with one dream per example."""
    model, wake = machine(architecture, features), batch * samples
    p = sum(learning(layer, wake, wake) + forwards(layer, batch, batch) for layer in model.p)
    q = sum(
        learning(layer, wake, parent_rows) + learning(layer, batch, batch)
        for layer, parent_rows in _with_parent_rows(model, batch, samples)
    )
    return p + q


def evaluation_flops(architecture: str, features: int, batch: int, samples: int) -> int:
    """Of log p̂(x) with K samples for each example."""
    model, drawn = machine(architecture, features), batch * samples
    p = sum(forwards(layer, drawn, drawn) for layer in model.p)
    q = sum(
        forwards(layer, drawn, parent_rows)
        for layer, parent_rows in _with_parent_rows(model, batch, samples)
    )
    return p + q


def _with_parent_rows(model: HelmholtzMachine, batch: int, samples: int) -> list[tuple[Layer, int]]:
    """q's layers; the lowest sees each example once, whatever K."""
    return [(layer, batch * samples if level else batch) for level, layer in enumerate(model.q)]
