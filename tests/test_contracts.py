"""The order of the rooms in pyproject.toml: the code keeps it, and breaking it would show."""

import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
(CONTRACT,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
ROOMS = [[name.strip() for name in level.split("|")] for level in CONTRACT["layers"]]

# What each room must not know, as the design has it: training knows no folder, an estimator no
# recipe, evaluation and training nothing of each other, and nobody the room that uses it.
BACKWARDS = [
    ("training.loop", "report.page"),
    ("training.loop", "evaluation.likelihood"),
    ("training.session", "runs.folder"),
    ("training.session", "cli.train"),
    ("evaluation.likelihood", "training.session"),
    ("evaluation.likelihood", "report.page"),
    ("runs.folder", "report.page"),
    ("runs.start", "reproduce.store"),
    ("estimators.base", "recipe"),
    ("estimators.reweighted", "training.loop"),
    ("recipe", "training.loop"),
    ("inference.rows", "estimators.base"),
    ("importance", "estimators.base"),
    ("models.helmholtz", "importance"),
    ("models.base", "architecture"),
    ("layers.base", "models.base"),
    ("kernels.nade", "layers.nade"),
    ("data.dataset", "layers.base"),
    ("errors", "data.dataset"),
    ("report.page", "sklearn.density"),
]


@pytest.fixture(scope="module")
def imports():
    """The package's imports, but for those of its face, which loads every room's public names."""
    graph = grimp.build_graph("wakesleep", cache_dir=None)
    for room in graph.find_modules_directly_imported_by("wakesleep"):
        graph.remove_import(importer="wakesleep", imported=room)
    return graph


def illegal(graph):
    levels = [grimp.Layer(*names, independent=True) for names in ROOMS]
    broken = graph.find_illegal_dependencies_for_layers(levels, containers={"wakesleep"})
    return {(each.importer, each.imported) for each in broken}


def test_every_room_has_one_place(imports):
    listed = [name for level in ROOMS for name in level]
    there = {module.rpartition(".")[2] for module in imports.find_children("wakesleep")}
    assert len(listed) == len(set(listed))
    assert set(listed) == there
    assert CONTRACT["exhaustive"]


def test_no_arrow_points_backwards(imports):
    assert illegal(imports) == set()


@pytest.mark.parametrize(("importer", "imported"), BACKWARDS)
def test_an_arrow_that_points_backwards_would_show(importer, imported, imports):
    importer, imported = f"wakesleep.{importer}", f"wakesleep.{imported}"
    assert {importer, imported} <= imports.modules
    imports.add_import(importer=importer, imported=imported)
    try:
        rooms = tuple(".".join(name.split(".")[:2]) for name in (importer, imported))
        assert rooms in illegal(imports)
    finally:
        imports.remove_import(importer=importer, imported=imported)


def test_make_lint_holds_us_to_it():
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nlint:")[1].split("\n\n")[0]
    assert "/lint-imports" in lint
