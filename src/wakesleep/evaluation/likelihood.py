"""log p(x) of a data set under a machine."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.data import PackedBits, as_bits, check_width
from wakesleep.errors import UsageError
from wakesleep.evaluation.accumulator import Accumulator
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.evaluation.tiles import Tiling, tile_log_weights
from wakesleep.model import HelmholtzMachine


def log_likelihood(
    model: HelmholtzMachine, data: Any, samples: int = 1_000, *, key: Key[Array, ""]
) -> LogLikelihood:
    """Estimate log p(x) of every row of `data` by importance sampling from q, eq. 1.

    Args:
        model: the machine.
        data: `[N, D]` of 0 and 1.
        samples: K per row.
        key: the randomness; the same key gives the same numbers.
    """
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    bits = as_bits(data, "data")
    check_width(bits, model.features, "data")
    tiling = Tiling.of(samples)
    parts = [
        _evaluate(model, x, tiling, key, tile)[:rows]
        for tile, (x, rows) in enumerate(_padded_tiles(bits, tiling.examples))
    ]
    return _result(np.concatenate(parts).T, samples)


def _padded_tiles(bits: PackedBits, examples: int) -> Iterator[tuple[npt.NDArray[Any], int]]:
    """Every row once; the last tile is filled up with zeros, so that one shape is compiled."""
    for start in range(0, len(bits), examples):
        rows = bits[start : start + examples].astype(np.float32)
        yield np.pad(rows, ((0, examples - len(rows)), (0, 0))), len(rows)


def _evaluate(
    model: HelmholtzMachine, x: npt.NDArray[Any], tiling: Tiling, key: Key[Array, ""], tile: int
) -> npt.NDArray[np.float64]:
    accumulator = Accumulator(len(x))
    for block in range(tiling.blocks):
        place = jnp.asarray([tile, block], jnp.int32)
        weights = tile_log_weights(model, jnp.asarray(x), tiling.samples, key, place)
        accumulator.add(np.asarray(weights)[:, : tiling.total - accumulator.count])
    variances = accumulator.relative_variances
    return np.stack(
        [
            accumulator.log_likelihoods,
            np.sqrt(variances),
            -variances / 2,
            accumulator.bounds,
            accumulator.effective_samples,
        ],
        axis=1,
    )


def _result(columns: npt.NDArray[np.float64], samples: int) -> LogLikelihood:
    values, standard_errors, biases, bounds, effective_samples = columns
    counts = np.full(len(values), samples)
    return LogLikelihood(values, standard_errors, biases, bounds, effective_samples, counts)
