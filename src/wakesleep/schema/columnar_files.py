"""Parquet and Feather files, by pyarrow where it is installed."""

from pathlib import Path
from typing import Any

from wakesleep.errors import DataError, WakesleepError

EXTENSIONS = (".parquet", ".feather")


def read_columnar(path: Path) -> Any:
    """The file as an Arrow table."""
    pyarrow = _pyarrow(path)
    try:
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            table = parquet.read_table(path)
        else:
            from pyarrow import feather

            table = feather.read_table(path)
        # Damaged text is found here, and not where some column of it is first looked at.
        table.validate(full=True)
        return table
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise DataError(
            f"{path} cannot be read as a {path.suffix.lower()} file ({reason}): write it again, or "
            "give the table as .csv"
        ) from error


def write_columnar(table: Any, file: Any, path: Path) -> None:
    """Write an Arrow table to an open file, as what the path's name says."""
    _pyarrow(path)
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, file)
        return
    from pyarrow import feather

    feather.write_feather(table, file)


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise WakesleepError(
            f"{path}: {path.suffix.lower()} files need pyarrow: pip install 'wakesleep[tables]', "
            "or give the table as .csv"
        ) from None
    return pyarrow
