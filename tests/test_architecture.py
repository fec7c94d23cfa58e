from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.machines import architectures
from wakesleep.architecture import Architecture, build, describe, parse
from wakesleep.errors import UsageError
from wakesleep.layers import ARSBN, NADE, SBN, Deterministic, LayerSpec


def test_the_first_size_is_the_top_and_the_last_is_next_to_the_data(key):
    machine = build("SBN/NADE 10-20-30", features=40, key=key)
    assert [(layer.size, layer.parents) for layer in machine.p] == [
        (40, 30),
        (30, 20),
        (20, 10),
        (10, 0),
    ]
    assert [(layer.size, layer.parents) for layer in machine.q] == [(30, 40), (20, 30), (10, 20)]
    assert {type(layer) for layer in machine.p} == {SBN}
    assert {type(layer) for layer in machine.q} == {NADE}
    assert machine.latent_sizes == (30, 20, 10)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("SBN/NADE 10-200-200", "sbn/nade 10-200-200"),
        (" ar-sbn / AR_SBN  5 ", "ar_sbn/ar_sbn 5"),
        ("darn/sbn 7", "darn/sbn 7"),
        ("darn(units=9)/sbn 7-3", "darn(units=9)/sbn 7-3"),
        ("ar_sbn(units=9, nonlinearity=relu)/sbn 7", "darn(units=9, nonlinearity=relu)/sbn 7"),
        ("nade(hidden=4)/nade 3-6", "nade(hidden=4)/nade 3-6"),
        ("nade(hidden=6)/sbn 6", "nade/sbn 6"),
        ("darn(order=2)/nade(order=0) 6", "darn(order=2)/nade 6"),
        ("sbn(units=5)/nade(hidden=2,units=3) 6-4", "sbn(units=5)/nade(hidden=2, units=3) 6-4"),
        ("nade|sbn|sbn/sbn 6-4", "nade|sbn/sbn 6-4"),
        ("NADE(hidden=3) | AR-SBN / sbn|nade 6-4", "nade(hidden=3)|ar_sbn/sbn|nade 6-4"),
        ("sbn|sbn|sbn/nade|nade 6-4", "sbn/nade 6-4"),
        ("sbn/nade|sbn|nade(hidden=2) 6-4-3", "sbn/nade|sbn|nade(hidden=2) 6-4-3"),
        ("sbn|ar_sbn/sbn 6", "sbn|ar_sbn/sbn 6"),
        ("ar_sbn|darn/sbn 6-4", "ar_sbn|darn/sbn 6-4"),
        ("darn|ar_sbn/sbn 6-4", "darn|ar_sbn/sbn 6-4"),
        ("sbn(units=2)|sbn(units=2)|sbn/sbn 6-4", "sbn(units=2)/sbn 6-4"),
        ("nade(hidden=3)|nade/sbn 3-4", "nade(hidden=3)/sbn 3-4"),
        ("nade(hidden=2)|nade/sbn 3-4", "nade(hidden=2)|nade/sbn 3-4"),
    ],
)
def test_notation_round_trips(text, canonical, key):
    machine = build(text, features=12, key=key)
    assert describe(machine) == canonical
    again = build(canonical, features=12, key=key)
    assert eqx.tree_equal(machine, again)


def test_darn_puts_units_below_every_layer_but_the_top(key):
    machine = build("darn/sbn 4-6", features=8, key=key)
    assert [type(layer) for layer in machine.p] == [Deterministic, Deterministic, ARSBN]


@pytest.mark.parametrize(
    ("text", "part", "valid"),
    [
        ("sbn/foo 10", "'foo'", "sbn, ar_sbn, nade, darn"),
        ("sbn 10", "'sbn 10'", "sbn/nade 10-200-200"),
        ("sbn/nade", "'sbn/nade'", "sbn/nade 10-200-200"),
        ("", "''", "sbn/nade 10-200-200"),
        ("sbn/nade 10-0", "'10-0'", "positive"),
        ("sbn/nade 10--3", "'10--3'", "positive"),
        ("sbn/nade(width=3) 10", "'width'", "hidden, order, units, nonlinearity"),
        ("nade(order=-9999999999)", "order=-9999999999", "-1000000000 or more"),
        ("nade(order=9999999999)", "order=9999999999", "at most 1000000000"),
        ("sbn(order=1)", "'order'", "units, nonlinearity"),
        ("sbn/nade(hidden) 10", "'hidden'", "name=value"),
        ("sbn/nade(hidden=-2) 10", "hidden=-2", "1 or more"),
        ("sbn/nade(hidden=x) 10", "hidden=x", "whole number"),
        ("sbn/nade(hidden=2.5) 10", "hidden=2.5", "whole number"),
        ("sbn(nonlinearity=gelu)/sbn 10", "nonlinearity=gelu", "tanh, sigmoid, relu"),
        ("sbn)/sbn 10", "'sbn)'", "brackets"),
        ("sbn|nade|sbn|sbn/sbn 10-5", "'sbn|nade|sbn|sbn'", "each of 4 layers, but p has 3"),
        ("sbn/sbn|nade 10", "'sbn|nade'", "q has 1"),
        ("sbn|/sbn 10", "layer ''", "brackets"),
        ("sbn|nade", "'sbn|nade'", "P alone"),
        ("sbn|foo/sbn 10", "'foo'", "sbn, ar_sbn, nade, darn"),
        (f"sbn/sbn {'9' * 5000}", "sizes '99", "up to 1000000000"),
    ],
)
def test_a_wrong_string_names_the_part_and_says_what_is_valid(text, part, valid):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert part in str(caught.value)
    assert valid in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_initialisation_and_empty_data_are_refused(key):
    with pytest.raises(UsageError, match="default, paper"):
        build("sbn/sbn 2", features=3, key=key, init="zero")
    with pytest.raises(UsageError, match="visible unit"):
        build("sbn/sbn 2", features=0, key=key)


def test_parts_of_one_machine_start_different(key):
    machine = build("sbn/sbn 5-5", features=5, key=key)
    matrices = [leaf for leaf in jax.tree.leaves(machine) if leaf.shape == (5, 5)]
    sums = {float(m.sum()) for m in matrices}
    assert len(sums) == len(matrices) == 4


def test_by_default_latent_units_of_any_kind_start_mostly_off_in_p_and_q(key):
    machine = build("nade/ar_sbn 2-3", features=4, key=key)
    latent = [layer.b for layer in (*machine.p[1:], *machine.q)]
    assert all(bool((b == -3).all()) for b in latent)
    assert bool((machine.p[0].b == 0).all())
    paper = build("sbn/nade 2-3", features=4, key=key, init="paper")
    assert all(bool((layer.b == -1).all()) for layer in paper.p)
    assert all(bool((layer.b == 0).all()) for layer in paper.q)


def test_a_kind_per_layer_runs_from_the_data_upwards_and_the_last_goes_on(key):
    machine = build("nade|ar_sbn|sbn/ar_sbn|nade 2-3-4", features=5, key=key)
    assert [type(layer) for layer in machine.p] == [NADE, ARSBN, SBN, SBN]
    assert [type(layer) for layer in machine.q] == [ARSBN, NADE, NADE]
    assert [layer.size for layer in machine.p] == [5, 4, 3, 2]


def test_a_machine_may_be_given_as_specs_of_its_layers(key):
    p = [LayerSpec("nade", {"hidden": 2}), LayerSpec("sbn")]
    plan = Architecture(p, [LayerSpec("sbn")], latent_sizes=[3, 2])
    assert plan == parse("nade(hidden=2)|sbn/sbn 2-3")
    assert len(plan.p) == 3
    assert len(plan.q) == 2
    machine = build(plan, features=4, key=key)
    assert eqx.tree_equal(machine, build("nade(hidden=2)|sbn/sbn 2-3", features=4, key=key))


@pytest.mark.parametrize(
    ("p", "q", "sizes", "says"),
    [
        (["sbn"], [], [3], "q has 1 layers, but no kind"),
        ([], ["sbn"], [3], "p has 2 layers, but no kind"),
        (["sbn"], ["sbn"], [], "'sbn' names a kind for each of 1 layers, but q has 0"),
        (["sbn"], ["sbn"], [0], "between 1 and"),
        (["sbn"], ["sbn"], [10**12], "between 1 and"),
    ],
)
def test_specs_that_make_no_machine_are_refused(p, q, sizes, says):
    with pytest.raises(UsageError, match=says):
        Architecture([*map(LayerSpec, p)], [*map(LayerSpec, q)], sizes)


def test_a_layer_of_no_registered_kind_or_shape_has_no_string(key):
    class Other(SBN):
        pass

    machine = build("sbn/sbn 2", features=3, key=key)
    q = Other(machine.q[0].W, machine.q[0].b)
    with pytest.raises(UsageError, match="Other is not a registered kind"):
        describe(eqx.tree_at(lambda m: m.q[0], machine, q))
    nade = build("nade", features=3, key=key)
    odd = eqx.tree_at(lambda m: m.p[0].V, nade, nade.p[0].V[:, :2])
    with pytest.raises(UsageError, match="no options of its kind make"):
        describe(odd)


@settings(deadline=None, max_examples=60)
@given(architectures(), st.integers(1, 6))
def test_any_machine_has_a_string_that_makes_it_again(plan, features):
    machine = shapes(plan, features)
    text = describe(machine)
    assert form(shapes(parse(text), features)) == form(machine)
    assert str(parse(text)) == text
    assert len(text) <= len(str(plan)) + 2 * str(plan).count("darn")  # ar_sbn, where it is one
    for shorter in shortened(parse(text)):
        assert form(shapes(shorter, features)) != form(machine)


def shapes(plan, features):
    """A machine of zeros, which costs no compilation."""
    made = jax.eval_shape(lambda: build(plan, features, key=jax.random.key(0)))
    return jax.tree.map(lambda leaf: jax.device_put(np.zeros(leaf.shape, leaf.dtype)), made)


def form(machine):
    return jax.tree.structure(machine), [leaf.shape for leaf in jax.tree.leaves(machine)]


def shortened(plan):
    """The same architecture with one option less, or one kind less."""
    for side in ("p", "q"):
        named = list(getattr(plan, side))
        while len(named) > 1 and named[-1] == named[-2]:
            named.pop()
        for i, spec in enumerate(named):
            for name in spec.options:
                fewer = {key: value for key, value in spec.options.items() if key != name}
                changed = [*named[:i], LayerSpec(spec.kind, fewer), *named[i + 1 :]]
                yield replace(plan, **{side: changed})
        if len(named) > 1:
            yield replace(plan, **{side: named[:-1]})
