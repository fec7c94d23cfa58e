"""Features of rows: what a model expects of every column and every latent, given a row's cells."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.data import MaskedBits, PackedBits
from wakesleep.errors import UsageError
from wakesleep.inference.imputation import ENOUGH, impute
from wakesleep.inference.imputed_table import impute_encoded
from wakesleep.inference.posterior import embedding_names, infer_rows
from wakesleep.models import BitModel, Mixture, TableModel
from wakesleep.schema import Encoded, Schema, expected_columns, expected_names

Floats = npt.NDArray[np.float64]
Rows = PackedBits | MaskedBits

LATENTS = "latents"
FEATURES = ("all", LATENTS)
"""Columns and latents, or the latents alone."""


def row_features(
    model: BitModel,
    rows: Rows,
    samples: int,
    key: Key[Array, ""],
    *,
    table: tuple[Schema, Encoded] | None = None,
    which: str = "all",
) -> Floats:
    """The expected value of every column and every latent given the observed cells, `[N, F]`.

    Of a column that is observed that is its value: a number, standardised, or 1 for its level and
    0 for the others. `feature_names` says what the features are.

    Args:
        model: of the bits.
        rows: the bits.
        samples: latents drawn for each row, and the most imputations of a row with gaps.
        key: the randomness.
        table: the schema, and the rows as it encodes them; None for bits without names.
        which: one of `FEATURES`.
    """
    check_features(model, which)
    latents = explaining(model)
    parts = [] if which == LATENTS else [_columns(model, rows, samples, key, table)]
    if latents.names:
        parts.append(infer_rows(latents.model, rows, samples, key).means)
    return np.concatenate(parts, axis=1)


class Latents(NamedTuple):
    """Latents that are features.

    Attributes:
        model: whose latents they are.
        names: of them.
    """

    model: BitModel
    names: list[str]


def explaining(model: BitModel) -> Latents:
    """The latents that say what rows have in common: all of a machine, some of a mixture.

    Of a mixture they are those of the components in which columns are independent given the
    latents, and which of these components a row is from. An autoregressive component explains rows
    by itself, and its latents and its share would be noise among the features. If all components
    are such, they are all there is.
    """
    names = embedding_names(model)
    if not isinstance(model, Mixture):
        return Latents(model, names)
    kept = [c for c, each in enumerate(model.components) if each.p[0].factorial]
    if not kept or len(kept) == len(model.components):
        return Latents(model, names)
    units = [f"c{c + 1}_{name}" for c in kept for name in embedding_names(model.components[c])]
    if len(kept) == 1:
        return Latents(model.components[kept[0]], units)
    chosen = Mixture([model.components[c] for c in kept], model.log_weights[np.array(kept)])
    return Latents(chosen, [*(f"component_{c + 1}" for c in kept), *units])


def check_features(model: BitModel, which: str) -> None:
    """Refuse to give the latents alone of a model that has none."""
    if which == LATENTS and not explaining(model).names:
        raise UsageError(
            "a model without latents has no features but its columns: ask for all features, or "
            "train a model with latents, such as 'nade/sbn 10'"
        )


def feature_names(
    model: BitModel, schema: Schema | None = None, *, which: str = "all"
) -> list[str]:
    """Names of the features; bits without names are x0, x1 and so on.

    A name that is taken already gets a number behind it.
    """
    columns = [f"x{i}" for i in range(model.features)] if schema is None else expected_names(schema)
    names: dict[str, None] = {}
    for name in [*([] if which == LATENTS else columns), *explaining(model).names]:
        free, number = name, 1
        while free in names:
            number += 1
            free = f"{name}_{number}"
        names[free] = None
    return list(names)


def _columns(
    model: BitModel, rows: Rows, samples: int, key: Any, table: tuple[Schema, Encoded] | None
) -> Floats:
    # More where a person asks for more samples.
    effort = {"samples": samples, "key": key, "enough": max(ENOUGH, samples // 10)}
    if table is None:
        return _bits(model, rows, effort)
    schema, encoded = table
    if encoded.observed.all():
        return expected_columns(schema, encoded.bits, encoded.within)
    imputed = impute_encoded(TableModel(model, schema), encoded, **effort)
    return expected_columns(schema, imputed.probabilities, encoded.within)


def _bits(model: BitModel, rows: Rows, effort: dict[str, Any]) -> Floats:
    """The bits, `[N, D]`; for missing ones the probability of a 1 given the others."""
    bits = rows[:]
    if isinstance(rows, PackedBits):
        return bits.astype(np.float64)
    missing = np.repeat(rows.observed[:] == 0, rows.groups, axis=1)
    return impute(model, bits, missing, draws=1, **effort).probabilities.astype(np.float64)
