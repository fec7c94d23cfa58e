"""Gradient estimators. `ESTIMATORS` is the only registry: a new one is a file and a line here."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Estimator, Info, Step, summarise
from wakesleep.estimators.disarm import DisARM
from wakesleep.estimators.jsa import JSA
from wakesleep.estimators.nvil import NVIL
from wakesleep.estimators.order_agnostic import OrderAgnostic
from wakesleep.estimators.ovis import OVIS
from wakesleep.estimators.refined import Refined
from wakesleep.estimators.reweighted import Reweighted
from wakesleep.estimators.rloo import RLOO
from wakesleep.estimators.tvo import TVO
from wakesleep.estimators.vimco import VIMCO
from wakesleep.estimators.wake_sleep import WakeSleep
from wakesleep.options import check_option, declared, unknown_option

ESTIMATORS: dict[str, type[Estimator]] = {
    "reweighted": Reweighted,
    "refined": Refined,
    "wake_sleep": WakeSleep,
    "nvil": NVIL,
    "rloo": RLOO,
    "disarm": DisARM,
    "vimco": VIMCO,
    "ovis": OVIS,
    "tvo": TVO,
    "jsa": JSA,
    "order_agnostic": OrderAgnostic,
}
"""Every estimator a recipe can name."""


def create_estimator(options: str | Mapping[str, Any], base: Estimator | None = None) -> Estimator:
    """An estimator from a name, or from a table of a `name` and options.

    `base` is the estimator whose options hold where the table names none or the same one.

    >>> create_estimator({"name": "reweighted", "samples": 10}).samples
    10
    """
    chosen = {"name": options} if isinstance(options, str) else dict(options)
    name = chosen.pop("name", estimator_name(base) if base else "reweighted")
    if name not in ESTIMATORS:
        raise UsageError(f"unknown estimator '{name}'; valid: {', '.join(ESTIMATORS)}")
    kind = ESTIMATORS[name]
    valid = [field.name for field in dataclasses.fields(kind)]
    rules = declared(kind)
    for option, value in chosen.items():
        if option not in valid:
            raise unknown_option(f"estimator '{name}'", option, valid)
        if option in rules:
            check_option(option, value, rules[option])
    return dataclasses.replace(base, **chosen) if type(base) is kind else kind(**chosen)


def estimator_name(estimator: Estimator) -> str:
    """The registered name of an estimator's kind."""
    for name, kind in ESTIMATORS.items():
        if type(estimator) is kind:
            return name
    raise UsageError(f"{type(estimator).__name__} is not in ESTIMATORS: add it under a name")


def estimator_table(estimator: Estimator) -> dict[str, Any]:
    """The name and options that `create_estimator` makes the same estimator from."""
    return {"name": estimator_name(estimator), **estimator.options()}


__all__ = [
    "ESTIMATORS",
    "JSA",
    "NVIL",
    "OVIS",
    "RLOO",
    "TVO",
    "VIMCO",
    "Batch",
    "DisARM",
    "Estimator",
    "Info",
    "OrderAgnostic",
    "Refined",
    "Reweighted",
    "Step",
    "WakeSleep",
    "create_estimator",
    "estimator_name",
    "estimator_table",
    "summarise",
]
