"""A step of an optimiser that reads and writes each parameter once.

Decay, Adam or damped momentum, the update and the moving average are each a pass over all
parameters where XLA runs them; with few examples in a minibatch that is a third of a step.
What it computes is defined by the Optax chain in `wakesleep.training.optimisers`, which runs
wherever this does not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from wakesleep.kernels import native


class Rule(NamedTuple):
    """What does not change from step to step.

    Attributes:
        adam: Adam's rule, or damped momentum's.
        first_decay: of the mean of gradients, or of the momentum.
        second_decay: of the mean of gradients' squares; for Adam.
        epsilon: Adam's.
    """

    adam: bool
    first_decay: float
    second_decay: float = 0.0
    epsilon: float = 0.0


class Scales(NamedTuple):
    """The numbers of one step that hold for all parameters.

    Attributes:
        gradient: what gradients are multiplied by.
        weight_decay: what of a parameter is added to its update, before the rate.
        first_correction: Adam's, for a mean that started from zero.
        second_correction: the same for the mean of squares.
        average: the weight of the new parameters in their moving average; 1 for no average.
    """

    gradient: Float[Array, ""] | float
    weight_decay: Float[Array, ""] | float
    first_correction: Float[Array, ""] | float
    second_correction: Float[Array, ""] | float
    average: Float[Array, ""] | float


class Parameters(NamedTuple):
    """Arrays of the same shapes, one of each for every parameter.

    Attributes:
        values: the parameters.
        averages: their moving averages.
        first: means of gradients, or momentum.
        second: means of gradients' squares; none without Adam.
    """

    values: Sequence[Array]
    averages: Sequence[Array]
    first: Sequence[Array]
    second: Sequence[Array] = ()


def serves(parameters: Parameters, gradients: Sequence[Array]) -> bool:
    """Whether the native kernel is in use and knows the type of these arrays."""
    return native.serves(*gradients, *(array for kind in parameters for array in kind))


def optimiser_step(
    rule: Rule,
    scales: Scales,
    rates: Float[Array, " P"],
    parameters: Parameters,
    gradients: Sequence[Array],
) -> tuple[Parameters, Float[Array, " P"]]:
    """Parameters after a step, and the sum of squares of each one's gradient.

    Args:
        rule: of the optimiser.
        scales: the numbers of this step.
        rates: the learning rate of each parameter.
        parameters: before the step; XLA writes the new ones in their place where it can.
        gradients: one for each parameter.
    """
    count, before = len(gradients), [array for kind in parameters for array in kind]
    results = [jax.ShapeDtypeStruct(array.shape, jnp.float32) for array in (rates, *before)]
    in_place = {2 + count + at: 1 + at for at in range(len(before))}
    kernel = jax.ffi.ffi_call(
        "wakesleep_optimiser_step",
        results,
        vmap_method="sequential",
        input_output_aliases=in_place,
    )
    squares, *after = kernel(
        rates,
        jnp.stack([jnp.asarray(scale, jnp.float32) for scale in scales]),
        *gradients,
        *before,
        adam=rule.adam,
        first_decay=np.float64(rule.first_decay),
        second_decay=np.float64(rule.second_decay),
        epsilon=np.float32(rule.epsilon),
    )
    kinds = [after[start : start + count] for start in range(0, len(after), count or 1)]
    return Parameters(*kinds), squares
