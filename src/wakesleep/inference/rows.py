"""Rows as tables store them, turned into examples as models take them; and whether they fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, UInt8

from wakesleep.data import ArrayRows, MaskedBits, PackedBits, Table, as_bits, check_width
from wakesleep.data.checks import check_shape
from wakesleep.errors import DataError, UsageError, WakesleepError
from wakesleep.models import BitModel, LatentModel, Masked

Rows = PackedBits | MaskedBits | ArrayRows
"""Tables whose rows are the same in every epoch."""

Decoder = Callable[[Any], Any]
"""From stored rows to examples, inside compiled code; hashable, so that it compiles once."""


def unpack(rows: UInt8[Array, "*batch bytes"], features: int) -> Float[Array, "*batch D"]:
    """Packed bytes, most significant bit first, to 0/1 in float32."""
    shifts = jnp.arange(7, -1, -1, dtype=jnp.uint8)
    bits = (rows[..., None] >> shifts) & 1
    return bits.reshape(*rows.shape[:-1], -1)[..., :features].astype(jnp.float32)


@dataclass(frozen=True)
class UnpackBits:
    """Packed bytes to bits."""

    features: int

    def __call__(self, rows: UInt8[Array, "*batch bytes"]) -> Float[Array, "*batch D"]:
        """As float32."""
        return unpack(rows, self.features)


@dataclass(frozen=True)
class UnpackMasked:
    """Packed bits, and packed marks of the groups that were observed."""

    features: int
    groups_count: int

    def __call__(self, rows: Mapping[str, UInt8[Array, "*batch _"]]) -> Masked:
        """As float32."""
        observed = unpack(rows["observed"], self.groups_count)
        return Masked(unpack(rows["bits"], self.features), observed)


def as_stored(rows: Any) -> Any:
    """Rows that are examples already."""
    return rows


def decoder_of(table: Table) -> Decoder:
    """What turns a table's rows into examples."""
    if isinstance(table, ArrayRows):
        return as_stored
    if isinstance(table, MaskedBits):
        return UnpackMasked(table.features, table.groups_count)
    return UnpackBits(table.features)


def examples(rows: Table, indices: npt.NDArray[np.integer]) -> Any:
    """The rows at `indices` as a model takes them, still on the host: bits as float32."""
    chosen = rows[indices]
    if isinstance(rows, ArrayRows):
        return chosen
    bits: Any = chosen.astype(np.float32)
    if isinstance(rows, MaskedBits):
        observed: Any = rows.observed[indices].astype(np.float32)
        return Masked(bits, observed)
    return bits


def check_rows(model: LatentModel, table: Table, name: str) -> None:
    """Refuse rows that a model cannot take, with a sentence that names the table."""
    if isinstance(model, BitModel):
        if isinstance(table, ArrayRows):
            raise UsageError(f"{name} holds arrays, but this model takes tables of bits")
        check_width(table, model.features, name)
        if isinstance(table, MaskedBits) and table.groups != model.groups:
            raise DataError(
                f"{name} has missing cells in groups of {_listed(table.groups)} bits, but the "
                f"model was made for groups of {_listed(model.groups)}"
            )


def _listed(groups: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, groups[:6]))
    return shown if len(groups) <= 6 else f"{shown}, ..."


def checked_rows(model: LatentModel, data: Any) -> Rows:
    """The data as rows fit for the model, whose parameters must all be finite."""
    rows: Rows
    if isinstance(model, BitModel):
        rows = data if isinstance(data, MaskedBits) else as_bits(data, "data")
        check_shape(rows.shape, "data")
        check_rows(model, rows, "data")
    else:
        rows = data if isinstance(data, ArrayRows) else ArrayRows(data)
        if not len(rows):
            raise DataError("data has no rows, but it must have at least one")
    parameters = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    # By NumPy, which reads them where they are: JAX would be called once for each.
    if not all(np.isfinite(parameter).all() for parameter in parameters):
        raise WakesleepError(
            "the model cannot be evaluated: some of its parameters are infinite or not a number"
        )
    return rows
