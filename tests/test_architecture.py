import equinox as eqx
import jax
import pytest

from wakesleep.architecture import build, describe, parse
from wakesleep.errors import UsageError
from wakesleep.layers import ARSBN, NADE, SBN, Deterministic


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
        ("sbn(units=5)/nade(hidden=2,units=3) 6-4", "sbn(units=5)/nade(hidden=2, units=3) 6-4"),
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
        ("sbn/nade(width=3) 10", "'width'", "hidden, units, nonlinearity"),
        ("sbn/nade(hidden) 10", "'hidden'", "name=value"),
        ("sbn/nade(hidden=-2) 10", "hidden=-2", "1 or more"),
        ("sbn/nade(hidden=x) 10", "hidden=x", "1 or more"),
        ("sbn(nonlinearity=gelu)/sbn 10", "'gelu'", "tanh, sigmoid, relu"),
        ("sbn)/sbn 10", "'sbn)'", "brackets"),
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
