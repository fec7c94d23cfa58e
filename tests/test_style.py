"""What we promise of the code: short files, short parameter lists, one name for one thing."""

import ast
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "wakesleep"
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 300
MOST_PARAMETERS = 5
# A layer and its kernel, a room and its command, or each room's contract, are one thing.
SHARED_NAMES = {"__init__.py", "base.py", "ar_sbn.py", "nade.py", "schema.py"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_is_longer_than_a_few_screens(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def private_functions(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_"):
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_helpers_take_few_parameters(path):
    for node in private_functions(path):
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        names += [each.arg for each in node.args.kwonlyargs]
        given = [name for name in names if name not in ("self", "cls")]
        # The constructor of a public class is not a helper.
        assert node.name == "__init__" or len(given) <= MOST_PARAMETERS, node.name


def test_no_two_files_of_one_name_do_different_things():
    counts = Counter(path.name for path in FILES)
    assert {name for name, count in counts.items() if count > 1} <= SHARED_NAMES
