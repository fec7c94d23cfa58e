"""The kinds of layers. `LAYERS` is the only registry: a new kind is one file and one line here."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.layers.ar_sbn import ARSBN
from wakesleep.layers.base import Layer, Options, Preactivations
from wakesleep.layers.deterministic import Deterministic
from wakesleep.layers.distribution import Distribution, Kept
from wakesleep.layers.emission import BERNOULLI, Bernoulli, Emission
from wakesleep.layers.groups import Groups, emission_of
from wakesleep.layers.initialisation import INITIALISATIONS, Initialisation, initialisation
from wakesleep.layers.nade import NADE
from wakesleep.layers.rbm import RBM
from wakesleep.layers.sbn import SBN
from wakesleep.options import Rule, unknown_option


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
"""Every kind of layer that p and q can be made of."""

TOPS: dict[str, type[RBM]] = {"rbm": RBM}
"""Kinds that are known up to a constant: p's top alone can be one of them."""


@dataclass(frozen=True)
class LayerSpec:
    """A kind of layer with its options, as in `nade(hidden=100)`."""

    kind: str
    options: Options = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self.kind, self.options)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.kind}({inside})" if inside else self.kind


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
    if kind in TOPS:
        raise UsageError(f"'{kind}' has no parents: it can be p's top and nothing else")
    layer = LAYERS[kind].layer
    units = chosen.pop("units", parents if LAYERS[kind].deterministic else 0)
    if units and parents:
        return Deterministic.create(key, size, parents, init, layer=layer, units=units, **chosen)
    own = {name: value for name, value in chosen.items() if name in layer.option_rules}
    return layer.create(key, size, parents, init, **own)


def create_distribution(
    kind: str,
    key: Key[Array, ""],
    size: int,
    parents: int,
    init: Initialisation,
    options: Options | None = None,
) -> Distribution:
    """A layer of p, which without parents may be an undirected top too."""
    if kind not in TOPS or parents:
        return create_layer(kind, key, size, parents, init, options)
    check_options(kind, options or {})
    return TOPS[kind].create(key, size, 0, init, **(options or {}))


def check_options(kind: str, options: Options) -> None:
    """Raise a `UsageError` that says what is valid unless `kind` takes these options."""
    rules = option_rules(kind)
    for name, value in options.items():
        if name not in rules:
            raise unknown_option(f"layer kind '{kind}'", name, list(rules))
        problem = rules[name].problem(value)
        if problem:
            raise UsageError(f"option {name}={value} of layer kind '{kind}' {problem}")


def option_rules(kind: str) -> Mapping[str, Rule]:
    """The options a kind takes in an architecture string, and what their values must be."""
    if kind in TOPS:
        return TOPS[kind].option_rules
    if kind not in LAYERS:
        raise UsageError(f"unknown layer kind '{kind}'; valid: {', '.join([*LAYERS, *TOPS])}")
    return {**LAYERS[kind].layer.option_rules, **Deterministic.option_rules}


def kind_of(layer: Distribution) -> str:
    """The registered name under which a layer like this is created."""
    for name, top in TOPS.items():
        if type(layer) is top:
            return name
    deterministic = isinstance(layer, Deterministic)
    layer_class = type(layer.inner if isinstance(layer, Deterministic) else layer)
    names = [name for name, kind in LAYERS.items() if kind.layer is layer_class]
    if not names:
        raise UsageError(
            f"{layer_class.__name__} is not a registered kind of layer: add it to LAYERS first"
        )
    return next((n for n in names if LAYERS[n].deterministic == deterministic), names[0])


def with_emission(layer: Kept, emission: Emission) -> Kept:
    """The same layer with units that emit otherwise."""
    if isinstance(layer, RBM) and emission != BERNOULLI:
        raise UsageError(
            "the units of an RBM are bits by themselves, and this data has groups of which one "
            "alone is 1: put a layer below it, as in 'dbn 50-20'"
        )
    if isinstance(layer, Deterministic):
        return dataclasses.replace(layer, inner=with_emission(layer.inner, emission))
    # Every kind has the field; the base only names it.
    return dataclasses.replace(layer, emission=emission)  # type: ignore[call-arg]


def spec_of(layer: Distribution) -> LayerSpec:
    """The kind and all options with which `create_layer` makes this layer's shape again."""
    inner = layer.inner.options if isinstance(layer, Deterministic) else {}
    return LayerSpec(kind_of(layer), {**inner, **layer.options})


__all__ = [
    "ARSBN",
    "BERNOULLI",
    "INITIALISATIONS",
    "LAYERS",
    "NADE",
    "RBM",
    "SBN",
    "TOPS",
    "Bernoulli",
    "Deterministic",
    "Distribution",
    "Emission",
    "Groups",
    "Initialisation",
    "Kept",
    "Kind",
    "Layer",
    "LayerSpec",
    "Preactivations",
    "check_options",
    "create_distribution",
    "create_layer",
    "emission_of",
    "initialisation",
    "kind_of",
    "option_rules",
    "spec_of",
    "with_emission",
]
