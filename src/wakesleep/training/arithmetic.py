"""What an update costs, counted in multiplications and not timed.

A budget in minutes must not make a result depend on how busy the machine is. So the seconds of an
update are worked out from the sizes of the layers, at rates that were measured once, on two cores
of the machine that the results of this repository come from.
"""

from wakesleep.layers import Distribution
from wakesleep.recipe import Recipe
from wakesleep.training.work import machine, own_weights, parent_weights

AUTOREGRESSIVE_RATE = 1.2e9
"""Weights a second that autoregressive layers go through, forwards and backwards."""
FACTORIAL_RATE = 8e9
"""The same for layers that are matrix products."""
SECONDS_PER_CALL = 3e-4
"""What an update or a block of validation rows costs whatever the sizes."""
COMPILATION = 4.0
"""Seconds to compile a training."""
BACKWARDS = 1 / 3
"""The share of an update that is its forward pass: what scoring a row costs."""


def update_seconds(model: str, features: int, recipe: Recipe) -> float:
    """The nominal time of one update."""
    samples = getattr(recipe.estimator, "samples", 1) if "/" in model else 1
    dreams = 1 if "/" in model else 0
    return SECONDS_PER_CALL + recipe.batch_size * (samples + dreams) * _row(model, features)


def validation_seconds(model: str, features: int, recipe: Recipe, rows: int) -> float:
    """The nominal time of a validation, of raw and of averaged parameters."""
    samples = recipe.validation_samples if "/" in model else 1
    return 2 * (SECONDS_PER_CALL + BACKWARDS * rows * samples * _row(model, features))


def _row(model: str, features: int) -> float:
    """Seconds for one row and one sample, forwards and backwards."""
    shapes = machine(model, features)
    return sum(map(_layer, (*shapes.p, *shapes.q)))


def _layer(layer: Distribution) -> float:
    forwards, _ = own_weights(layer)
    return forwards / AUTOREGRESSIVE_RATE + parent_weights(layer) / FACTORIAL_RATE
