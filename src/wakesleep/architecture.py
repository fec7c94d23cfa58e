"""The paper's notation, `SBN/NADE 10-200-200`, to a machine and back.

`P/Q top-…-bottom`: p's layers are of kind P, q's of kind Q; the first size is the top layer,
the last is next to the data. `P` alone is a model without latents, as `ar_sbn` (an FVSBN) or
`nade(hidden=500)`. Where layers differ, P and Q name a kind per layer from the data upwards, as
`nade|sbn/sbn 10-200`; the last kind named goes on to the top. `sbn|rbm(units=500)/sbn 200` has an
undirected top, an RBM of the 200 latent units next to it and 500 hidden ones: `dbn 500-200` for
short, and `rbm 500` is a plain RBM, of the data and 500 hidden units. This file is the one place
where the order of sizes is reversed: layers and latents everywhere else run from the data upwards.
"""

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.layers import (
    BERNOULLI,
    LAYERS,
    TOPS,
    Distribution,
    Kept,
    Kind,
    LayerSpec,
    create_distribution,
    create_layer,
    emission_of,
    initialisation,
    spec_of,
    with_emission,
)
from wakesleep.layers.base import Options
from wakesleep.models import BitModel, EoNADE, EoNADESpec, HelmholtzMachine, Mixture
from wakesleep.notation import EXAMPLE, MOST_UNITS, parse_kind, parse_sizes
from wakesleep.options import unknown_option

MIXTURE = "mixture of"
EONADE = "eonade"
"""The kind that is no layer but a model of its own; see `EoNADESpec` for its options."""


@dataclass(frozen=True)
class Architecture:
    """A spec for every layer of p and q, and the latent sizes, all from the data upwards.

    Where fewer specs than layers are given, the last of them goes on to the top. Without
    latents p is one layer and q none.

    >>> p = (LayerSpec("nade"), LayerSpec("sbn"))
    >>> str(Architecture(p, (LayerSpec("sbn"),), latent_sizes=(200, 200, 10)))
    'nade|sbn/sbn 10-200-200'
    """

    p: Sequence[LayerSpec]
    q: Sequence[LayerSpec]
    latent_sizes: Sequence[int]

    def __post_init__(self) -> None:
        depth = len(self.latent_sizes)
        for size in self.latent_sizes:
            if not 0 < size <= MOST_UNITS:
                raise UsageError(f"a layer has between 1 and {MOST_UNITS} units, not {size}")
        object.__setattr__(self, "p", _for_every_layer(self.p, depth + 1, "p"))
        object.__setattr__(self, "q", _for_every_layer(self.q, depth, "q"))
        object.__setattr__(self, "latent_sizes", tuple(self.latent_sizes))

    def __str__(self) -> str:
        if not self.latent_sizes:
            return _join(self.p)
        sizes = "-".join(map(str, reversed(self.latent_sizes)))
        return f"{_join(self.p)}/{_join(self.q)} {sizes}"


def _for_every_layer(
    specs: Sequence[LayerSpec], layers: int, network: str
) -> tuple[LayerSpec, ...]:
    named = "|".join(map(str, specs))
    if len(specs) > layers:
        raise UsageError(
            f"'{named}' names a kind for each of {len(specs)} layers, but {network} has {layers}"
        )
    if layers and not specs:
        raise UsageError(f"{network} has {layers} layers, but no kind is named for them")
    top = tuple(specs[-1:]) if specs and specs[-1].kind in TOPS else ()
    below = tuple(specs[: len(specs) - len(top)])
    if any(spec.kind in TOPS for spec in below) or (top and network == "q"):
        raise UsageError(f"'{named}': an RBM can be the top of p alone")
    if top and layers > 1 and not below:
        raise UsageError(
            f"'{named}' names no kind for the layers below the RBM: write 'sbn|{named}/...'"
        )
    return (*below, *below[-1:] * (layers - len(specs)), *top)


def _join(specs: Sequence[LayerSpec]) -> str:
    """The specs without those that only repeat the one before them, up to the top."""
    named = list(specs)
    top = [named.pop()] if named[-1].kind in TOPS else []
    while len(named) > 1 and named[-1] == named[-2]:
        named.pop()
    return "|".join(map(str, named + top))


def parse(text: str) -> Architecture | EoNADESpec:
    """Read the paper's notation, case-insensitively; `ar-sbn` and `ar_sbn` are the same.

    Options follow a kind in brackets: `nade(hidden=100)`, `sbn(units=200, nonlinearity=relu)`.

    >>> str(parse("SBN/NADE 10-200-200"))
    'sbn/nade 10-200-200'
    >>> [str(layer) for layer in parse("nade(hidden=9)|sbn/sbn 10-200").p]
    ['nade(hidden=9)', 'sbn', 'sbn']
    >>> str(parse("DBN 2000-500")), str(parse("RBM 500"))
    ('sbn|rbm(units=2000)/sbn 500', 'rbm(units=500)')
    """
    if short := re.fullmatch(r"\s*(rbm|dbn)\s+([\d\s-]+?)\s*", text.lower()):
        return _parse_undirected(short[1], parse_sizes(short[2], text), text)
    if re.fullmatch(r"\s*[\w-]*[a-z_][\w-]*\s*(\([^/]*\))?\s*", text.lower()):
        kind, options = parse_kind(text.lower())
        if kind == EONADE:
            return _eonade(options)
        return Architecture((LayerSpec(kind, options),), (), ())
    parts = re.fullmatch(r"\s*([^/]+)/(.+?)\s+([\d\s-]+?)\s*", text.lower())
    if not parts:
        raise UsageError(
            f"architecture '{text}' is not of the form P/Q top-...-bottom, as {EXAMPLE}, "
            "or P alone for a model without latents"
        )
    p, q = (
        tuple(LayerSpec(*parse_kind(kind)) for kind in part.split("|"))
        for part in parts.groups()[:2]
    )
    return Architecture(p, q, parse_sizes(parts[3], text))


def _parse_undirected(name: str, sizes: tuple[int, ...], whole: str) -> Architecture:
    """`rbm 500` and `dbn 2000-500`; the topmost size is that of the RBM's hidden units."""
    *latent_sizes, units = sizes
    if (name == "rbm") == bool(latent_sizes):
        raise UsageError(
            f"'{whole}' is neither an RBM with a number of hidden units, as 'rbm 500', nor a DBN "
            "with a number for every layer above the data, as 'dbn 2000-500'"
        )
    sbn, top = LayerSpec("sbn"), LayerSpec("rbm", {"units": units})
    plain = Architecture((top,), (), ())
    return Architecture((sbn, top), (sbn,), latent_sizes) if latent_sizes else plain


def _eonade(options: dict[str, Any]) -> EoNADESpec:
    valid = [field.name for field in dataclasses.fields(EoNADESpec)]
    for name in options:
        if name not in valid:
            raise unknown_option("an eonade", name, valid)
    return EoNADESpec(**options)


def build(
    architecture: str | Architecture | EoNADESpec,
    features: int,
    *,
    key: Key[Array, ""],
    init: str = "default",
    groups: Sequence[int] | None = None,
    masked: bool = False,
) -> BitModel:
    """A model with initial parameters.

    Args:
        architecture: in the paper's notation, for example `"sbn/nade 10-200-200"`, or a spec
            for every layer.
        features: the number of visible units.
        key: randomness for the initial weights.
        init: `"default"`, or `"paper"` for the original experiments' initialisation.
        groups: the sizes of groups of visible units of which one alone is 1, in order; None:
            every unit is a bit by itself.
        masked: whether q also sees which groups were observed, for data with missing cells.

    >>> machine = build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> describe(machine)
    'sbn/sbn 2-3'
    """
    plan = parse(architecture) if isinstance(architecture, str) else architecture
    if features < 1:
        raise UsageError(f"a machine needs at least one visible unit, not {features}")
    start = initialisation(init)
    emission = emission_of(None if groups is None else tuple(groups), features)
    if isinstance(plan, EoNADESpec):
        return EoNADE.create(key, features, start, emission, plan)
    seen = len(emission.group_sizes or range(features)) if masked else 0
    sizes = (features, *plan.latent_sizes)
    below = (features + seen, *plan.latent_sizes[:-1])
    keys_p, keys_q = jax.random.split(key, (2, len(sizes)))
    p = tuple(
        create_distribution(spec.kind, keys_p[i], size, parents, start, spec.options)
        for i, (spec, size, parents) in enumerate(zip(plan.p, sizes, (*sizes[1:], 0), strict=True))
    )
    q = tuple(
        create_layer(spec.kind, keys_q[i], size, parents, start, spec.options)
        for i, (spec, size, parents) in enumerate(zip(plan.q, sizes[1:], below, strict=False))
    )
    if start.latent_bias is not None:
        p = (p[0], *(_with_constant_bias(layer, start.latent_bias) for layer in p[1:]))
        q = tuple(_with_constant_bias(layer, start.latent_bias) for layer in q)
    return HelmholtzMachine((with_emission(p[0], emission), *p[1:]), q)


def _with_constant_bias(layer: Kept, bias: float) -> Kept:
    return layer.with_bias(jnp.full(layer.size, bias, jnp.float32))


def describe(model: BitModel) -> str:
    """The shortest notation that `build` would make a model of the same shape from.

    Of a mixture, those of its components, for people alone: `mixture of 3: 2 x nade; sbn/sbn 20`.
    """
    if isinstance(model, Mixture):
        counts = Counter(map(describe, model.components))
        parts = [name if count == 1 else f"{count} x {name}" for name, count in counts.items()]
        return f"{MIXTURE} {len(model.components)}: {'; '.join(parts)}"
    if isinstance(model, EoNADE):
        return str(model.spec)
    if not isinstance(model, HelmholtzMachine):
        raise UsageError(f"a {type(model).__name__} has no architecture string")
    return str(Architecture(_specs(model.p), _specs(model.q), model.latent_sizes))


def _specs(layers: tuple[Distribution, ...]) -> tuple[LayerSpec, ...]:
    """As few specs as can be: one each until all layers that are left can share one."""
    for count in range(len(layers)):
        shared = _shared_spec(layers[count:])
        if shared is not None:
            return (*(_own_spec(layer) for layer in layers[:count]), shared)
    return tuple(_own_spec(layer) for layer in layers)


def _own_spec(layer: Distribution) -> LayerSpec:
    spec = _shared_spec((layer,))
    if spec is None:
        raise UsageError(
            f"this {type(layer).__name__} layer of {layer.size} units has a shape that no options "
            "of its kind make, so it has no architecture string"
        )
    return spec


def _shared_spec(layers: tuple[Distribution, ...]) -> LayerSpec | None:
    """The spec with the fewest options that creates layers of these shapes, if one does."""
    # A top layer has no deterministic units, whatever its spec says, so it is asked last.
    full = spec_of(next((layer for layer in layers if layer.parents), layers[0]))
    for count in range(len(full.options) + 1):
        for names in itertools.combinations(full.options, count):
            options = {name: full.options[name] for name in names}
            if all(_creates(full.kind, options, layer) for layer in layers):
                return LayerSpec(full.kind, options)
    return None


def _creates(kind: str, options: Options, layer: Distribution) -> bool:
    made = _created_form(kind, LAYERS.get(kind), tuple(options.items()), layer.size, layer.parents)
    return made == _form(layer)


@lru_cache(maxsize=1024)
def _created_form(
    name: str, kind: Kind | None, options: tuple[tuple[str, Any], ...], size: int, parents: int
) -> tuple[object, list[tuple[int, ...]]]:
    """What a layer looks like; `kind`, what the name stands for now, is here for the cache."""

    def create() -> Distribution:
        start, key = initialisation("default"), jax.random.key(0)
        return create_distribution(name, key, size, parents, start, dict(options))

    return _form(jax.eval_shape(create))


def _form(layer: Distribution) -> tuple[object, list[tuple[int, ...]]]:
    """Structure and shapes; how units emit is not part of the notation."""
    if layer.emission != BERNOULLI:
        layer = with_emission(layer, BERNOULLI)
    return jax.tree.structure(layer), [leaf.shape for leaf in jax.tree.leaves(layer)]
