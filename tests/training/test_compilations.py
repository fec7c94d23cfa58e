"""How often a training run compiles: seconds before the first epoch, and again at every change."""

import dataclasses
from collections import Counter
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.architecture import build
from wakesleep.data import load_dataset
from wakesleep.recipe import Recipe
from wakesleep.training import fit

COMPILED = "/jax/core/compile/backend_compile_duration"
MOST = 30


@contextmanager
def compilations():
    """How often each function is compiled within the block, by name."""
    found = Counter()

    def listen(event, duration, **about):
        if event == COMPILED:
            found[about.get("fun_name")] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_steps_and_validation_are_compiled_once_also_for_a_state_that_is_carried_over(key):
    # Sizes that no other test has, so that neither was compiled before.
    bars = load_dataset("bars", size=4, train=150, valid=37, test=1)
    model = build("sbn/sbn 6-7", features=16, key=key)
    longer = Recipe(epochs=2, batch_size=16, validation_samples=3)
    other = dataclasses.replace(longer, epochs=1, learning_rate=0.02, patience=5)
    with compilations() as first:
        # 150 rows are nine steps and a part: the last call of an epoch is shorter.
        fit(model, bars, longer)
    assert first["jit(run_steps)"] == first["jit(_block_sums)"] == 1
    # All others are small: keys, sums, zeros.
    assert sum(first.values()) <= MOST
    # Neither the seed nor what a step takes as an argument, such as its rate, is compiled in.
    with compilations() as again:
        fit(model, bars, longer, seed=1)
        fit(model, bars, other)
        state = fit(model, bars, longer, should_stop=lambda: True).snapshot
    assert not again
    from_file = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), state.arrays)
    with compilations() as resumed:
        rest = fit(model, bars, longer, resume=dataclasses.replace(state, arrays=from_file))
    assert len(rest.history) == 1
    assert not resumed
