"""The arithmetic that a training step and an evaluation cannot do without.

Only products of weights count, as two FLOPs a weight and row; random bits, sigmoids, logarithms
and the optimiser are time and not work. An SBN's work is matrix products; that of an AR-SBN and
a NADE is as much arithmetic in another order, so divided by the machine's matrix-multiply rate
it is the time that no order of doing it can beat.
"""

from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax

from wakesleep.architecture import build
from wakesleep.errors import UsageError
from wakesleep.inference.combinations import are_products
from wakesleep.layers.ar_sbn import ARSBN
from wakesleep.layers.deterministic import Deterministic
from wakesleep.layers.distribution import Distribution
from wakesleep.layers.nade import NADE
from wakesleep.layers.sbn import SBN
from wakesleep.models import HelmholtzMachine


class Pass(NamedTuple):
    """Rows that go through a layer.

    Attributes:
        layer: of p or q.
        rows: that are drawn or scored.
        parent_rows: fewer where samples share their parents.
        learns: whether the gradients of its weights are taken as well.
    """

    layer: Distribution
    rows: int
    parent_rows: int
    learns: bool

    @property
    def flops(self) -> int:
        """Of drawing or scoring the rows, and of the gradients of the weights."""
        forwards, backwards = own_weights(self.layer)
        own = forwards + backwards * self.learns
        return 2 * (
            parent_weights(self.layer) * self.parent_rows * (1 + self.learns) + own * self.rows
        )


def own_weights(layer: Distribution) -> tuple[int, int]:
    """Weights among a layer's own units that a row is multiplied by, forwards and backwards.

    A zero adds nothing to a NADE's hidden layer, so W hardly counts; V does, three times where
    the layer learns: for the logits, for its own gradient and for the hidden layer's.
    """
    match layer:
        case SBN():
            return 0, 0
        case ARSBN():
            return layer.S.size // 2, layer.S.size // 2
        case NADE():
            return layer.V.size, 2 * layer.V.size
        case Deterministic():
            return own_weights(layer.inner)
    raise UsageError(f"what work a layer of kind {type(layer).__name__} is, is not known")


def parent_weights(layer: Distribution) -> int:
    """Weights that the parents of a row are multiplied by, in as many matrix products."""
    between = parent_weights(layer.inner) if isinstance(layer, Deterministic) else 0
    maps = eqx.filter_eval_shape(lambda layer: layer.parent_maps, layer)
    return between + sum(weights.size for weights, _ in maps)


@cache
def machine(architecture: str, features: int) -> HelmholtzMachine:
    """The shapes of a machine's parameters, and no numbers in them."""
    model = eqx.filter_eval_shape(build, architecture, features, key=jax.random.key(0))
    if not isinstance(model, HelmholtzMachine):
        raise UsageError(f"what work '{architecture}' is, is not known: it is no stack of layers")
    return model


def step_passes(
    model: HelmholtzMachine, batch: int, samples: int, *, combine: bool = False
) -> list[Pass]:
    """Of one step: wake-p, wake-q, and sleep-q with one dream per example.

    Without latents nothing is drawn: the examples are scored, and that is all. Layers whose samples
    are combined with all of their parents' are scored once more than they are drawn.
    """
    if not model.q:
        return [Pass(model.p[0], batch, batch, learns=True)]
    wake = batch * samples
    pairs = (*model.p[1:-1], *model.q[1:]) if combine and are_products(model) else ()
    return [
        *(Pass(layer, wake, wake, learns=False) for layer in pairs),
        *(Pass(layer, wake, wake, learns=True) for layer in model.p),
        *(Pass(layer, wake, parents, learns=True) for layer, parents in _q(model, batch, samples)),
        *(Pass(layer, batch, batch, learns=False) for layer in model.p),
        *(Pass(layer, batch, batch, learns=True) for layer in model.q),
    ]


def evaluation_passes(model: HelmholtzMachine, batch: int, samples: int) -> list[Pass]:
    """Of log p̂(x) with K samples for each example."""
    drawn = batch * samples
    return [
        *(Pass(layer, drawn, drawn, learns=False) for layer in model.p),
        *(
            Pass(layer, drawn, parents, learns=False)
            for layer, parents in _q(model, batch, samples)
        ),
    ]


def step_flops(architecture: str, features: int, batch: int, samples: int) -> int:
    """Of one step."""
    passes = step_passes(machine(architecture, features), batch, samples)
    return sum(one.flops for one in passes)


def evaluation_flops(architecture: str, features: int, batch: int, samples: int) -> int:
    """Of log p̂(x) with K samples for each example."""
    passes = evaluation_passes(machine(architecture, features), batch, samples)
    return sum(one.flops for one in passes)


def _q(model: HelmholtzMachine, batch: int, samples: int) -> list[tuple[Distribution, int]]:
    """q's layers; the lowest sees each example once, whatever K."""
    return [(layer, batch * samples if level else batch) for level, layer in enumerate(model.q)]
