"""How to train, as plain data: one phase, or several that override it one after another.

No JAX here: the command line reads this file to answer `--help`.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wakesleep.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a training run does, phase by phase.

    The fields describe one phase. With `phases`, each entry overrides some of them, and the
    phases run in turn: `Recipe(samples=5, phases=({"epochs": 1000}, {"epochs": 500,
    "samples": 100, "rate_divisor": 1.005}))`.

    >>> [phase.samples for phase in Recipe(epochs=3, phases=({}, {"samples": 50})).expand()]
    [5, 50]
    """

    epochs: int = 100
    """Passes over the training set."""
    estimator: str = "reweighted"
    """The gradient estimator, by its name in the registry."""
    samples: int = 5
    """K, latents drawn from q per example; 1 for classic wake-sleep."""
    batch_size: int = 100
    """Examples per step."""
    optimiser: Literal["adam", "sgd"] = "adam"
    """adam, or sgd with the paper's damped momentum of 0.95 on the summed objective."""
    learning_rate: float = 0.01
    """The rate a phase starts with."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """How the rate goes on: down to zero along a cosine, or as it is."""
    rate_divisor: float = 1.0
    """The rate is also divided by this after every epoch of the phase."""
    rate_p: float = 1.0
    """The learning rate of p, relative to learning_rate."""
    rate_wake_q: float = 1.0
    """That of q's wake update; 0 switches it off, as in classic wake-sleep."""
    rate_sleep_q: float = 1.0
    """That of q's sleep update; 0 switches it off."""
    dreams: int = 1
    """Dreams per example for the sleep update."""
    weight_decay: float = 0.01
    """Decoupled weight decay, per unit of learning rate."""
    clip: float = 0.0
    """Gradients are scaled down to this global norm; 0 for no limit."""
    average: float = 0.998
    """Decay per step of the averaged weights, evaluated beside the raw ones; 0 for none."""
    patience: int = 0
    """Stop after this many epochs without a better validation log-likelihood; 0 for never."""
    validation_samples: int = 10
    """K of the validation log-likelihood that is measured after every epoch."""
    init: Literal["default", "paper"] = "default"
    """How parameters start; default also starts p's visible bias at the data's log-odds."""
    phases: tuple[Mapping[str, Any], ...] = ()
    """Overrides, one mapping per phase; empty for a single phase."""

    def __post_init__(self) -> None:
        _check_types(self)
        _check_ranges(self)
        for number, override in enumerate(self.phases, start=1):
            _check_override(number, override)
        if self.phases:
            self.expand()

    def expand(self) -> tuple["Recipe", ...]:
        """The phases in order, each a recipe without phases of its own."""
        alone = dataclasses.replace(self, phases=())
        return tuple(dataclasses.replace(alone, **override) for override in self.phases) or (self,)

    @property
    def rate_q(self) -> float:
        """The rate of q relative to learning_rate; its two updates share one optimiser state."""
        return max(self.rate_wake_q, self.rate_sleep_q)

    @property
    def total_epochs(self) -> int:
        """Epochs of all phases together."""
        return sum(phase.epochs for phase in self.expand())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for TOML and JSON."""
        values = dataclasses.asdict(self)
        values["phases"] = [dict(override) for override in self.phases]
        return values


def recipe_from_dict(values: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from plain values; `base` names the recipe in `RECIPES` that they override."""
    chosen = dict(values)
    base = chosen.pop("base", "default")
    if base not in RECIPES:
        raise UsageError(f"{where}: no recipe is called '{base}'; valid: {', '.join(RECIPES)}")
    if not isinstance(chosen.get("phases", []), list | tuple):
        raise UsageError(f"{where}: phases must be a list of tables ([[phases]])")
    chosen["phases"] = tuple(chosen.get("phases", ()))
    unknown = sorted(set(chosen) - set(_FIELDS))
    if unknown:
        valid = ", ".join(_FIELDS)
        raise UsageError(f"{where}: a recipe has no field '{unknown[0]}'; valid: {valid}")
    try:
        return dataclasses.replace(RECIPES[base], **chosen)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def load_recipe(name_or_path: str | Path) -> Recipe:
    """A recipe by name, or from a TOML file of its fields."""
    if str(name_or_path) in RECIPES:
        return RECIPES[str(name_or_path)]
    path = Path(name_or_path)
    if not path.is_file():
        names = ", ".join(RECIPES)
        raise UsageError(f"no recipe or TOML file '{name_or_path}'; named recipes: {names}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    return recipe_from_dict(values, str(path))


def _check_types(recipe: Recipe) -> None:
    for name, field in _FIELDS.items():
        value = getattr(recipe, name)
        choices = getattr(field.type, "__args__", None)
        if field.type is int and (not isinstance(value, int) or isinstance(value, bool)):
            raise UsageError(f"{name} must be a whole number, not {value!r}")
        if field.type is str and not isinstance(value, str):
            raise UsageError(f"{name} must be a name, not {value!r}")
        if field.type is float and not isinstance(value, int | float):
            raise UsageError(f"{name} must be a number, not {value!r}")
        if choices and name != "phases" and value not in choices:
            raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _check_ranges(recipe: Recipe) -> None:
    for name in ("epochs", "samples", "batch_size", "dreams", "validation_samples"):
        if getattr(recipe, name) < 1:
            raise UsageError(f"{name} must be 1 or more, not {getattr(recipe, name)}")
    rates = ("rate_p", "rate_wake_q", "rate_sleep_q")
    for name in (*rates, "weight_decay", "clip", "patience"):
        if not 0 <= getattr(recipe, name) < float("inf"):
            raise UsageError(f"{name} must be 0 or more, not {getattr(recipe, name)}")
    for name in ("learning_rate", "rate_divisor"):
        if not 0 < getattr(recipe, name) < float("inf"):
            raise UsageError(f"{name} must be more than 0, not {getattr(recipe, name)}")
    if not 0 <= recipe.average < 1:
        raise UsageError(f"average must be at least 0 and below 1, not {recipe.average}")


def _check_override(number: int, override: Any) -> None:
    if not isinstance(override, Mapping):
        raise UsageError(f"phase {number} must be a table of fields, not {override!r}")
    for name in override:
        if name not in _FIELDS or name in _RUN_WIDE:
            valid = ", ".join(field for field in _FIELDS if field not in _RUN_WIDE)
            raise UsageError(f"phase {number} cannot set '{name}'; valid: {valid}")


_FIELDS = {field.name: field for field in dataclasses.fields(Recipe)}
_RUN_WIDE = ("init", "phases", "patience")

RECIPES = {
    "default": Recipe(),
    "paper": Recipe(
        epochs=160,
        batch_size=25,
        optimiser="sgd",
        learning_rate=0.001,
        schedule="constant",
        weight_decay=0.0,
        average=0.0,
        patience=10,
        init="paper",
    ),
}
