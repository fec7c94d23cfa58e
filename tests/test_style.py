"""What we promise of the code: short files, short parameter lists, one name for one thing."""

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "wakesleep"
FILES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
MOST_LINES = 300
MOST_PARAMETERS = 5
# A layer and its kernel, a room and its command, or each room's contract, are one thing.
SHARED_NAMES = {"__init__.py", "base.py", "ar_sbn.py", "nade.py", "schema.py"}


def test_no_file_is_longer_than_a_few_screens():
    assert len(FILES) > 100
    long = {path.name: len(text.splitlines()) for path, text in FILES.items()}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def parameters(node):
    names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [each.arg for each in names if each.arg not in ("self", "cls")]


def test_private_helpers_take_few_parameters():
    crowded = [
        f"{path.name}: {node.name}"
        for path, text in FILES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_")
        # The constructor of a public class is not a helper.
        if node.name != "__init__" and len(parameters(node)) > MOST_PARAMETERS
    ]
    assert crowded == []


def test_no_two_files_of_one_name_do_different_things():
    counts = Counter(path.name for path in FILES)
    assert {name for name, count in counts.items() if count > 1} <= SHARED_NAMES
