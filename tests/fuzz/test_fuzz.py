"""The short suite's part of `make fuzz`: the corpus, and some damage that hypothesis does to it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import seeds
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Fuzzer


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return Fuzzer(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("target", TARGETS)
def test_good_inputs_are_read_and_damaged_ones_refused_in_a_sentence(target, fuzzer):
    assert all(fuzzer(target, content) for content in seeds(target))

    @settings(deadline=None, max_examples=15, derandomize=True, database=None)
    @given(st.sampled_from(seeds(target)), st.integers(0, 2**32))
    def damage(content, seed):
        fuzzer(target, mutated(content, seeds(target), random.Random(seed)))

    damage()
