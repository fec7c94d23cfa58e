"""Recipes from TOML files and plain values, those of the first release among them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wakesleep.errors import UsageError
from wakesleep.recipe import FIELDS, NAMED, Recipe, named_recipe

_ESTIMATOR_FIELDS = ("samples", "dreams", "rate_wake_q", "rate_sleep_q")
"""Fields of the first release's recipes that are the estimator's options now."""


def recipe_from_dict(values: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from plain values; `base` names the recipe that they override."""
    try:
        return _recipe(dict(values))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def recipe_from_record(values: Mapping[str, Any], where: str) -> Recipe:
    """A recipe as `Recipe.to_dict` wrote it down, maybe in an earlier version.

    What that version did not know it did not do: samples counted as they were drawn together.
    """
    estimator = values.get("estimator", {})
    table = {"name": estimator} if isinstance(estimator, str) else estimator
    if isinstance(table, Mapping) and table.get("name", "reweighted") == "reweighted":
        values = {**values, "estimator": {"combine": False, **table}}
    return recipe_from_dict(values, where)


def _recipe(values: dict[str, Any]) -> Recipe:
    base = named_recipe(values.pop("base", "default"))
    phases = values.pop("phases", ())
    if not isinstance(phases, list | tuple):
        raise UsageError("phases must be a list of tables ([[phases]])")
    top = _modern(values, {})
    unknown = sorted(set(top) - set(FIELDS))
    if unknown:
        raise UsageError(f"a recipe has no field '{unknown[0]}'; valid: {', '.join(FIELDS)}")
    # A phase that is no table is left for the recipe to refuse.
    top["phases"] = tuple(_modern(p, values) if isinstance(p, Mapping) else p for p in phases)
    return base.overridden(top)


def load_recipe(name_or_path: str | Path) -> Recipe:
    """A recipe by name, or from a TOML file of its fields."""
    if str(name_or_path) in NAMED:
        return named_recipe(str(name_or_path))
    path = Path(name_or_path)
    if not path.is_file():
        names = ", ".join(NAMED)
        raise UsageError(f"no recipe or TOML file '{name_or_path}'; named recipes: {names}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    return recipe_from_dict(values, str(path))


def _modern(values: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as they are today; `outer` is what a phase's fields override.

    The first release had the estimator's options among everybody's fields, and learning rates
    of q's two updates where there are one rate of q and two weights now.
    """
    chosen = {name: value for name, value in values.items() if name not in _ESTIMATOR_FIELDS}
    options = {name: values[name] for name in ("samples", "dreams") if name in values}
    if "rate_wake_q" in values or "rate_sleep_q" in values:
        wake, sleep = (
            values.get(name, outer.get(name, 1.0)) for name in ("rate_wake_q", "rate_sleep_q")
        )
        _check_rates(wake, sleep)
        chosen["rate_q"] = float(max(wake, sleep))
        largest = chosen["rate_q"] or 1.0
        options |= {"wake_q": wake / largest, "sleep_q": sleep / largest}
    if options:
        if values.get("rate_p", 1) == 0:
            options["wake_p"] = 0.0
        table = chosen.get("estimator", {})
        named = {"name": table} if isinstance(table, str) else dict(table)
        chosen["estimator"] = named | options
    return chosen


def _check_rates(wake: Any, sleep: Any) -> None:
    for name, rate in (("rate_wake_q", wake), ("rate_sleep_q", sleep)):
        if not isinstance(rate, int | float) or not 0 <= rate < float("inf"):
            raise UsageError(f"{name} must be 0 or more, not {rate!r}")
