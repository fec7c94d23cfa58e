"""What every evaluation asks of a machine and its data."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from wakesleep.data import PackedBits, as_bits, check_width
from wakesleep.data.validation import check_shape
from wakesleep.errors import WakesleepError
from wakesleep.model import HelmholtzMachine


def checked_bits(model: HelmholtzMachine, data: Any) -> PackedBits:
    """The data as bits, fit for the machine, which must be in working order."""
    bits = as_bits(data, "data")
    check_shape(bits.shape, "data")
    check_width(bits, model.features, "data")
    parameters = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    if not all(bool(jnp.isfinite(parameter).all()) for parameter in parameters):
        raise WakesleepError(
            "the model cannot be evaluated: some of its parameters are infinite or not a number"
        )
    return bits
