"""The experiments of `wakesleep/experiments/*.toml`, read and checked. No JAX here.

A row trains one or more candidates (architectures times learning rates), keeps the one that did
best on the validation set, and evaluates that one on the test set. A row with `mixed` evaluates the
mixture of all its candidates instead. The model "auto" leaves the candidates to the automatic
default. A row with `source` instead takes the trained model of another
experiment's row and makes a figure of it. The rows of a race have recipes of so many
processor-seconds, and keep the way that their training took; with `heat_seconds` their candidates
are chosen in short trainings, and only the best has the whole time.
"""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe
from wakesleep.recipe_files import recipe_from_dict

KINDS = ("table", "curve", "arena", "race", "bias", "test-samples", "samples", "learning-curves")
FIGURES = KINDS[4:]
AUTOMATIC = ("auto",)


@dataclass(frozen=True)
class Row:
    """One line of a table, or one model of a figure.

    Attributes:
        experiment: the name of the experiment it belongs to.
        name: as the paper writes it; unique in the experiment.
        data: a data set's name.
        models: architectures to choose from, or "auto" alone.
        mixed: all of them are kept, as one mixture weighted on the validation set.
        automatic_minutes: the budget of "auto".
        learning_rates: rates to choose from; empty for the recipe's own.
        heat_seconds: processor-seconds of each candidate before the choice; 0 to train all whole.
        recipe: how each candidate is trained.
        samples: K of the final evaluation.
        test_rows: how many random rows of the test set it scores; 0 for all.
        tolerance: see `log_likelihood`; None to draw all K samples.
        paper_nll: the paper's number, None where it has none.
        published: the numbers of others on the same data, by who or what.
        rivals: whether simple models are run on the same rows (`rivals.py`).
        minutes: roughly what it takes on two cores, for `--minutes`.
        x: its place on the horizontal axis of a curve.
        line: the curve it belongs to.
        source: for figures, (experiment, row) of the model that is looked at.
        seed: of everything random.
        no_result: what the tables say of it as long as it has no result.
        tried: which other recipes and models it was chosen from, and what they gave.
        next: what would be tried next, where the paper's number was not reached.
        variants: those of them that `--validation` trains and judges again.
    """

    experiment: str
    name: str
    data: str = ""
    models: tuple[str, ...] = ()
    mixed: bool = False
    learning_rates: tuple[float, ...] = ()
    heat_seconds: float = 0.0
    recipe: Recipe = dataclasses.field(default_factory=Recipe)
    samples: int = 10_000
    test_rows: int = 0
    tolerance: float | None = None
    paper_nll: float | None = None
    published: Mapping[str, float] = dataclasses.field(default_factory=dict)
    rivals: bool = False
    automatic_minutes: float = 5.0
    minutes: float = 10.0
    x: float | None = None
    line: str | None = None
    source: tuple[str, str] | None = None
    seed: int = 0
    no_result: str = "not run"
    tried: str = ""
    next: str = ""
    variants: tuple["Row", ...] = ()

    @property
    def slug(self) -> str:
        """The name as a file name; unique where the name is."""
        return slug(self.name)

    @property
    def automatic(self) -> bool:
        """Whether the model is left to the automatic default."""
        return self.models == AUTOMATIC

    def candidates(self) -> dict[str, tuple[str, Recipe]]:
        """Folder name to architecture and recipe."""
        rates = self.learning_rates or (self.recipe.learning_rate,)
        return {
            f"{slug(model)}-rate-{rate:g}": (
                model,
                dataclasses.replace(self.recipe, learning_rate=rate),
            )
            for model in self.models
            for rate in rates
        }


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper."""

    name: str
    title: str
    kind: str
    about: str
    rows: tuple[Row, ...]

    def row(self, name: str) -> Row:
        """By name, whatever the case."""
        known = {row.name.lower(): row for row in self.rows}
        if name.lower() not in known:
            valid = ", ".join(f"'{row.name}'" for row in self.rows)
            raise UsageError(f"{self.name} has no row '{name}'; its rows: {valid}")
        return known[name.lower()]


def slug(name: str) -> str:
    """Letters, digits, dots and dashes only; a negative number says so in letters."""
    told = re.sub(r"=-(?=\d)", "-minus-", name.lower().replace("_", "-"))
    return re.sub(r"[^a-z0-9.]+", "-", told).strip("-")


def experiment_names() -> list[str]:
    """In the paper's order: the files are numbered by their first line, `order`."""
    return list(_all())


def load_experiment(name: str) -> Experiment:
    """One experiment by name."""
    experiments = _all()
    if name not in experiments:
        raise UsageError(f"no experiment is called '{name}'; valid: {', '.join(experiments)}")
    return experiments[name]


def _all() -> dict[str, Experiment]:
    folder = files("wakesleep") / "experiments"
    numbered = []
    for file in folder.iterdir():
        if file.name.endswith(".toml"):
            values = tomllib.loads(file.read_text(encoding="utf-8"))
            numbered.append((values.pop("order"), _experiment(file.name[:-5], values)))
    return {made.name: made for _, made in sorted(numbered, key=lambda pair: pair[0])}


def _experiment(name: str, values: Mapping[str, Any]) -> Experiment:
    """Build and check one experiment; rows take what they do not say from `[defaults]`."""
    defaults = dict(values.get("defaults", {}))
    common = defaults.pop("recipe", {})
    rows = tuple(_row(name, {**defaults, **row}, common) for row in values["rows"])
    if values["kind"] not in KINDS:
        raise UsageError(f"{name}: kind must be one of {', '.join(KINDS)}")
    if len({row.slug for row in rows}) != len(rows):
        raise UsageError(f"{name}: two rows would share a run folder")
    return Experiment(name, values["title"], values["kind"], values.get("about", ""), rows)


def _row(experiment: str, values: Mapping[str, Any], common: Mapping[str, Any]) -> Row:
    chosen = dict(values)
    where = f"{experiment}, row '{chosen['name']}'"
    own = {**common, **chosen.pop("recipe", {})}
    recipe = recipe_from_dict(own, where)
    variants = chosen.pop("variants", ())
    chosen["variants"] = tuple(
        _row(experiment, {**values, "variants": (), **one}, own) for one in variants
    )
    for name in ("models", "learning_rates", "source"):
        if name in chosen:
            chosen[name] = tuple(chosen[name])
    try:
        row = Row(experiment=experiment, recipe=recipe, **chosen)
    except TypeError:
        valid = ", ".join(field.name for field in dataclasses.fields(Row))
        raise UsageError(f"{where} has an unknown field; valid: {valid}") from None
    if bool(row.models and row.data) == bool(row.source):
        raise UsageError(f"{where} needs either data and models, or a source")
    return row
