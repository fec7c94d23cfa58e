"""What an update costs, counted in multiplications and not timed.

A budget in minutes must not make a result depend on how busy the machine is. So the seconds of an
update are worked out from the sizes of the layers, at rates that were measured once, on two cores
of the machine that the results of this repository come from.
"""

from wakesleep.layers import ARSBN, Deterministic, Distribution
from wakesleep.recipe import Recipe
from wakesleep.training.work import machine, own_weights, parent_weights

AUTOREGRESSIVE_RATE = 5e9
"""Weights a second that autoregressive layers go through, forwards and backwards."""
FACTORIAL_RATE = 1.8e10
"""The same for layers that are matrix products."""
SECONDS_PER_CALL = 2e-4
"""What an update or a block of validation rows costs whatever the sizes."""
COMPILATION = 4.0
"""Seconds to compile a training."""
BACKWARDS = 1 / 3
"""The share of an update that is its forward pass: what scoring a row costs."""


def update_seconds(model: str, features: int, recipe: Recipe) -> float:
    """The nominal time of one update."""
    samples = getattr(recipe.estimator, "samples", 1) if "/" in model else 1
    dreams = 1 if "/" in model else 0
    rows = _row(model, features, samples) + _row(model, features, dreams)
    return SECONDS_PER_CALL + recipe.batch_size * rows


def validation_seconds(model: str, features: int, recipe: Recipe, rows: int) -> float:
    """The nominal time of a validation, of raw and of averaged parameters."""
    samples = recipe.validation_samples if "/" in model else 1
    return 2 * (SECONDS_PER_CALL + BACKWARDS * rows * _row(model, features, samples))


def _row(model: str, features: int, samples: int) -> float:
    """Seconds for one row with so many samples, forwards and backwards."""
    shapes = machine(model, features)
    layers = (*shapes.p, *shapes.q)
    own = [_own(layer) for layer in layers]
    parents = [parent_weights(layer) / FACTORIAL_RATE for layer in layers]
    # The lowest layer of q sees the row and no sample, and so do an AR-SBN's visible units
    # where they see each other.
    once = parents.pop(len(shapes.p)) if shapes.q else 0.0
    once += own.pop(0) if _is_product(shapes.p[0]) else 0.0
    return min(samples, 1) * once + samples * (sum(own) + sum(parents))


def _own(layer: Distribution) -> float:
    """Seconds among a layer's own units for one row."""
    forwards, _ = own_weights(layer)
    return forwards / (FACTORIAL_RATE if _is_product(layer) else AUTOREGRESSIVE_RATE)


def _is_product(layer: Distribution) -> bool:
    """Whether all units of a known row are scored by one matrix product."""
    return isinstance(layer.inner if isinstance(layer, Deterministic) else layer, ARSBN)
