"""Models in a run folder: machines whole, models of other kinds as their arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wakesleep.architecture import describe
from wakesleep.errors import DataError, UsageError
from wakesleep.models import BitModel, LatentModel
from wakesleep.runs.config import FUNCTION
from wakesleep.storage import load_arrays, model_shapes, read_header


def model_name(model: LatentModel) -> str:
    """What config.toml calls a model: its architecture, where it has one."""
    return describe(model) if isinstance(model, BitModel) else FUNCTION


def shapes_from(
    header: Mapping[str, Any], path: Path, template: LatentModel | None = None
) -> LatentModel:
    """The model a header describes; of one given in Python, `template` has the structure."""
    if "model" not in header:
        return model_shapes(header, path)
    if template is None:
        raise UsageError(
            f"{path} holds the arrays of a model given in Python, not its functions: "
            "pass the model to ws.load_run(path, model=...) or ws.fit_run"
        )
    return template


def read_model(path: Path, template: LatentModel | None = None) -> LatentModel:
    """Read a model; one given in Python is filled into a template."""
    like = shapes_from(read_header(path), path, template)
    try:
        model: LatentModel = load_arrays(path, like)
    except DataError as error:
        if isinstance(like, BitModel):
            raise
        raise DataError(f"{error}, or the model given to read it has other parameters") from None
    return model


def model_digest(path: Path) -> str:
    """The digest of a model file's arrays, from its header."""
    return str(read_header(path).get("sha256"))
