"""How much of the latent layers a model uses."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep.data import Table
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.inference.rows import examples
from wakesleep.models import HelmholtzMachine, Visible

ALIVE = 0.01
"""The least variance over the data of a unit's inferred mean (Burda et al. 2016 take the same)."""

ROWS = 500
SAMPLES = 20
BATCH = 50


@dataclass(frozen=True, eq=False)
class LayerUse:
    """What q does with one latent layer on a set of rows.

    Attributes:
        mean: how often each unit is on, `[H]`.
        activity: the variance over rows of E_q[h | x], `[H]`: 0 for a unit that ignores x.
    """

    mean: npt.NDArray[np.float64]
    activity: npt.NDArray[np.float64]

    @property
    def units(self) -> int:
        """H."""
        return len(self.mean)

    @property
    def alive(self) -> int:
        """How many units say something about x."""
        return int((self.activity > ALIVE).sum())


def latent_use(
    model: HelmholtzMachine, rows: Table, *, key: Key[Array, ""], samples: int = SAMPLES
) -> list[LayerUse]:
    """The use of each latent layer, from the one next to the data upwards.

    At most `ROWS` rows, evenly spaced: some test sets are grouped by class.
    """
    chosen = np.unique(np.linspace(0, len(rows) - 1, ROWS).astype(int))

    def infer(block: Block) -> tuple[Array, ...]:
        x = jax.tree.map(jnp.asarray, examples(rows, chosen[block.rows]))
        return _inferred(model, x, samples, jax.random.fold_in(key, block.start))

    means = Blocks(len(chosen), BATCH).map(infer)
    return [_use(layer.astype(np.float64), samples) for layer in means]


@eqx.filter_jit
def _inferred(
    model: HelmholtzMachine, x: Visible, samples: int, key: Key[Array, ""]
) -> tuple[Float[Array, "B _"], ...]:
    return tuple(h.mean(1) for h in model.sample_q(key, x, samples))


def _use(means: npt.NDArray[np.float64], samples: int) -> LayerUse:
    """Less what the variance of a mean of K bits would be if no unit heeded x."""
    noise = (means * (1 - means)).mean(0) / (samples - 1)
    return LayerUse(means.mean(0), np.maximum(means.var(0) - noise, 0.0))
