"""Every example in a docstring is run."""

import doctest
import importlib
import pkgutil

import pytest

import wakesleep

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(wakesleep.__path__, prefix="wakesleep.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_there_are_examples_at_all():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in MODULES for test in finder.find(importlib.import_module(name))]
    assert sum(bool(test.examples) for test in tests) >= 5
