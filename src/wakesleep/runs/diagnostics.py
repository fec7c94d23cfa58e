"""What a page shows of a machine: made once at a run's end, and kept in its folder.

Rows of the data and of the model, receptive fields, how the latent layers are used, and test
images whose lower half the model imputes. Of a mixture there are no fields and no layers; a model
of Python functions has nothing of this.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.data import Dataset
from wakesleep.data.hidden_halves import hidden_half
from wakesleep.inference.imputation import impute
from wakesleep.models import BitModel, EoNADE, HelmholtzMachine, sample_bits, sample_means
from wakesleep.runs.config import FUNCTION
from wakesleep.runs.fields import generative_fields, inference_fields, strongest
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.latent_use import LayerUse, latent_use
from wakesleep.runs.loading import Run
from wakesleep.runs.model_files import model_digest
from wakesleep.storage import load_arrays, read_header, save_arrays

SHOWN = 64
IMPUTED = 6
DRAWS = 8
IMPUTATION_SAMPLES = 200

Named = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Diagnostics:
    """The arrays of diagnostics.safetensors.

    - `train`, `samples`: rows of bits; `probabilities`: those that samples' bits are drawn with
    - `fields_p`, `fields_q`: the strongest receptive fields, where there are latent units
    - `latent_mean_1`, `latent_activity_1`, ...: see `LayerUse`
    - `given`, `missing`, `imputed`: test images without their lower half, and draws of it
    """

    arrays: Named

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.arrays[name]

    @property
    def latents(self) -> list[LayerUse]:
        """How each latent layer is used, from the one next to the data upwards."""
        count = sum(name.startswith("latent_mean_") for name in self.arrays)
        return [
            LayerUse(self[f"latent_mean_{layer}"], self[f"latent_activity_{layer}"])
            for layer in range(1, count + 1)
        ]


def diagnostics_of(run: Run) -> Diagnostics | None:
    """A run's diagnostics, made and stored first where there are none of its present model."""
    if run.config.model == FUNCTION:
        return None
    path = run.folder.diagnostics_path
    if not path.exists() or _made_for(run.folder) != model_digest(run.folder.model_path):
        write_diagnostics(run.folder, run.machine, run.data)
    shapes = read_header(path)["diagnostics"]["arrays"]
    like = {name: jax.ShapeDtypeStruct(*shape) for name, shape in shapes.items()}
    return Diagnostics({name: np.asarray(a) for name, a in load_arrays(path, like).items()})


def write_diagnostics(folder: RunFolder, model: BitModel, data: Dataset) -> None:
    """Make the diagnostics of the model in the folder, and store them there."""
    arrays = make_diagnostics(model, data).arrays
    shapes = {name: (array.shape, array.dtype.name) for name, array in arrays.items()}
    about = {"model": model_digest(folder.model_path), "arrays": shapes}
    save_arrays(folder.diagnostics_path, arrays, {"diagnostics": about})


def make_diagnostics(model: BitModel, data: Dataset) -> Diagnostics:
    """Everything a page shows of a machine; of a mixture, what it draws and imputes."""
    key = jax.random.key(0)
    arrays: Named = {
        "train": data.train[:SHOWN],
        "samples": sample_bits(model, SHOWN, key=key),
        "probabilities": sample_means(model, SHOWN, key=key),
    }
    if isinstance(model, HelmholtzMachine) and model.latent_sizes:
        arrays |= _fields(model) | _latents(model, data)
    if isinstance(model, EoNADE) or model.latent_sizes:
        arrays |= _imputations(model, data)
    return Diagnostics(arrays)


def _fields(model: HelmholtzMachine) -> Named:
    kinds: dict[str, Callable[[HelmholtzMachine], npt.NDArray[Any]]] = {
        "fields_p": generative_fields,
        "fields_q": inference_fields,
    }
    return {name: strongest(fields(model), SHOWN) for name, fields in kinds.items()}


def _latents(model: HelmholtzMachine, data: Dataset) -> Named:
    """On held-out rows, or on training rows where there are none."""
    rows = next(split for split in (data.valid, data.test, data.train) if len(split))
    arrays: Named = {}
    for layer, use in enumerate(latent_use(model, rows, key=jax.random.key(0)), start=1):
        arrays[f"latent_mean_{layer}"] = use.mean.astype(np.float32)
        arrays[f"latent_activity_{layer}"] = use.activity.astype(np.float32)
    return arrays


def _imputations(model: BitModel, data: Dataset) -> Named:
    """What the model makes of the lower half of test images, given the upper one."""
    if not (data.image_shape and len(data.test)):
        return {}
    table = hidden_half(data, IMPUTED, "lower")
    key = jax.random.key(1)
    imputation = impute(model, *table, samples=IMPUTATION_SAMPLES, key=key, draws=DRAWS)
    missing = table.missing.astype(np.uint8)
    return {"given": table.bits, "missing": missing, "imputed": imputation.draws}


def _made_for(folder: RunFolder) -> str | None:
    about = read_header(folder.diagnostics_path).get("diagnostics") or {}
    return about.get("model")
