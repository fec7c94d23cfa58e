"""A column's distinct values, and what they can be read as: numbers, moments, levels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema import temporal
from wakesleep.schema.affixes import PLAIN, Affixes, find_affixes
from wakesleep.schema.frame import Cells, Storage, object_array
from wakesleep.schema.parsing import (
    all_numbers,
    grid_decimals,
    has_codes,
    number_text,
    parse_numbers,
    spelled_decimals,
)

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct values of a column's cells, and which one each row has.

    Attributes:
        storage: what the values are.
        values: `[U]` of the storage's type.
        codes: `[N]`, positions in `values`; -1 for a missing cell.
    """

    storage: Storage
    values: npt.NDArray[Any]
    codes: Codes

    @property
    def counts(self) -> Codes:
        """How many rows have each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def first_row(self, position: int) -> int:
        """The first row with a value."""
        return int((self.codes == position).argmax())

    def spread(self, per_value: npt.NDArray[Any], absent: Any) -> npt.NDArray[Any]:
        """Something known of each distinct value, for each row."""
        if not len(per_value):
            return np.full(len(self.codes), absent)
        return np.where(self.codes >= 0, per_value[self.codes], absent)


def distinct(cells: Cells, known: frozenset[str] = frozenset()) -> Distinct:
    """Look a column's values up once.

    Args:
        cells: the column.
        known: texts that are values even where they are marked as missing: levels by a
            marker's name.
    """
    if cells.storage == "text":
        return _distinct_texts(cells, known)
    values, codes = np.unique(cells.values[~cells.missing], return_inverse=True)
    all_codes = np.full(len(cells), -1)
    all_codes[~cells.missing] = codes
    return Distinct(cells.storage, values, all_codes)


def _distinct_texts(cells: Cells, known: frozenset[str]) -> Distinct:
    missing = cells.missing
    if known and missing.any():
        missing = missing & ~np.isin(cells.values, list(known))
    positions: dict[str, int] = {}
    texts = cells.values[~missing].tolist()
    for text in dict.fromkeys(texts):
        positions[text] = len(positions)
    codes = np.full(len(cells), -1)
    codes[~missing] = np.fromiter(map(positions.__getitem__, texts), np.int64, len(texts))
    return Distinct("text", object_array(list(positions)), codes)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Distinct values as numbers.

    Attributes:
        values: `[U]`; NaN for those that are none.
        wrong: the positions of those that are none.
        texts: how they were written, if in text.
        comma: whether they were written with a decimal comma.
        affixes: the signs around and between their digits, which `texts` are without.
    """

    values: Floats
    wrong: list[int]
    texts: list[str]
    comma: bool = False
    affixes: Affixes = PLAIN

    @cached_property
    def decimals(self) -> int | None:
        """Of the grid that the numbers are on, if there is one."""
        return grid_decimals(np.delete(self.values, self.wrong) if self.wrong else self.values)

    @cached_property
    def spelled(self) -> int | None:
        """How many decimals they were written with; None without such a spelling."""
        if not self.texts or self.wrong or "e" in "".join(self.texts).lower():
            return None
        return spelled_decimals(self.texts)

    @property
    def whole(self) -> bool:
        """Whether they are whole numbers, and small enough to be exact."""
        return self.decimals == 0 and bool((np.abs(self.values) < EXACT).all())


def as_numbers(these: Distinct, comma: bool, affixes: Affixes = PLAIN) -> Numbers:
    """Read distinct values as numbers, as far as they are.

    Args:
        these: the values.
        comma: whether 3,14 may be a number.
        affixes: signs that numbers are known to be written with; others count if all have them.
    """
    if these.storage == "text":
        return _text_numbers(these.values.tolist(), comma, affixes)
    if these.storage in ("whole", "real", "boolean"):
        values = these.values.astype(np.float64)
        return Numbers(values, [], [])
    none = np.full(len(these.values), np.nan)
    return Numbers(none, list(range(len(none))), [])


def _text_numbers(texts: list[str], comma: bool, known: Affixes) -> Numbers:
    plain = _spelled(texts, comma, known)
    if not plain.wrong:
        return plain
    found = _spelled(texts, comma, find_affixes(texts, comma))
    return plain if found.wrong or has_codes(found.texts) else found


def _spelled(texts: list[str], comma: bool, affixes: Affixes) -> Numbers:
    digits = texts if affixes.is_plain else [affixes.strip(text) for text in texts]
    values, wrong, commas = parse_numbers(digits, comma)
    return Numbers(values, wrong, digits, commas, affixes)


def row_numbers(cells: Cells) -> Floats | None:
    """Every row's number, NaN for missing ones; None where some cell is no plain number.

    A short cut past the distinct values, which numbers have many of.
    """
    numbers = np.full(len(cells), np.nan)
    present = cells.values[~cells.missing]
    if cells.storage in ("whole", "real", "boolean"):
        numbers[~cells.missing] = present
        return numbers
    parsed = all_numbers(present.tolist()) if cells.storage == "text" else None
    if parsed is None:
        return None
    numbers[~cells.missing] = parsed
    return numbers


def are_codes(these: Distinct) -> bool:
    """Whether digits are names here, such as 007."""
    return these.storage == "text" and has_codes(these.values.tolist())


@dataclass(frozen=True, eq=False)
class Moments:
    """Distinct values as moments, NaT for those that are none."""

    values: temporal.Moments
    wrong: list[int]
    pattern: str | None


def as_moments(these: Distinct, pattern: str | None = None) -> Moments | None:
    """Read distinct values as dates or times; None where they are written in no known way."""
    if these.storage in ("date", "datetime"):
        return Moments(these.values.astype("datetime64[us]"), [], None)
    if these.storage != "text" or not len(these.values):
        return None
    texts = these.values.tolist()
    pattern = pattern or temporal.find_pattern(texts)
    if pattern is None:
        return None
    values = temporal.parse_moments(texts, pattern)
    return Moments(values, np.flatnonzero(np.isnat(values)).tolist(), pattern)


def value_texts(storage: Storage, values: npt.NDArray[Any]) -> list[str]:
    """Values by name: levels as they are stored and shown."""
    if storage == "real":
        return [number_text(value, None) for value in values.tolist()]
    if storage in ("date", "datetime"):
        return [temporal.moment_text(value, None) for value in values]
    return [str(value) for value in values.tolist()]


def cell_texts(cells: Cells) -> list[str]:
    """Every cell as it is written in a text file; a missing one is empty."""
    if cells.storage == "real" or (cells.storage == "whole" and cells.decimals):
        texts = [number_text(v, cells.decimals, cells.comma) for v in cells.values.tolist()]
    elif cells.storage in ("date", "datetime"):
        texts = [temporal.moment_text(value, cells.pattern) for value in cells.values]
    else:
        texts = [str(value) for value in cells.values.tolist()]
    if not cells.affixes.is_plain:
        texts = [cells.affixes.put(text) for text in texts]
    return ["" if absent else text for text, absent in zip(texts, cells.missing, strict=True)]
