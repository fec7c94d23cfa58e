"""Headers of model files that a stranger wrote and signed."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.machines import small_machine
from tests.model_files import refusal, rewrite
from wakesleep.errors import DataError
from wakesleep.models import HelmholtzMachine
from wakesleep.storage import (
    model_header,
    model_shapes,
    read_header,
    save_model,
)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    save_model(small_machine("sbn/sbn 2-3"), path)
    return path


def changed(header, place, value):
    header = copy.deepcopy(header)
    *above, last = place
    table = header
    for name in above:
        table = table[name]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return header


FIRST = ("layers", "p", 0)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("sha256",), None, "checksum"),
        (("layers",), None, "lists no layers"),
        (("layers",), [], "lists no layers"),
        (("layers", "q"), None, "lists no layers"),
        (("layers", "p"), [], "do not chain"),
        (("layers", "p"), ["sbn"] * 3, "not a table"),
        (("layers", "p"), [{}] * 10**5, "more than the 1000"),
        ((*FIRST, "kind"), "os.system", "unknown layer kind 'os.system'; valid: sbn, ar_sbn"),
        ((*FIRST, "kind"), "a\n" * 10**5, "unknown layer kind"),
        ((*FIRST, "kind"), 3, "no kind"),
        ((*FIRST, "kind"), None, "no kind"),
        ((*FIRST, "options"), None, "no options"),
        ((*FIRST, "options"), {"units": 0}, "must be 1 or more"),
        ((*FIRST, "options"), {"units": [3]}, "must be a whole number"),
        ((*FIRST, "options"), {"units": 10**30}, "at most"),
        ((*FIRST, "options"), {"self": 3}, "no option 'self'"),
        ((*FIRST, "size"), None, "size must be a whole number"),
        ((*FIRST, "size"), "4", "size must be a whole number"),
        ((*FIRST, "size"), True, "size must be a whole number"),
        ((*FIRST, "size"), -1, "size must be 1 or more"),
        ((*FIRST, "size"), 10**15, "size must be at most"),
        ((*FIRST, "parents"), -3, "parents must be 0 or more"),
        ((*FIRST, "parents"), 7, "do not chain"),
        (("layers", "p", 2, "parents"), 1, "do not chain"),
        (("layers", "q", 0, "size"), 8, "do not chain"),
        (("layers", "q"), [], "do not chain"),
    ],
)
def test_a_stranger_s_header_is_refused_in_a_sentence(place, value, says, saved):
    rewrite(saved, changed(read_header(saved), place, value))
    message = refusal(saved)
    assert says in message
    assert len(message) < 500 + len(str(saved))


@pytest.mark.parametrize(
    ("architecture", "features", "says"),
    [
        ("sbn/foo 3", 4, "unknown layer kind 'foo'"),
        ("sbn/sbn 3", "4", "features must be a whole number"),
        ("sbn/sbn 3", 10**20, "features must be at most"),
        ("sbn/sbn 99999999999999999999", 4, "up to"),
        ("sbn/nade(hidden=99999999999999) 3", 4, "must be at most"),
        ("sbn/sbn " + "-".join(["1"] * 2000), 4, "more than the 1000"),
        (["sbn"], 4, "names no architecture"),
    ],
)
def test_a_stranger_s_header_of_format_1_is_refused_too(architecture, features, says, saved):
    rewrite(saved, {"format": 1, "architecture": architecture, "features": features})
    assert says in refusal(saved)


def test_a_promise_of_giant_layers_takes_no_memory(saved):
    giant = {"kind": "nade", "size": 10**9, "parents": 0, "options": {"hidden": 10**9}}
    header = {"format": 2, "layers": {"p": [giant], "q": []}}
    assert model_shapes(header, saved).p[0].W.shape == (10**9, 10**9)
    rewrite(saved, header)
    assert "does not hold" in refusal(saved)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values),
    max_leaves=5,
)
PLACES = [
    *(("format",), ("sha256",), ("layers",), ("layers", "p"), ("layers", "q"), FIRST),
    *((*FIRST, name) for name in ("kind", "size", "parents", "options")),
    (*FIRST, "options", "units"),
]


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(PLACES), JSON)
def test_whatever_a_header_says_it_is_a_machine_or_one_sentence(place, value):
    header = {"format": 2, "sha256": "", **model_header(small_machine("sbn/sbn 2-3"))}
    *above, last = place
    table: Any = header
    for name in above:
        table = table[name]
    table[last] = value
    result = machine_or_error(header)
    assert isinstance(result, HelmholtzMachine) or "\n" not in str(result)


def machine_or_error(header):
    try:
        return model_shapes(header, Path("model.safetensors"))
    except DataError as error:
        return error
