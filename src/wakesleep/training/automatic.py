"""The automatic default: which models are tried on a table, and how long each is trained.

A small rule of the rows, the columns and the minutes, and of nothing else: no clock is read, so
the same data, minutes and seed give the same model on every machine. docs/automatic.md explains it.
"""

import math
from collections.abc import Container
from dataclasses import dataclass, replace

from wakesleep.architecture import Architecture, parse
from wakesleep.data import ArrayRows, Dataset
from wakesleep.errors import UsageError
from wakesleep.layers import LayerSpec, option_rules
from wakesleep.layers.order import REVERSED
from wakesleep.options import Number, check_option
from wakesleep.recipe import Recipe
from wakesleep.training.arithmetic import COMPILATION, update_seconds, validation_seconds
from wakesleep.training.candidate import Candidate

AUTO = "auto"
"""What stands in place of an architecture where it is chosen by the data."""
MINUTES = 2.0
"""The budget unless given."""

BATCH = 100
FEW_UPDATES, MOST_UPDATES = 3000, 10_000
"""The most updates of a training whatever the budget: half the rows, within these limits. They are
also what the learning rate falls over, so early stopping finds it still high on few rows."""
LEAST_UPDATES = 1000
"""A candidate whose share of the budget allows fewer is not tried."""
FEWEST_UPDATES = 250
"""What even the smallest budget gives."""
PATIENCE = 500
"""Updates without a better validation log-likelihood after which training stops."""
LEAST_BETWEEN, MOST_BETWEEN = 10, 400
"""Updates between two validations."""

SOME_ROWS = 1000
"""Below, there is more decay and there are fewer hidden and latent units."""
DECAY, MOST_DECAY = 0.05, 0.5
MORE_DECAY, RUNGS = 4, 2
"""The factor of the next try, and how many there are, where training was stopped early."""
MANY_COLUMNS = 40
"""From so many on, a latent model is a sparse DARN: most columns say nothing of most others."""
SPARSITY = 0.25
"""Of a DARN, times the root of the share of a minibatch in all rows: so much of a gradient's usual
size is what is left of noise alone in its mean over the rows."""
SPARSER = 3
"""The factor of the next try, which also learns at so many times less."""
SMOOTHED, SMOOTHING, MOST_SMOOTHED = "smoothed", 1.0, 5000
"""The name of the candidate whose rows are smoothed, by how much they are, and the most rows for
which it is tried: more have neighbours of their own."""

COMPANIONS, MOST_COMPANIONS = 4, 24
"""At most so many further trainings of the best candidate, to be mixed with it, in a budget of
`MINUTES`, and more in proportion where minutes were asked for; and how many at the very most, as
each makes the model slower to score."""
AGAIN, BACKWARDS, SHUFFLED = "again", "backwards", "order"
"""How these differ from it: by the seed alone, or in the order of their columns as well."""
ORDER_MATTERS = 0.01
"""By this share of its log-likelihood the best is better than with its columns in another order:
then the columns are a sequence, and further trainings are not shuffled."""


def is_automatic(model: object) -> bool:
    """Whether a model is asked for by the word "auto"."""
    return isinstance(model, str) and model.strip().lower() == AUTO


@dataclass(frozen=True)
class _Idea:
    """What a candidate is before its updates are counted; `share` is of the budget."""

    name: str
    model: str
    share: float
    weight_decay: float = 0.0
    sparsity: float = 0.0


def automatic_candidates(data: Dataset, minutes: float | int = MINUTES) -> tuple[Candidate, ...]:
    """The models to choose from, each with its share of the budget.

    Args:
        data: with a validation set.
        minutes: of arithmetic, on two cores of the machine the rates were measured on.
    """
    check_option("minutes", minutes, Number(above=0))
    if isinstance(data.train, ArrayRows):
        raise UsageError(
            f"the automatic model is for tables of bits, but data set '{data.name}' holds arrays: "
            "give a model"
        )
    first, *others = _ideas(len(data.train), len(data.groups or range(data.features)))
    tried = [_candidate(idea, data, 60.0 * minutes) for idea in others]
    # A model that its share of the budget would hardly train is not tried; the first always is.
    promising = [one for one in tried if one.updates >= LEAST_UPDATES]
    share = first.share * (1 if len(promising) == len(tried) else 2)
    return (_candidate(replace(first, share=share), data, 60.0 * minutes), *promising)


def _ideas(rows: int, columns: int) -> tuple[_Idea, _Idea]:
    few = rows < SOME_ROWS
    decay = round(min(MOST_DECAY, DECAY * SOME_ROWS / rows), 3) if few else DECAY
    latents = 10 if few else 50
    visible = _Idea("nade", f"nade(hidden={100 if few else 200})", 0.3, weight_decay=decay)
    if columns < MANY_COLUMNS:
        return visible, _Idea("latents", f"nade/nade {latents}", 0.3, weight_decay=decay)
    sparsity = round(SPARSITY * math.sqrt(BATCH / max(rows, BATCH)), 4)
    return visible, _Idea("latents", f"darn/darn {latents}", 0.3, sparsity=sparsity)


def _candidate(idea: _Idea, data: Dataset, seconds: float) -> Candidate:
    between = min(MOST_BETWEEN, max(LEAST_BETWEEN, len(data.valid) // 10))
    recipe = Recipe(
        epoch_updates=between,
        batch_size=BATCH,
        weight_decay=idea.weight_decay,
        sparsity=idea.sparsity,
        patience=max(5, PATIENCE // between),
    )
    # What its sparsity holds back takes its time, and its updates are cheap.
    updates = MOST_UPDATES if idea.sparsity else most_updates(len(data.train))
    most = max(1, updates // between)
    wanted = (idea.share * seconds - COMPILATION) / _epoch_seconds(idea.model, recipe, data)
    epochs = int(min(most, max(FEWEST_UPDATES / between, wanted, 1)))
    return Candidate(idea.name, idea.model, recipe.overridden({"epochs": epochs}))


def most_updates(rows: int) -> int:
    """Those after which a training on so many rows ends at the latest.

    >>> [most_updates(rows) for rows in (118, 16_000, 50_000)]
    [3000, 8000, 10000]
    """
    return min(MOST_UPDATES, max(FEW_UPDATES, rows // 2))


def nominal_seconds(candidate: Candidate, data: Dataset, epochs: int) -> float:
    """What so many epochs of a candidate take of the budget."""
    return COMPILATION + epochs * _epoch_seconds(candidate.model, candidate.recipe, data)


def _epoch_seconds(model: str, recipe: Recipe, data: Dataset) -> float:
    update = update_seconds(model, data.features, recipe)
    validation = validation_seconds(model, data.features, recipe, len(data.valid))
    return recipe.epoch_updates * update + validation


def held_back_more(candidate: Candidate, rung: int) -> Candidate:
    """The same with more weight decay, or, if it is sparse, sparser and at a lower rate."""
    recipe = candidate.recipe
    if recipe.sparsity:
        sparsity = round(recipe.sparsity * SPARSER**rung, 4)
        changes = {"sparsity": sparsity, "learning_rate": recipe.learning_rate / SPARSER**rung}
        return Candidate(f"sparser-{rung}", candidate.model, recipe.overridden(changes))
    before = f"{SMOOTHED}-" if recipe.smoothing else ""
    changes = {"weight_decay": round(recipe.weight_decay * MORE_DECAY**rung, 3)}
    return Candidate(f"{before}more-decay-{rung}", candidate.model, recipe.overridden(changes))


def smoothed(first: Candidate, data: Dataset) -> Candidate | None:
    """The same on rows whose numbers are moved; None for many rows, or none that could be.

    Noise keeps a model from learning the rows by heart, so it starts with little decay.
    """
    if data.table is None or data.table.smoothing is None or len(data.train) > MOST_SMOOTHED:
        return None
    changes = {"smoothing": SMOOTHING, "weight_decay": DECAY}
    return Candidate(SMOOTHED, first.model, first.recipe.overridden(changes))


def held_back_like(candidate: Candidate, other: Candidate) -> Candidate:
    """The same with the smoothing of another, and its weight decay unless it is sparse."""
    names = ("smoothing",) if candidate.recipe.sparsity else ("smoothing", "weight_decay")
    changes = {name: getattr(other.recipe, name) for name in names}
    return replace(candidate, recipe=candidate.recipe.overridden(changes))


def companion(best: Candidate, number: int, lost: Container[str] = ()) -> Candidate:
    """The best candidate once more, to be mixed with it: by another seed, and in another order.

    The first takes the columns backwards, which keeps neighbours together; the others shuffle
    them. Ways that `lost` before are not tried again: where the columns are a sequence, that leaves
    both directions in turn. A kind of layer that has no order goes by the seed alone.
    """
    plan = parse(best.model)
    if not isinstance(plan, Architecture) or "order" not in option_rules(plan.p[0].kind):
        lost = (BACKWARDS, SHUFFLED)
    if number > 1 and SHUFFLED not in lost:
        way, order = SHUFFLED, number
    elif (number == 1 or number % 2 == 0) and BACKWARDS not in lost:
        way, order = BACKWARDS, REVERSED
    else:
        return Candidate(f"{AGAIN}-{number}", best.model, best.recipe, number)
    assert isinstance(plan, Architecture)
    return Candidate(f"{way}-{number}", str(_with_order(plan, order)), best.recipe, number)


def most_companions(minutes: float | int) -> int:
    """How many there are at most.

    >>> [most_companions(minutes) for minutes in (0.25, 2, 5, 60)]
    [4, 4, 10, 24]
    """
    return min(MOST_COMPANIONS, int(COMPANIONS * max(1, minutes / MINUTES)))


def way_of(candidate: Candidate) -> str:
    """How a companion differs from the best candidate, by its name."""
    return candidate.name.rpartition("-")[0]


def order_matters(best: float, other: float) -> bool:
    """Whether columns in another order do so much worse that it is not worth trying more such."""
    return best - other > ORDER_MATTERS * abs(best)


def _with_order(plan: Architecture, order: int) -> Architecture:
    visible = LayerSpec(plan.p[0].kind, {**plan.p[0].options, "order": order})
    return Architecture((visible, *plan.p[1:]), plan.q, plan.latent_sizes)
