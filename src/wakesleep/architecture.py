"""The paper's notation, `SBN/NADE 10-200-200`, to a machine and back.

`P/Q top-…-bottom`: p's layers are of kind P, q's of kind Q; the first size is the top layer,
the last is next to the data. `P` alone is a model without latents, as `ar_sbn` (an FVSBN) or
`nade(hidden=500)`. This file is the one place where that order is reversed: layers
and latents everywhere else run from the data upwards.
"""

import re
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.layers import Layer, check_options, create_layer, initialisation, kind_of
from wakesleep.layers.base import Options
from wakesleep.models import HelmholtzMachine

EXAMPLE = "'sbn/nade 10-200-200' or 'nade(hidden=100)/sbn 50'"


@dataclass(frozen=True)
class LayerSpec:
    """A kind of layer with its options, as in `nade(hidden=100)`."""

    kind: str
    options: Options = field(default_factory=dict)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.kind}({inside})" if inside else self.kind


@dataclass(frozen=True)
class Architecture:
    """p's and q's layer kinds, and the latent sizes from the data upwards; no q, no latents."""

    p: LayerSpec
    q: LayerSpec | None
    latent_sizes: tuple[int, ...]

    def __str__(self) -> str:
        if self.q is None:
            return str(self.p)
        return f"{self.p}/{self.q} {'-'.join(map(str, reversed(self.latent_sizes)))}"


def parse(text: str) -> Architecture:
    """Read the paper's notation, case-insensitively; `ar-sbn` and `ar_sbn` are the same.

    Options follow a kind in brackets: `nade(hidden=100)`, `sbn(units=200, nonlinearity=relu)`.

    >>> str(parse("SBN/NADE 10-200-200"))
    'sbn/nade 10-200-200'
    """
    if re.fullmatch(r"\s*[\w-]*[a-z_][\w-]*\s*(\([^/]*\))?\s*", text.lower()):
        return Architecture(_parse_layer(text.lower()), None, ())
    found = re.fullmatch(r"\s*([^/]+)/(.+?)\s+([\d\s-]+?)\s*", text.lower())
    if not found:
        raise UsageError(
            f"architecture '{text}' is not of the form P/Q top-...-bottom, as {EXAMPLE}, "
            "or P alone for a model without latents"
        )
    p, q, sizes = found.groups()
    return Architecture(_parse_layer(p), _parse_layer(q), _parse_sizes(sizes, text))


def _parse_layer(text: str) -> LayerSpec:
    found = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text)
    if not found:
        raise UsageError(f"layer '{text}' is not a kind with options in brackets, as in {EXAMPLE}")
    kind = found[1].replace("-", "_")
    options = dict(_parse_option(part) for part in (found[2] or "").split(",") if part.strip())
    check_options(kind, options)
    return LayerSpec(kind, options)


def _parse_option(text: str) -> tuple[str, int | str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise UsageError(f"layer option '{text.strip()}' is not of the form name=value")
    return name, int(value) if re.fullmatch(r"[+-]?\d+", value) else value


def _parse_sizes(text: str, whole: str) -> tuple[int, ...]:
    parts = re.sub(r"\s", "", text).split("-")
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise UsageError(f"sizes '{text}' in '{whole}' must be positive numbers joined by '-'")
    return tuple(int(part) for part in reversed(parts))


def build(
    architecture: str | Architecture,
    features: int,
    *,
    key: Key[Array, ""],
    init: str = "default",
) -> HelmholtzMachine:
    """A machine with initial parameters.

    Args:
        architecture: in the paper's notation, for example `"sbn/nade 10-200-200"`.
        features: the number of visible units.
        key: randomness for the initial weights.
        init: `"default"`, or `"paper"` for the original experiments' initialisation.

    >>> machine = build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> describe(machine)
    'sbn/sbn 2-3'
    """
    plan = parse(architecture) if isinstance(architecture, str) else architecture
    if features < 1:
        raise UsageError(f"a machine needs at least one visible unit, not {features}")
    start = initialisation(init)
    sizes = (features, *plan.latent_sizes)
    keys_p, keys_q = jax.random.split(key, (2, len(sizes)))
    p = tuple(
        create_layer(plan.p.kind, keys_p[i], size, parents, start, plan.p.options)
        for i, (size, parents) in enumerate(zip(sizes, (*sizes[1:], 0), strict=True))
    )
    q = tuple(
        create_layer(plan.q.kind, keys_q[i], size, parents, start, plan.q.options)
        for i, (size, parents) in enumerate(zip(sizes[1:], sizes[:-1], strict=True))
        if plan.q
    )
    if start.latent_bias is not None:
        p = (p[0], *(_with_constant_bias(layer, start.latent_bias) for layer in p[1:]))
        q = tuple(_with_constant_bias(layer, start.latent_bias) for layer in q)
    return HelmholtzMachine(p, q)


def _with_constant_bias(layer: Layer, bias: float) -> Layer:
    return layer.with_bias(jnp.full(layer.size, bias, jnp.float32))


def describe(machine: HelmholtzMachine) -> str:
    """The notation that `build` would make a machine of the same shape from."""
    q = _spec(machine.q) if machine.q else None
    return str(Architecture(_spec(machine.p), q, machine.latent_sizes))


def _spec(layers: tuple[Layer, ...]) -> LayerSpec:
    """The shortest spec that creates layers of these shapes, defaults left out."""
    conditional = [layer for layer in layers if layer.parents] or list(layers)
    kind, options = kind_of(conditional[0]), dict(conditional[0].options)
    for name in list(options):
        fewer = {key: value for key, value in options.items() if key != name}
        if _creates(kind, fewer, layers):
            options = fewer
    if not _creates(kind, options, layers):
        raise UsageError("layers that differ in kind or options have no architecture string")
    return LayerSpec(kind, options)


def _creates(kind: str, options: Options, layers: tuple[Layer, ...]) -> bool:
    def recreate(layer: Layer) -> Layer:
        start = initialisation("default")
        key = jax.random.key(0)
        return create_layer(kind, key, layer.size, layer.parents, start, options)

    def shapes(tree: tuple[Layer, ...]) -> tuple[object, list[tuple[int, ...]]]:
        return jax.tree.structure(tree), [leaf.shape for leaf in jax.tree.leaves(tree)]

    return shapes(layers) == shapes(jax.eval_shape(lambda: tuple(map(recreate, layers))))
