"""How schemas are made where the data leave it open."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from wakesleep.errors import UsageError
from wakesleep.options import Choice, Whole, check_declared, check_option


@dataclass(frozen=True)
class SchemaOptions:
    """How a schema is made.

    Attributes:
        bins: of every number column; None for about 2 N^(1/3), at most 64.
        max_levels: of a column; the rarest above this are pooled into "other".
        max_units: of all columns together: N rows take N x max_units / 8 bytes packed.
        atoms: whether a value that many rows share exactly, such as 0 or a cap, has a probability
            of its own in a column of reals; without, such columns have densities everywhere, which
            compare with models that know no atoms.
        missing: "level" makes missing-ness a level of every column that has missing cells in
            training; "cell" leaves such cells out of a row's likelihood.
        within: "gaussian" places the numbers of a row in their bins given each other, where that
            helps, with wider bins if that is better; "uniform" knows a number's bin alone.
    """

    bins: int | None = None
    max_levels: Annotated[int, Whole(2)] = 100
    max_units: Annotated[int, Whole(1)] = 4096
    atoms: bool = True
    missing: Annotated[Literal["cell", "level"], Choice(("cell", "level"))] = "cell"
    within: Annotated[Literal["gaussian", "uniform"], Choice(("gaussian", "uniform"))] = "gaussian"

    def __post_init__(self) -> None:
        check_declared(self)
        if not isinstance(self.atoms, bool):
            raise UsageError(f"atoms must be true or false, not {self.atoms!r}")
        if self.bins is not None:
            check_option("bins", self.bins, Whole(2))


def options_from(values: Mapping[str, Any], where: str) -> SchemaOptions:
    """Options from plain values, such as a TOML file's."""
    valid = [field.name for field in fields(SchemaOptions)]
    unknown = sorted(set(values) - set(valid))
    if unknown:
        raise UsageError(f"{where}: no option is called {unknown[0]!r}; valid: {', '.join(valid)}")
    try:
        return SchemaOptions(**values)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
