"""The README's quick start runs as it stands, and its numbers make sense."""

import json
import re
import shlex
from pathlib import Path

import numpy as np

from wakesleep.cli import parse

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


RESULTS = README.parent / "results"


def result(path):
    return json.loads((RESULTS / path).read_text(encoding="utf-8"))


def measured():
    """Every number that the README may say, from the files of what was measured."""
    rows = [
        result("table1/sbn-sbn-200-200-200.json"),
        result("table2-mnist/ar-sbn-sbn-500.json"),
        result("table3/connect4-rws-nade.json"),
        result("darn/nips-darn.json"),
        result("table2-caltech/nade-nade-150.json"),
        result("table2-mnist/sbn-sbn-10-100-200-300-400-shifted.json"),
    ]
    (step,) = [
        row
        for row in result("benchmarks/step.json")["rows"]
        if (row["architecture"], row["batch"]) == ("sbn/sbn 200-200-200", 100)
        and (row["optimiser"], row["average"], row.get("shares", 1)) == ("sgd", 0, 2)
    ]
    likelihood = result("benchmarks/likelihood.json")
    chosen = result("benchmarks/automatic.json")["sets"]["caltech101_silhouettes"]
    digits = result("benchmarks/sklearn_digits.json")["models"]
    accuracies = sorted(each["accuracy"]["mean"] for each in digits.values())
    return {
        *(
            f"{result(f'records/{name}.json')['nll']:.2f}"
            for name in ("nade-1000-shifted", "6-nade-1000-shifted")
        ),
        *(f"{row[name]:.2f}" for row in rows for name in ("nll", "paper_nll")),
        f"{-chosen['default']['test']:.2f}",
        f"{step['fraction_of_sgemm']:.2f}",
        f"{likelihood['fraction_of_sgemm']:.2f}",
        f"{likelihood['peak_megabytes_by_samples']['100000']:.0f} MB",
        *(f"{accuracy:.3f}" for accuracy in accuracies),
    }


def test_every_number_is_one_that_was_measured():
    text = README.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|\]\([^)]*\)|(?m:^    [^\n]*$)", "", text, flags=re.DOTALL)
    said = re.findall(r"\d+\.\d+|\d+ MB", prose)
    assert len(said) >= 10
    # Python 3.11 is what the package asks for, and no measurement.
    assert set(said) - measured() == {"3.11"}
    for number in ("89.25", "82.25", "11.55"):
        assert number in said, "the table says what was measured"


def test_it_can_be_read_in_one_sitting():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 140
    assert not re.search(r"\b[0-9a-f]{7,12}\b", text), "hashes are in docs/results.md"


def test_the_commands_of_the_table_are_commands():
    text = README.read_text(encoding="utf-8")
    for words in re.findall(r"(?m)^    wakesleep (.*?)(?:\s+#.*)?$", text):
        assert parse(shlex.split(words))


def test_the_tree_leaves_no_module_out_and_names_none_that_is_gone():
    text = README.read_text(encoding="utf-8")
    tree = text[text.index("    src/wakesleep/\n") : text.index("    tests/ ")]
    named = set(re.findall(r"(?m)(?:^      |, )([a-z_]+(?:\.py|/))", tree))
    package = README.parent / "src" / "wakesleep"
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")} | {"experiments/"}
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert named == folders | modules
