"""Machines small enough to list, over every layer kind in p and in q and one to three layers."""

import jax
from hypothesis import strategies as st

from tests.oracle import sharpen
from wakesleep.architecture import Architecture, build
from wakesleep.layers import LAYERS, LayerSpec

FEATURES = 4
KINDS = list(LAYERS)
DEPTHS = ("3", "2-3", "2-2-2")
# Every kind appears in p and in q, against itself and another, at depths one to three.
SMALL = [f"{kind}/{kind} {DEPTHS[i % 3]}" for i, kind in enumerate(KINDS)]
SMALL += [f"{kind}/{KINDS[i - 1]} {DEPTHS[(i + 2) % 3]}" for i, kind in enumerate(KINDS)]
# Another kind in every layer of p, and of q.
MIXED = ["nade|darn|ar_sbn|sbn/ar_sbn|nade|sbn 2-3-2", "sbn|nade(hidden=1)/sbn(units=2)|darn 2-3"]
MIXED += ["nade(order=3)|darn(order=-1)/ar_sbn(order=2) 2-3", "nade(order=-2)/darn(order=-3) 4"]


def small_machine(text, scale=1.0, seed=7):
    key = jax.random.key(seed)
    return sharpen(build(text, features=FEATURES, key=key), key, scale=scale)


def layer_specs():
    """Any kind with any of its options."""
    counts = st.integers(1, 4)
    values = {"hidden": counts, "order": st.integers(0, 3), "units": counts}
    values["nonlinearity"] = st.sampled_from(["tanh", "sigmoid", "relu"])

    def of(kind):
        without = {"sbn": {"hidden", "order"}, "nade": set()}.get(kind, {"hidden"})
        names = {name: rule for name, rule in values.items() if name not in without}
        return st.builds(LayerSpec, st.just(kind), st.fixed_dictionaries({}, optional=names))

    return st.sampled_from(KINDS).flatmap(of)


def architectures(depths=(0, 3)):
    """Any machine of few units: each layer of a kind of its own or of that of the one below."""
    sizes = st.lists(st.integers(1, 5), min_size=depths[0], max_size=depths[1])

    def of(sizes):
        p = st.lists(layer_specs(), min_size=1, max_size=len(sizes) + 1)
        q = st.lists(layer_specs(), min_size=min(len(sizes), 1), max_size=len(sizes))
        return st.builds(Architecture, p, q, st.just(sizes))

    return sizes.flatmap(of)
