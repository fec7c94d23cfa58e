"""Saying where a training run broke: the epoch, the step and the layer."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.errors import WakesleepError
from wakesleep.layers import kind_of
from wakesleep.model import HelmholtzMachine
from wakesleep.training.loop import Plan, TrainState, Work, gradients_at, run_steps


class DivergenceError(WakesleepError):
    """Training met a value that is not finite."""


def explain_failure(
    state: TrainState, work: Work, steps_done: int, plan: Plan, epoch: int
) -> DivergenceError:
    """Walk to the state before the failed step, exactly, and look at its gradients by layer."""
    failed = jnp.asarray(steps_done - 1)
    last_good = run_steps(state, work, failed, plan).state
    gradients, _ = gradients_at(last_good.model, work, failed, plan)
    step = int(work.first) + steps_done
    return DivergenceError(
        f"training diverged in epoch {epoch + 1}, step {step}: "
        f"{_culprit(last_good.model, gradients)}; a smaller learning rate than "
        f"{float(work.rates[failed]):.3g} or a gradient clip may help"
    )


def _culprit(model: HelmholtzMachine, gradients: HelmholtzMachine) -> str:
    for what, tree in (("weights", model), ("gradient", gradients)):
        for network in ("p", "q"):
            for number, layer in enumerate(getattr(tree, network)):
                if not _finite(layer):
                    kind = kind_of(getattr(model, network)[number])
                    return f"the {what} of {network}[{number}] ({kind}) is not finite"
    return "the log-likelihood is not finite"


def _finite(tree: Any) -> bool:
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return all(bool(np.isfinite(leaf).all()) for leaf in leaves)
