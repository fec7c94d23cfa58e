"""Is a peer's result the same quantity as wakesleep's? Asked before anything is timed.

On one fixed batch, with the same parameters and the same latents and dreams, all gradients
must agree to what float32 leaves of them, and so must log p̂(x).
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import wakesleep as ws
from benchmarks.peers.problem import (
    LayerArrays,
    MachineArrays,
    machine,
    reference_gradients,
    reference_likelihood,
)

SAMPLES, EVALUATION_SAMPLES = 5, 50
KEY_SEED = 3
TOLERANCE = 3e-4
"""Relative, per array. Log-weights of hundreds of nats have 1e-4 of rounding in float32, which
the softmax turns into as much of every gradient; a mistake shows as 1e-1."""


class DisagreementError(AssertionError):
    """A peer computes something else than wakesleep."""


def check_gradients(build_peer: Callable[[int], Any], architecture: str, batch: int) -> float:
    """The largest relative difference of a gradient.

    Args:
        build_peer: from K to a peer.
        architecture: of the machine.
        batch: examples; one for a peer that normalises weights over the batch.
    """
    reference, drawn = reference_gradients(machine(architecture), batch, SAMPLES)
    found = build_peer(SAMPLES).gradients(drawn)
    name, difference = max(_differences(found, reference), key=lambda pair: pair[1])
    return _within(f"{architecture}: gradient of {name}", difference)


def check_likelihood(build_peer: Callable[[int], Any], architecture: str) -> float:
    """The relative difference of log p̂(x) over one tile of examples."""
    key = jax.random.key(KEY_SEED)
    x, h, expected = reference_likelihood(machine(architecture), EVALUATION_SAMPLES, key)
    found = build_peer(EVALUATION_SAMPLES).likelihoods_given(x, h)
    return _within(f"{architecture}: log-likelihood", _relative(found, expected))


def check_library_likelihood(architecture: str) -> float:
    """That `ws.log_likelihood` is log p̂(x) of the very latents which peers are given."""
    model, key = machine(architecture), jax.random.key(KEY_SEED)
    x, _, expected = reference_likelihood(model, EVALUATION_SAMPLES, key)
    # Peers draw from q alone; what is timed is the library's default.
    found = ws.log_likelihood(model, x, EVALUATION_SAMPLES, key=key, defensive=0).values
    return _within(f"{architecture}: log-likelihood", _relative(found, expected))


def _within(what: str, difference: float) -> float:
    if not difference < TOLERANCE:
        raise DisagreementError(f"{what} differs by {difference:.1e} from wakesleep's")
    return difference


def _differences(found: MachineArrays, reference: MachineArrays) -> Iterator[tuple[str, float]]:
    for side in "pq":
        layers = zip(getattr(found, side), getattr(reference, side), strict=True)
        for level, (mine, theirs) in enumerate(layers):
            for name, difference in _layer_differences(mine, theirs):
                yield f"{side}{level}.{name}", difference


def _layer_differences(found: LayerArrays, reference: LayerArrays) -> Iterator[tuple[str, float]]:
    for name, expected in reference.arrays.items():
        if expected.size:
            yield name, _relative(found.arrays[name], expected)


def _relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
