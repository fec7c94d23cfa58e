"""Saying where a training run broke: the epoch, the step and the parameter."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from wakesleep.errors import WakesleepError
from wakesleep.training.loop import StepConfig, StepInputs, TrainState, gradients_at, run_steps


class DivergenceError(WakesleepError):
    """Training met a value that is not finite."""


def explain_failure(
    state: TrainState, inputs: StepInputs, steps_done: int, config: StepConfig, epoch: int
) -> DivergenceError:
    """Walk to the state before the failed step, exactly, and look at its gradients."""
    failed = jnp.asarray(steps_done - 1)
    last_good = run_steps(state, inputs, failed, config).state
    gradients = gradients_at(last_good, inputs, failed, config).gradients
    return DivergenceError(
        f"training diverged in epoch {epoch + 1}, step {int(inputs.first) + steps_done}: "
        f"{_culprit(last_good.model, gradients)}; a smaller learning rate than "
        f"{float(inputs.rates[failed]):.3g} or a gradient clip may help"
    )


def _culprit(model: PyTree, gradients: PyTree) -> str:
    for what, tree in (("value", model), ("gradient", gradients)):
        leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_inexact_array))
        for path, leaf in leaves:
            if not np.isfinite(leaf).all():
                name = jax.tree_util.keystr(path, simple=True, separator=".")
                return f"the {what} of {name} is not finite"
    return "the log-likelihood is not finite"
