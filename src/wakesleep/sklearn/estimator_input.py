"""X as the estimator takes it: checked by scikit-learn's rules, read by the schema's."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import binarize
from sklearn.utils.validation import validate_data

from wakesleep.data import SPLITS, Dataset, MaskedBits, PackedBits
from wakesleep.data.people_tables import TableOptions, encode_splits
from wakesleep.errors import UsageError
from wakesleep.models import TableModel
from wakesleep.schema import Encoded, Frame, LeftOutColumn, Schema, as_choices
from wakesleep.schema.foreign_frames import check_collected
from wakesleep.schema.python_words import in_python
from wakesleep.sklearn.input_tables import (
    Form,
    bit_schema,
    bits_or_none,
    constant_names,
    form_of_array,
    given_frame,
    is_of_bits,
    read_array,
    read_foreign,
    thresholded,
)

BITS = ["0", "1"]


@dataclass(frozen=True, eq=False)
class Given:
    """X, read.

    Attributes:
        form: how it came in.
        array: an array of numbers or a sparse matrix; None for others.
        frame: its columns; None for an array whose every cell is 0 or 1.
        bits: such an array, packed.
        binarized: the columns that a threshold made bits of.
    """

    form: Form
    array: Any = None
    frame: Frame | None = None
    bits: PackedBits | None = None
    binarized: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table if self.bits is None else self.bits)

    @property
    def table(self) -> Frame:
        """The columns, of bits too."""
        if self.frame is not None:
            return self.frame
        assert self.bits is not None
        return read_array(self.bits[:], self.form.names)


def read_x(estimator: Any, X: Any, threshold: float | None, *, reset: bool) -> Given:
    """Check X and read it; `reset` where a fit begins.

    The columns of a frame are found by their names if the estimator was fitted to a frame that has
    names. Otherwise they are found by their places, as those of an array are.
    """
    if given_frame(X):
        return _given_frame(estimator, X, threshold, reset=reset)
    array = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=None,
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
    )
    names = column_names(estimator)
    form = form_of_array(array, names)
    if array.dtype.kind in "biuf":
        bits = bits_or_none(_above(array, threshold))
        if bits is not None:
            return Given(form, bits=bits, binarized=() if threshold is None else names)
    dense = array.toarray() if hasattr(array, "toarray") else array
    frame, chosen = _thresholded(read_array(dense, names), threshold)
    return Given(form, dense, frame, binarized=chosen)


def _given_frame(estimator: Any, X: Any, threshold: float | None, *, reset: bool) -> Given:
    check_collected(X, "the frame")
    by_name = not reset and _has_names(estimator) and _all_texts(X)
    if not by_name:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    by_place = not _has_names(estimator) or not _all_texts(X)
    frame, form = read_foreign(X, column_names(estimator) if by_place else None)
    frame, chosen = _thresholded(frame, threshold)
    return Given(form, frame=frame, binarized=chosen)


def _has_names(estimator: Any) -> bool:
    return hasattr(estimator, "feature_names_in_")


def _all_texts(X: Any) -> bool:
    return not hasattr(X, "index") or all(isinstance(name, str) for name in X.columns)


def column_names(estimator: Any) -> tuple[str, ...]:
    """What the schema calls the columns: by their names, or by their places."""
    if _has_names(estimator):
        return tuple(estimator.feature_names_in_)
    return tuple(f"x{place}" for place in range(estimator.n_features_in_))


def _above(array: Any, threshold: float | None) -> Any:
    """An array or sparse matrix by a threshold, gaps kept; as it is without one."""
    if threshold is None:
        return array
    if hasattr(array, "toarray"):
        return binarize(array, threshold=threshold)
    above = (array > threshold).astype(np.float64)
    return np.where(np.isnan(array), np.nan, above) if array.dtype.kind == "f" else above


def _thresholded(frame: Frame, threshold: float | None) -> tuple[Frame, tuple[str, ...]]:
    return (frame, ()) if threshold is None else thresholded(frame, threshold)


def make_dataset(
    x: Given, columns: Mapping[str, Any] | None, held_out: npt.NDArray[Any]
) -> tuple[Dataset, Schema]:
    """A data set of X, and the schema of its training rows.

    Args:
        x: what was given.
        columns: what columns are, where the data would mislead.
        held_out: the numbers of the rows that are for validation.
    """
    numbers = {
        "train": np.setdiff1d(np.arange(len(x)), held_out),
        "valid": np.sort(held_out),
        "test": np.arange(0),
    }
    _warn_of_constants(x)
    if x.bits is not None and not columns:
        parts = {name: x.bits.take(rows) for name, rows in numbers.items()}
        return _dataset(parts, None), bit_schema(x.form.names, len(numbers["train"]))
    frames = {name: x.table.take(rows) for name, rows in numbers.items()}
    try:
        tables, about = encode_splits(frames, numbers, _options(x, columns))
    except UsageError as error:
        raise type(error)(in_python(str(error))) from None
    say([*about.schema.notes, *_left_out(about.schema), *about.notes])
    return _dataset(tables, about), about.schema


def only_training(rows: PackedBits | MaskedBits) -> Dataset:
    """A data set of rows without a validation set."""
    return _dataset({"train": rows, "valid": rows.take([]), "test": rows.take([])}, None)


def _dataset(tables: Mapping[str, Any], about: Any) -> Dataset:
    binarisation = "as given" if about is None else "by the schema"
    train, valid, test = (tables[name] for name in SPLITS)
    return Dataset("X", train, valid, test, binarisation, table=about)


def _options(x: Given, columns: Mapping[str, Any] | None) -> TableOptions:
    if x.form.origin is None and not columns and is_of_bits(x.table):
        return TableOptions(schema=bit_schema(x.form.names, len(x)))
    bits = {name: {"kind": "binary", "levels": BITS} for name in x.binarized}
    return TableOptions({**as_choices(bits), **as_choices(columns)})


def _warn_of_constants(x: Given) -> None:
    constant = constant_names(x.table, x.binarized) if x.binarized else []
    if constant:
        shown = ", ".join(constant[:5]) + (", ..." if len(constant) > 5 else "")
        say(
            [
                f"the threshold `binarize` makes {len(constant)} of {len(x.form.names)} columns "
                f"constant ({shown}): with binarize=None numbers stay numbers"
            ]
        )


def _left_out(schema: Schema) -> list[str]:
    return [
        f"column {column.name!r} is {column.note}"
        for column in schema.columns
        if isinstance(column, LeftOutColumn) and column.kind != "dropped"
    ]


class EncodedRows(NamedTuple):
    """Rows for a model.

    Attributes:
        rows: the bits.
        log_measure: what their log-probabilities lack to be in the table's units, `[N]`.
        encoded: the states of their columns; None where bits came in as bits.
    """

    rows: PackedBits | MaskedBits
    log_measure: npt.NDArray[np.float64]
    encoded: Encoded | None = None


def encode_rows(x: Given, model: TableModel, unseen: str) -> EncodedRows:
    """X as rows for the model."""
    if x.bits is not None and x.bits.features == model.schema.units == len(model.schema.columns):
        return EncodedRows(x.bits, np.zeros(len(x)))
    read = model.read(x.table, unseen=unseen)
    say(read.notes)
    return EncodedRows(read.rows, read.log_measure, read.encoded)


def say(notes: Iterable[str]) -> None:
    """Notes as warnings."""
    for note in notes:
        warnings.warn(in_python(note), UserWarning, stacklevel=4)
