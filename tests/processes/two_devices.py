"""Prints, for each estimator named, how far apart some steps end: with the shares of a minibatch
on one device and on two, and with the whole minibatch at once.
"""

import json
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh

from tests.estimators.cases import CASES
from wakesleep.architecture import build
from wakesleep.estimators import OrderAgnostic, Reweighted
from wakesleep.inference.rows import as_stored
from wakesleep.shares import AXIS
from wakesleep.training.loop import StepConfig, StepInputs, TrainState, run_steps
from wakesleep.training.optimisers import Optimiser

STEPS, BATCH, UNITS, ROWS, SHARES = 3, 8, 7, 30, 4

OTHERS = {
    "order_agnostic": ("eonade(hidden=5)", OrderAgnostic(samples=2)),
    "contrastive divergence": ("dbn 4-5", Reweighted(samples=3, chains=0)),
    "persistent chains": ("dbn 4-5", Reweighted(samples=3, chains=16)),
    "autoregressive": ("ar_sbn/nade 4-5", Reweighted(samples=3)),
}


def case(name):
    if name in OTHERS:
        return OTHERS[name]
    return "nade/sbn 4-5" if list(CASES).index(name) % 2 else "sbn/sbn 4-5", CASES[name](4)


def outcomes(name):
    architecture, estimator = case(name)
    model = build(architecture, UNITS, key=jax.random.key(0))
    # A step in proportion to the gradient: Adam's would make a sign of a rounding error.
    optimiser = optax.GradientTransformationExtraArgs(
        lambda tree: (),
        lambda tree, state, parameters, *, learning_rate: (
            jax.tree.map(lambda leaf: -learning_rate * leaf, tree),
            state,
        ),
    )
    start = TrainState(
        model, model, (), jnp.zeros((), jnp.int32), estimator.init(model, ROWS, jax.random.key(2))
    )
    x = jax.random.bernoulli(jax.random.key(1), 0.4, (STEPS, BATCH, UNITS)).astype(jnp.float32)
    inputs = StepInputs(
        x,
        jnp.arange(STEPS * BATCH).reshape(STEPS, BATCH),
        jnp.full(STEPS, 0.1),
        jax.random.key(5),
        jnp.asarray(0),
    )
    mesh = Mesh(np.array(jax.devices()), (AXIS,))
    for shares in ((SHARES, None), (SHARES, mesh), (1, None)):
        config = StepConfig(as_stored, estimator, Optimiser(optimiser, 0.5), *shares)
        yield run_steps(start, inputs, jnp.asarray(STEPS), config)
    yield start


def apart(one, other):
    pairs = zip(
        jax.tree.leaves(eqx.filter(one, eqx.is_array)),
        jax.tree.leaves(eqx.filter(other, eqx.is_array)),
        strict=True,
    )
    return max(
        float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max())
        for a, b in pairs
        if a.size
    )


def main():
    assert len(jax.devices()) == 2
    found = {}
    for name in sys.argv[1:]:
        one, two, whole, start = outcomes(name)
        found[name] = {
            "difference": apart(one, two),
            "rounding": apart(one, whole),
            "moved": apart(one.state.model, start.model),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
