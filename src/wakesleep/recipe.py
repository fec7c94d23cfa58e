"""How to train, as plain data: one phase, or several that override it one after another.

No JAX here until a recipe is made: the command line reads this file to answer `--help`.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from wakesleep.errors import UsageError
from wakesleep.options import Choice, Fraction, Number, Whole, check_declared

if TYPE_CHECKING:
    from wakesleep.estimators import Estimator


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a training run does, phase by phase.

    The fields describe one phase. With `phases`, each entry overrides some of them, and the
    phases run in turn: `Recipe(phases=({"epochs": 1000}, {"epochs": 500, "estimator":
    {"samples": 100}, "rate_divisor": 1.005}))`.

    >>> recipe = Recipe(epochs=3, phases=({}, {"estimator": {"samples": 50}}))
    >>> [phase.estimator.samples for phase in recipe.expand()]
    [5, 50]
    """

    epochs: Annotated[int, Whole(least=1)] = 100
    """Passes over the training set, or stretches of `epoch_updates`."""
    estimator: Any = "reweighted"
    """Where gradients come from: a name in `ESTIMATORS`, a table of a `name` and its options,
    or an estimator; kept as an estimator."""
    batch_size: Annotated[int, Whole(least=1)] = 100
    """Examples per step."""
    shares: Annotated[int, Whole()] = 0
    """Into how many equal shares a minibatch is cut, for that many processes or fewer. They are
    computed one by one and added in order: the result is the same, bit for bit, for any number of
    processes that divides this one. 0 for two where there are 10,000 training rows or more and
    minibatches are even, else one."""
    epoch_updates: Annotated[int, Whole()] = 0
    """Updates in an epoch, whatever the number of rows; 0 for one pass over the training set."""
    optimiser: Annotated[str, Choice(("adam", "sgd"))] = "adam"
    """adam, or sgd with the paper's damped momentum of 0.95 on the summed objective."""
    learning_rate: Annotated[float, Number(above=0)] = 0.01
    """The rate a phase starts with."""
    schedule: Annotated[str, Choice(("cosine", "constant"))] = "cosine"
    """How the rate goes on: down to zero along a cosine, or as it is."""
    rate_divisor: Annotated[float, Number(above=0)] = 1.0
    """The rate is also divided by this after every epoch of the phase."""
    rate_p: Annotated[float, Number()] = 1.0
    """The learning rate of p, relative to learning_rate."""
    rate_q: Annotated[float, Number()] = 1.0
    """That of q."""
    weight_decay: Annotated[float, Number()] = 0.01
    """Decoupled weight decay, per unit of learning rate."""
    sparsity: Annotated[float | int, Number()] = 0.0
    """A decoupled L1 penalty on the autoregressive weights of AR-SBN and DARN layers, per unit of
    learning rate: weights that the rows do not speak for are drawn to zero. For few rows of many
    columns; 0 for none."""
    smoothing: Annotated[float | int, Number()] = 0.0
    """For tables: every pass moves the numbers of its rows by noise, so many times as wide as is
    usual for as many rows; 0 for none."""
    shifts: Annotated[int, Whole()] = 0
    """For images: every pass moves each picture by up to so many pixels, up or down and left or
    right; 0 for none. A last phase without it has the pictures where they belong."""
    clip: Annotated[float, Number()] = 0.0
    """Gradients are scaled down to this global norm; 0 for no limit."""
    average: Annotated[float, Fraction()] = 0.998
    """Decay per step of the averaged weights, evaluated beside the raw ones; 0 for none."""
    patience: Annotated[int, Whole()] = 0
    """Stop after this many epochs without a better validation log-likelihood; 0 for never."""
    processor_seconds: Annotated[float | int, Number()] = 0.0
    """Stop at the end of the epoch that spent so much of the processors' time; 0 for never."""
    validation_samples: Annotated[int, Whole(least=1)] = 10
    """K of the validation log-likelihood that is measured after every epoch."""
    init: Annotated[str, Choice(("default", "paper"))] = "default"
    """How parameters start; default also starts p's visible bias at the data's log-odds."""
    pretrain: Annotated[int, Whole()] = 0
    """For a deep belief network: epochs for each of its layers, one after another as RBMs, before
    the first phase."""
    phases: tuple[Mapping[str, Any], ...] = ()
    """Overrides, one mapping per phase; empty for a single phase."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimator", _as_estimator(self.estimator))
        check_declared(self)
        for number, override in enumerate(self.phases, start=1):
            _check_override(number, override)
        if self.phases:
            self.expand()

    def expand(self) -> tuple["Recipe", ...]:
        """The phases in order, each a recipe without phases of its own."""
        alone = dataclasses.replace(self, phases=())
        return tuple(alone.overridden(override) for override in self.phases) or (self,)

    def overridden(self, override: Mapping[str, Any]) -> "Recipe":
        """With some fields replaced; estimator options not named keep their values."""
        values = dict(override)
        if "estimator" in values:
            values["estimator"] = _as_estimator(values["estimator"], self.estimator)
        return dataclasses.replace(self, **values)

    def shares_among(self, processes: int) -> int:
        """Shares of a minibatch: its own number, or the next that so many processes divide."""
        return math.lcm(self.shares or 1, processes)

    @property
    def total_epochs(self) -> int:
        """Epochs of all phases together."""
        return sum(phase.epochs for phase in self.expand())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for TOML and JSON."""
        from wakesleep.estimators import estimator_table

        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        values["estimator"] = estimator_table(values["estimator"])
        values["phases"] = [dict(override) for override in self.phases]
        return values


FIELDS = tuple(field.name for field in dataclasses.fields(Recipe))
RUN_WIDE = ("init", "phases", "patience", "pretrain", "processor_seconds", "shares")
"""Fields that hold for the whole run: no phase can set them."""

NAMED: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {
        "epochs": 160,
        "batch_size": 25,
        "optimiser": "sgd",
        "learning_rate": 0.001,
        "schedule": "constant",
        "weight_decay": 0.0,
        "average": 0.0,
        "patience": 10,
        "init": "paper",
        "estimator": {"name": "reweighted", "combine": False},
    },
}
"""The recipes that have a name, as what they change of the default."""


def named_recipe(name: str) -> Recipe:
    """A recipe by name."""
    if name not in NAMED:
        raise UsageError(f"no recipe is called '{name}'; valid: {', '.join(NAMED)}")
    return Recipe(**NAMED[name])


def _as_estimator(given: Any, base: Any = None) -> "Estimator":
    from wakesleep.estimators import Estimator, create_estimator

    if isinstance(given, Estimator):
        return given
    if not isinstance(given, str | Mapping):
        raise UsageError(f"estimator must be a name or a table of options, not {given!r}")
    return create_estimator(given, base)


def _check_override(number: int, override: Any) -> None:
    if not isinstance(override, Mapping):
        raise UsageError(f"phase {number} must be a table of fields, not {override!r}")
    for name in override:
        if name not in FIELDS or name in RUN_WIDE:
            valid = ", ".join(field for field in FIELDS if field not in RUN_WIDE)
            raise UsageError(f"phase {number} cannot set '{name}'; valid: {valid}")
