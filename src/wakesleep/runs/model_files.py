"""Models in a run folder: machines whole, models given as functions as their arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wakesleep.architecture import describe
from wakesleep.errors import DataError, UsageError
from wakesleep.models import HelmholtzMachine, LatentModel
from wakesleep.runs.config import FUNCTION
from wakesleep.storage import load_arrays, load_model, model_shapes, read_header, save_arrays
from wakesleep.storage import save_model as save_machine


def model_name(model: LatentModel) -> str:
    """What config.toml calls a model: its architecture, where it has one."""
    return describe(model) if isinstance(model, HelmholtzMachine) else FUNCTION


def model_header(model: LatentModel) -> dict[str, Any]:
    """What a file's header must say for the model's shapes to be known again."""
    if isinstance(model, HelmholtzMachine):
        return {"architecture": describe(model), "features": model.features}
    return {"model": FUNCTION}


def shapes_from(
    header: Mapping[str, Any], path: Path, template: LatentModel | None = None
) -> LatentModel:
    """The model a header describes; of one given as functions, `template` has the structure."""
    if header.get("model") != FUNCTION:
        return model_shapes(header, path)
    if template is None:
        raise UsageError(
            f"{path} holds the arrays of a model given in Python, not its functions: "
            "pass the model to ws.load_run(path, model=...) or ws.fit_run"
        )
    return template


def write_model(path: Path, model: LatentModel) -> None:
    """Write a model's arrays, and what is needed to read them."""
    if isinstance(model, HelmholtzMachine):
        save_machine(model, path)
    else:
        save_arrays(path, model, model_header(model))


def read_model(path: Path, template: LatentModel | None = None) -> LatentModel:
    """Read a model; one given as functions is filled into a template."""
    header = read_header(path)
    if header.get("model") != FUNCTION:
        return load_model(path)
    like = shapes_from(header, path, template)
    try:
        model: LatentModel = load_arrays(path, like)
    except DataError as error:
        raise DataError(f"{error}, or the model given to read it has other parameters") from None
    return model


def model_digest(path: Path) -> str:
    """The digest of a model file's arrays, from its header."""
    return str(read_header(path)["sha256"])
