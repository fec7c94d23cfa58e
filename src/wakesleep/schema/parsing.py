"""Numbers in text, many at once."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MOST_DECIMALS = 6
"""Numbers with more are as good as continuous: no grid is looked for."""

_COMMA = re.compile(r"[-+]?(\d+(,\d*)?|,\d+)([eE][-+]?\d+)?")
_CODE = re.compile(r"^[-+]?0\d+$", re.MULTILINE)
_FRACTION = re.compile(r"[.,](\d*)")
_LARGEST_GRID = 2.0**52

Floats = npt.NDArray[np.float64]


def parse_numbers(texts: Sequence[str], comma: bool = False) -> tuple[Floats, list[int], bool]:
    """Texts as numbers, the positions of those that are none, and whether a comma was met.

    Args:
        texts: cells, blanks around them removed.
        comma: whether 3,14 may be a number.

    >>> parse_numbers(["1", "2.5", "two"])[1]
    [2]
    """
    commas = comma and "," in "".join(texts)
    spelled = [_with_point(text) for text in texts] if commas else list(texts)
    numbers = all_numbers(spelled)
    if numbers is not None:
        return numbers, [], commas
    numbers = np.array([_number(text) for text in spelled])
    return numbers, np.flatnonzero(np.isnan(numbers)).tolist(), commas


def _with_point(text: str) -> str:
    return text.replace(",", ".") if _COMMA.fullmatch(text) else text


def all_numbers(texts: list[str]) -> Floats | None:
    """The fast way, when every text is a number."""
    if "_" in "".join(texts):
        return None
    try:
        numbers = np.array(texts, object).astype(np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _number(text: str) -> float:
    """NaN for what is no number: words, infinities, and Python's 1_000."""
    try:
        value = float(text) if "_" not in text else np.nan
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan


def has_codes(texts: Sequence[str]) -> bool:
    """Whether some are codes that only look like numbers, such as 007."""
    return _CODE.search("\n".join(texts)) is not None


def spelled_decimals(texts: Sequence[str]) -> int:
    """The most digits after the point that any of the texts has."""
    return max(map(len, _FRACTION.findall("\n".join(texts))), default=0)


def grid_decimals(values: Floats) -> int | None:
    """The fewest decimals that write all of the values exactly; None for too many of them."""
    for decimals in range(MOST_DECIMALS + 1):
        if np.abs(values).max(initial=0.0) * 10.0**decimals >= _LARGEST_GRID:
            return None
        if (np.round(values, decimals) == values).all():
            return decimals
    return None


def number_text(value: float, decimals: int | None, comma: bool = False) -> str:
    """A number as it is written in a file.

    >>> number_text(2.5, 2), number_text(3.0, None), number_text(2.5, 1, comma=True)
    ('2.50', '3', '2,5')
    >>> number_text(-0.0, 1)
    '0.0'
    """
    if decimals is not None:
        # Nobody writes -0.
        text = f"{value:z.{decimals}f}"
    elif value == int(value) and abs(value) < _LARGEST_GRID:
        text = str(int(value))
    else:
        text = repr(float(value))
    return text.replace(".", ",") if comma else text
