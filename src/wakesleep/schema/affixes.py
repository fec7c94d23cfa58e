"""Numbers written with signs around or between their digits: $1,200.50, 35%, 12 kg, (80)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

_MONEY = "$¢£¥฿₠-₿"
_SEPARATORS = ",.'’ \u00a0\u202f"
_SHAPE = re.compile(
    rf"[-+]?\s?(?P<before>[^\W\d_]{{0,3}}[{_MONEY}][^\W\d_]{{0,3}}\s?)?[-+]?"
    rf"(?P<number>[.,]\d+|\d(?:[\d{_SEPARATORS}]*\d)?)"
    rf"(?P<after>\s?(?:[%‰°{_MONEY}]|[^\W\d_])\D{{0,19}})?"
)
"""Before the digits only money: letters there make a name, such as room 12 or Q3."""
_DIGITS = re.compile(r"(-?)(\d+)(.*)", re.DOTALL)
_IN_PARENTHESES = re.compile(r"([^\d()]*)\(([^()]*\d[^()]*)\)")
_MINUS = "\N{MINUS SIGN}"
_NEGATIVES = ("-", _MINUS, "()")


@dataclass(frozen=True)
class Affixes:
    """What stands before, after and between the digits of a column's numbers.

    Attributes:
        before: a currency's sign; a minus stands before it.
        after: a unit, or a per cent sign.
        thousands: what parts groups of three digits.
        negative: what tells a number below zero: a hyphen, typesetters' minus, or parentheses.
    """

    before: str = ""
    after: str = ""
    thousands: str = ""
    negative: str = "-"

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but digits."""
        return self == PLAIN

    def strip(self, text: str) -> str:
        """The digits of a number that is written so, or without the signs; any other text as is."""
        sign, rest = "", _with_hyphen(text)
        if rest[:1] in ("-", "+"):
            sign, rest = rest[0], rest[1:].lstrip()
        rest = rest.removeprefix(self.before.strip()).lstrip()
        rest = rest.removesuffix(self.after.strip()).rstrip()
        if not sign and rest[:1] in ("-", "+"):
            sign, rest = rest[0], rest[1:]
        if self.thousands and self.thousands in rest:
            rest = self._without_thousands(rest)
        return sign + rest if rest[:1].isdigit() or rest[:1] in (".", ",") else text

    def _without_thousands(self, digits: str) -> str:
        mark = re.escape(self.thousands)
        grouped = re.fullmatch(rf"\d{{1,3}}(?:{mark}\d{{3}})+(?:[.,]\d*)?", digits)
        return digits.replace(self.thousands, "") if grouped else ""

    def put(self, number: str) -> str:
        """A number with its signs.

        >>> Affixes("$", "", ",").put("-1234.50"), Affixes(after=" kg").put("3")
        ('-$1,234.50', '3 kg')
        >>> Affixes("$", negative="()").put("-80")
        '($80)'
        """
        found = _DIGITS.fullmatch(number)
        if found is None or self.is_plain:
            return number
        sign, whole, rest = found.groups()
        grouped = f"{int(whole):,}".replace(",", self.thousands) if self.thousands else whole
        unsigned = f"{self.before}{grouped}{rest}{self.after}"
        if not sign:
            return unsigned
        return f"({unsigned})" if self.negative == "()" else f"{self.negative}{unsigned}"

    def to_dict(self) -> dict[str, str]:
        """Plain values; the usual minus goes without saying."""
        values = asdict(self)
        return values if self.negative != "-" else {k: values[k] for k in _ALWAYS}

    @classmethod
    def from_dict(cls, values: Any) -> "Affixes":
        """What `to_dict` gave; a `ValueError` for anything else."""
        if not isinstance(values, dict) or set(values) - {"negative"} != set(_ALWAYS):
            raise ValueError
        if not all(isinstance(one, str) and not re.search(r"\d", one) for one in values.values()):
            raise ValueError
        if values["thousands"] not in ("", *_SEPARATORS):
            raise ValueError
        if values.get("negative", "-") not in _NEGATIVES:
            raise ValueError
        return cls(**values)


PLAIN = Affixes()
_ALWAYS = ("before", "after", "thousands")


def _with_hyphen(text: str) -> str:
    """A number below zero with a hyphen in front, however that was told."""
    text = text.replace(_MINUS, "-")
    return _IN_PARENTHESES.sub(r"-\1\2", text) if _IN_PARENTHESES.fullmatch(text) else text


def find_affixes(texts: Sequence[str], comma: bool) -> Affixes:
    """The signs that numbers are written with; plain where some text can be none.

    Args:
        texts: cells.
        comma: whether a comma parts decimals, so that it does not part thousands.
    """
    parentheses = sum(_IN_PARENTHESES.fullmatch(text) is not None for text in texts)
    if parentheses == len(texts):
        return PLAIN  # not one of them is above zero: these are names in parentheses
    minus = _MINUS if any(_MINUS in text for text in texts) else "-"
    found = []
    for text in texts:
        match = _SHAPE.fullmatch(_with_hyphen(text))
        if match is None:
            return PLAIN
        found.append(match)
    signs = [(match["before"] or "", match["after"] or "") for match in found]
    # Where some are money all are; a word behind a few of them (2, 4, 5more) is no unit.
    money = [each for each in signs if each[0]]
    before, after = Counter(money or signs).most_common(1)[0][0] if signs else ("", "")
    decimal = "," if comma else "."
    marks = Counter(re.sub(rf"[\d{decimal}]", "", "".join(match["number"] for match in found)))
    thousands = marks.most_common(1)[0][0] if marks else ""
    return Affixes(before, after, thousands, "()" if parentheses else minus)
