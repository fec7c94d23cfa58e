"""Users' own tables: one file, split by seeded fractions, or a file per split."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wakesleep.data import grey_files, mapped_files
from wakesleep.data.binarisation import Binarisation
from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import check_same_width
from wakesleep.data.dataset import SPLITS, Dataset, Table
from wakesleep.data.grey import GreyRows
from wakesleep.data.numpy_files import read_numpy
from wakesleep.data.splits import DEFAULT_SPLIT, Fractions, check_own_splits, split_numbers
from wakesleep.data.text_files import SEPARATORS, read_text
from wakesleep.errors import DataError, UsageError

if TYPE_CHECKING:
    # Loaded by those who have tables: `--help` does not wait for it.
    from wakesleep.schema import Schema

NUMPY_FILES = (".npy", ".npz")
EXTENSIONS = (*NUMPY_FILES, *SEPARATORS, mapped_files.EXTENSION)

Rows = TypeVar("Rows", PackedBits, GreyRows)
Found = TypeVar("Found")


def load_files(
    source: Any,
    *,
    split: Fractions | None = DEFAULT_SPLIT,
    seed: int = 0,
    valid: Any = None,
    test: Any = None,
    image_shape: tuple[int, int] | None = None,
    binarise: str | float | None = None,
    columns: Mapping[str, Any] | Sequence[str] | None = None,
    table: Mapping[str, Any] | None = None,
    schema: "Schema | None" = None,
) -> Dataset:
    """Make a data set of files of 0 and 1, of grey values, or of a table with names.

    Args:
        source: a file or a frame, or several by split: `{"train": ..., "test": ...}`.
        split: fractions of train, valid and test for a single table; None puts every row in
            train. A source that has splits keeps them.
        seed: decides which rows go where; within a split they stay in the file's order.
        valid: another file, in which case `source` is all train.
        test: likewise.
        image_shape: (rows, columns), if each row is a picture.
        binarise: for .npy and .npz files of grey values (uint8 from 0 to 255, or floating-point
            numbers from 0 to 1): "dynamic" draws the training bits anew in every epoch, a number
            is the least grey value, from 0 to 1, that becomes a 1.
        columns: what columns of a table are, where the data would mislead: `{"age": "numeric"}`.
        table: options of a table: those of `SchemaOptions`, and `header`, `delimiter`,
            `encoding`, `missing_markers`.
        schema: of a table, if there is one already; otherwise the training rows make it.
    """
    sources = _sources(source, valid, test)
    from wakesleep.data.people_tables import (
        TableOptions,
        header_of,
        is_table,
        load_table,
        with_names,
    )

    options = TableOptions(columns, table or {}, schema)
    if is_table(sources, options):
        if binarise is not None or image_shape is not None:
            raise UsageError("a table with a schema is neither binarised nor made of images")
        return load_table(sources, split, seed, options)
    paths = {name: Path(each) for name, each in sources.items()}
    if binarise is not None:
        return _load_grey(paths, split, seed, image_shape, Binarisation.parse(binarise))
    if any(_extension(path) == mapped_files.EXTENSION for path in paths.values()):
        return _map(paths, split, image_shape)
    headers = [header_of(path) for path in paths.values()]
    if len(set(headers)) > 1 and all(headers):
        return load_table(sources, split, seed, options)
    try:
        parts = _parts(paths, split, seed, _read_bits)
    except DataError as error:
        if all(headers):
            return load_table(sources, split, seed, options)
        raise _with_way_out(error, paths["train"]) from None
    data = _dataset(paths, parts, "already binary", image_shape)
    return with_names(data, headers, split, seed)


def _with_way_out(error: DataError, path: Path) -> DataError:
    """What to do where a text file holds something else than bits."""
    if _extension(path) not in (".csv", ".tsv") or "must be 0 or 1" not in str(error):
        return error
    return DataError(
        f"{error}; a table of other values needs a header of names (--header if numbers are among "
        "them), or --no-header"
    )


def _load_grey(
    paths: dict[str, Path],
    split: Fractions | None,
    seed: int,
    image_shape: tuple[int, int] | None,
    how: Binarisation,
) -> Dataset:
    for path in paths.values():
        if _extension(path) not in grey_files.EXTENSIONS:
            raise UsageError(
                f"{path} cannot be binarised: grey values are read from "
                f"{' and '.join(grey_files.EXTENSIONS)} files"
            )
    parts = how.apply(_parts(paths, split, seed, grey_files.read_grey))
    return _dataset(paths, parts, how.description, image_shape)


def _dataset(
    paths: dict[str, Path],
    parts: Mapping[str, Table],
    binarisation: str,
    image_shape: tuple[int, int] | None,
) -> Dataset:
    return Dataset(
        paths["train"].stem,
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        binarisation=binarisation,
        image_shape=image_shape,
    )


def _map(
    paths: dict[str, Path], split: Fractions | None, image_shape: tuple[int, int] | None
) -> Dataset:
    if len(paths) > 1:
        raise UsageError(f"a {mapped_files.EXTENSION} file has all splits and must be given alone")
    path = paths["train"]
    check_own_splits(str(path), split)
    data = _opened(path, mapped_files.map_dataset)
    return dataclasses.replace(data, image_shape=image_shape) if image_shape else data


def _parts(
    paths: dict[str, Path],
    split: Fractions | None,
    seed: int,
    read: Callable[[Path], Rows | dict[str, Rows]],
) -> dict[str, Rows]:
    """The three splits of one file or of several."""
    tables = {name: _opened(path, read) for name, path in paths.items()}
    if len(paths) > 1:
        return _separate(tables, paths, split)
    return _single(tables["train"], paths["train"], split, seed)


def _read_bits(path: Path) -> PackedBits | dict[str, PackedBits]:
    return read_numpy(path) if _extension(path) in NUMPY_FILES else read_text(path)


def _opened(path: Path, read: Callable[[Path], Found]) -> Found:
    """What `read` makes of a file that is there and of a kind that is known."""
    if _extension(path) not in EXTENSIONS:
        raise DataError(
            f"{path} is of no kind that can be read; valid extensions: {', '.join(EXTENSIONS)}"
        )
    if not path.exists():
        raise DataError(f"there is no file {path}")
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    try:
        return read(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _extension(path: Path) -> str:
    return path.suffix.lower()


def split_rows(bits: Rows, split: Fractions | None, seed: int, what: str) -> dict[str, Rows]:
    """Divide a table by fractions of train, valid and test; a fraction of 0 gives no rows."""
    parts = split_numbers(len(bits), split, seed, what)
    return {name: bits.take(rows) for name, rows in parts.items()}


def _sources(source: Any, valid: Any, test: Any) -> dict[str, Any]:
    """Files or frames by split."""
    given = dict(source) if isinstance(source, Mapping) else {"train": source}
    given.update(
        {name: each for name, each in (("valid", valid), ("test", test)) if each is not None}
    )
    if "train" not in given or not given.keys() <= set(SPLITS):
        raise UsageError(
            "files by split must be named train, valid and test, with train among them, "
            f"not: {', '.join(map(str, given)) or 'nothing'}"
        )
    return {name: given[name] for name in SPLITS if name in given}


def _single(
    tables: Rows | dict[str, Rows], path: Path, split: Fractions | None, seed: int
) -> dict[str, Rows]:
    if not isinstance(tables, dict):
        return split_rows(tables, split, seed, str(path))
    check_own_splits(str(path), split)
    check_same_width({f"{path}, array '{name}'": table for name, table in tables.items()})
    return _complete(tables)


def _separate(
    tables: Mapping[str, Rows | dict[str, Rows]],
    paths: dict[str, Path],
    split: Fractions | None,
) -> dict[str, Rows]:
    check_own_splits("a data set of several files", split)
    parts = {name: table for name, table in tables.items() if not isinstance(table, dict)}
    for name in tables.keys() - parts.keys():
        raise UsageError(
            f"{paths[name]} has arrays for several splits, so it must be given alone, not as {name}"
        )
    check_same_width({str(paths[name]): table for name, table in parts.items()})
    return _complete(parts)


def _complete(parts: dict[str, Rows]) -> dict[str, Rows]:
    nothing = parts["train"].take([])
    return {name: parts.get(name, nothing) for name in SPLITS}
