"""Dates and times in text, and as whole numbers of a unit."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

UNITS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
"""Microseconds in a unit, the longest first."""

PATTERNS = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p",
    "%d/%m/%Y %I:%M %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%d/%m/%Y %I:%M:%S %p",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d-%m-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
    "%Y-%m",
    "%H:%M:%S",
    "%H:%M",
    "%I:%M %p",
    "ISO",
)
"""The ways of writing a date that are looked for, the likeliest first; ISO is of mixed lengths."""

ISO = "ISO"
SWAPPED = {one: one.replace("%m/%d", "%d/%m") for one in PATTERNS if one.startswith("%m/%d")}
"""Patterns with the month first, and those with the day first."""
ZONE = "%z"
_OFFSET = re.compile(r"[+-]\d\d:?\d\d$")
_ISO_SHAPES = {
    "%Y-%m-%d": re.compile(r"\d{4}-\d\d-\d\d"),
    "%Y-%m-%d %H:%M:%S": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
    "%Y-%m-%dT%H:%M:%S": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"),
}
_ANY_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_EPOCH = datetime(1970, 1, 1)

Moments = npt.NDArray[np.datetime64]


def find_pattern(texts: Sequence[str]) -> str | None:
    """The first pattern that all of the texts are written in.

    An offset from UTC that all of them have stands in the pattern as it is, `%z` for several.
    """
    for pattern in PATTERNS:
        if parse_moment(texts[0], pattern) is not None and not unparsed(texts, pattern):
            return pattern
    offsets = {found[0] if (found := _OFFSET.search(text)) else "" for text in texts}
    if "" in offsets:
        return None
    local = find_pattern([_OFFSET.sub("", text) for text in texts])
    if local is None or "%H" not in local or _OFFSET.search(local):
        return None
    return local + (offsets.pop() if len(offsets) == 1 else ZONE)


def is_ambiguous(texts: Sequence[str], pattern: str) -> bool:
    """Whether day and month could as well be the other way round."""
    return pattern in SWAPPED and not unparsed(texts, SWAPPED[pattern])


def unparsed(texts: Sequence[str], pattern: str) -> list[int]:
    """The positions of the texts that are not written so."""
    return np.flatnonzero(np.isnat(parse_moments(texts, pattern))).tolist()


def parse_moments(texts: Sequence[str], pattern: str) -> Moments:
    """Texts as moments, NaT where one is not written so."""
    if pattern in _ISO_SHAPES and all(map(_ISO_SHAPES[pattern].fullmatch, texts)):
        try:
            return np.array(texts, dtype="datetime64[us]")
        except ValueError:
            pass  # a 31st of February: the slow way says which
    return np.array([parse_moment(text, pattern) for text in texts], "datetime64[us]")


def parse_moment(text: str, pattern: str) -> datetime | None:
    """One text as a moment, in UTC where it has an offset; a time of day is of 1970-01-01."""
    try:
        if pattern == ISO:
            return datetime.fromisoformat(text) if _ANY_ISO.fullmatch(text) else None
        moment = datetime.strptime(text, pattern)
        if "%Y" not in pattern and "%y" not in pattern:
            moment = moment.replace(year=_EPOCH.year)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC).replace(tzinfo=None)
        return moment - offset_of(pattern)
    except (ValueError, OverflowError):
        return None


def has_offset(pattern: str) -> bool:
    """Whether moments that are written so say how far from UTC they are."""
    return pattern.endswith((ZONE, "Z")) or _OFFSET.search(pattern) is not None


def offset_of(pattern: str) -> timedelta:
    """From UTC, where a pattern names one."""
    found = _OFFSET.search(pattern)
    if found is None:
        return timedelta(0)
    return datetime.strptime(found[0], ZONE).utcoffset() or timedelta(0)


def moment_text(moment: np.datetime64, pattern: str | None) -> str:
    """A moment as it is written; ISO without a pattern."""
    if pattern is None or pattern == ISO:
        return str(moment).removesuffix(".000000").replace("T", " ")
    # strftime's %Y writes the year 800 as "800" on some systems, which no reader takes back.
    at = moment.astype("datetime64[us]").item()
    with suppress(OverflowError):  # on the first or the last day of all
        at += offset_of(pattern)
    return at.strftime(pattern.replace("%Y", f"{at.year:04d}").replace(ZONE, "+00:00"))


def coarsest_unit(moments: Moments) -> str:
    """The longest unit of which all of the moments are whole numbers."""
    ticks = moments.astype("datetime64[us]").astype(np.int64)
    return next(unit for unit, size in UNITS.items() if not (ticks % size).any())


def to_numbers(moments: Moments, unit: str) -> npt.NDArray[np.float64]:
    """Whole units since the first of January 1970; what is finer than the unit is cut off."""
    ticks = moments.astype("datetime64[us]").astype(np.int64)
    return np.floor_divide(ticks, UNITS[unit]).astype(np.float64)


def from_numbers(numbers: npt.NDArray[np.float64], unit: str) -> Moments:
    """The moments that `to_numbers` was given, within the years 1 to 9999."""
    least, most = (
        np.datetime64(end, "us").astype(np.int64) // UNITS[unit]
        for end in ("0001-01-01", "9999-12-31T23:59:59.999999")
    )
    # Twice: as a float the last microsecond of 9999 is the first of the next year.
    whole = np.clip(np.rint(numbers), least, most).astype(np.int64)
    ticks = np.clip(whole, least, most) * UNITS[unit]
    return ticks.astype("datetime64[us]")
