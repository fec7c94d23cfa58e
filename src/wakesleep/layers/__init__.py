"""The kinds of layers. `LAYERS` is the only registry: a new kind is one file and one line here."""

import inspect
from dataclasses import dataclass

from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.layers.ar_sbn import ARSBN
from wakesleep.layers.base import Layer, Options
from wakesleep.layers.deterministic import NONLINEARITIES, Deterministic
from wakesleep.layers.initialisation import INITIALISATIONS, Initialisation, initialisation
from wakesleep.layers.nade import NADE
from wakesleep.layers.sbn import SBN


@dataclass(frozen=True)
class Kind:
    """A class of layer, and whether it sees its parents through deterministic units."""

    layer: type[Layer]
    deterministic: bool = False


LAYERS: dict[str, Kind] = {
    "sbn": Kind(SBN),
    "ar_sbn": Kind(ARSBN),
    "nade": Kind(NADE),
    "darn": Kind(ARSBN, deterministic=True),
}
"""Every kind of layer an architecture string can name."""


def create_layer(
    kind: str,
    key: Key[Array, ""],
    size: int,
    parents: int,
    init: Initialisation,
    options: Options | None = None,
) -> Layer:
    """A layer of a registered kind with initial parameters.

    Beside its kind's own options every layer takes `units`, the number of deterministic
    units between it and its parents (darn: as many as parents unless given), and their
    `nonlinearity` (tanh unless given). Without parents there is nothing to see through
    them, so a top layer has none.
    """
    chosen = dict(options or {})
    check_options(kind, chosen)
    units = chosen.pop("units", parents if LAYERS[kind].deterministic else 0)
    if units and parents:
        layer = LAYERS[kind].layer
        return Deterministic.create(key, size, parents, init, layer=layer, units=units, **chosen)
    chosen.pop("nonlinearity", None)
    return LAYERS[kind].layer.create(key, size, parents, init, **chosen)


def check_options(kind: str, options: Options) -> None:
    """Raise a `UsageError` that says what is valid unless `kind` takes these options."""
    if kind not in LAYERS:
        raise UsageError(f"unknown layer kind '{kind}'; valid: {', '.join(LAYERS)}")
    valid = option_names(kind)
    for name, value in options.items():
        if name not in valid:
            raise UsageError(
                f"layer kind '{kind}' has no option '{name}'; valid: {', '.join(valid)}"
            )
        if name == "nonlinearity":
            if value not in NONLINEARITIES:
                names = ", ".join(NONLINEARITIES)
                raise UsageError(f"unknown nonlinearity '{value}'; valid: {names}")
        elif not isinstance(value, int) or value < 1:
            raise UsageError(
                f"option {name}={value} of layer kind '{kind}' must be a count of 1 or more"
            )


def option_names(kind: str) -> tuple[str, ...]:
    """The options a kind takes in an architecture string."""
    parameters = inspect.signature(LAYERS[kind].layer.create).parameters.values()
    own = tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
    return (*own, "units", "nonlinearity")


def kind_of(layer: Layer) -> str:
    """The registered name under which a layer like this is created."""
    deterministic = isinstance(layer, Deterministic)
    layer_class = type(layer.inner if isinstance(layer, Deterministic) else layer)
    names = [name for name, kind in LAYERS.items() if kind.layer is layer_class]
    return next((n for n in names if LAYERS[n].deterministic == deterministic), names[0])


__all__ = [
    "ARSBN",
    "INITIALISATIONS",
    "LAYERS",
    "NADE",
    "SBN",
    "Deterministic",
    "Initialisation",
    "Kind",
    "Layer",
    "check_options",
    "create_layer",
    "initialisation",
    "kind_of",
    "option_names",
]
