"""The README's quick start runs as it stands, and its numbers make sense."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[1] / "README.md"


def test_the_quick_start_runs_as_it_stands(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(compile(code, str(README), "exec"), names)
    printed = re.fullmatch(r"(-\d+\.\d\d) \+- (\d\.\d\d) nats\n", capsys.readouterr().out)
    assert printed, "the score is printed as value +- interval"
    # Independent Bernoullis fitted to the training set have 25.09 nats on this test set.
    assert -23 < float(printed[1]) < -18
    assert names["images"].shape == (100, 64)
    assert set(np.unique(names["images"])) == {0, 1}
    assert names["score"].values.shape == names["score"].standard_errors.shape == (300,)


def test_the_tree_leaves_no_module_out_and_names_none_that_is_gone():
    text = README.read_text(encoding="utf-8")
    tree = text[text.index("    src/wakesleep/\n") : text.index("    tests/ ")]
    named = set(re.findall(r"(?m)^      ([a-z_]+(?:\.py|/))", tree))
    package = README.parent / "src" / "wakesleep"
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")} | {"experiments/"}
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert named == folders | modules
