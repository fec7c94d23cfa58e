"""Arrays and models on disk: safetensors with a JSON header, written whole or not at all.

Nothing here can execute what a file says: arrays are numbers, the header is JSON, and the
shapes a file must have are worked out from its architecture string before it is believed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from wakesleep.architecture import build, describe
from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError
from wakesleep.models import HelmholtzMachine

FORMAT = 1
_HEADER = "wakesleep"


def named_leaves(tree: Any) -> dict[str, np.ndarray]:
    """A tree's arrays by their place in it, such as `p.0.W`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf)
        for path, leaf in leaves
    }


def save_arrays(path: Path, tree: Any, header: Mapping[str, Any]) -> None:
    """Write a tree's arrays and a JSON header."""
    # Copies: safetensors wants contiguous arrays, and NumPy's views of JAX arrays may not be.
    arrays = {name: np.array(leaf, order="C") for name, leaf in named_leaves(tree).items()}
    whole = {"format": FORMAT, "sha256": _digest(arrays), **header}
    write_atomically(path, save(arrays, metadata={_HEADER: json.dumps(whole)}))


def read_header(path: Path) -> dict[str, Any]:
    """A file's JSON header; a file that is not ours is refused with a sentence."""
    return _read(path, with_arrays=False)[0]


def load_arrays(path: Path, like: Any) -> Any:
    """A tree of the structure and shapes of `like` (arrays or shapes) with a file's arrays."""
    header, arrays = _read(path, with_arrays=True)
    expected = named_leaves_shapes(like)
    if arrays.keys() != expected.keys() or not all(
        _fits(arrays[name], *expected[name]) for name in expected
    ):
        raise DataError(f"{path} does not hold the arrays its header promises: it is not usable")
    if header["sha256"] != _digest(arrays):
        raise DataError(f"{path} is damaged: its contents do not match their checksum")
    leaves = [jnp.asarray(arrays[name], dtype) for name, (_, dtype) in expected.items()]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _fits(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> bool:
    """Models may be stored at half precision; everything else is what it was."""
    halved = dtype == np.float32 and array.dtype == np.float16
    return array.shape == shape and (array.dtype == dtype or halved)


def named_leaves_shapes(tree: Any) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of a tree's leaves by their place in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): (leaf.shape, np.dtype(leaf.dtype))
        for path, leaf in leaves
    }


def _read(path: Path, *, with_arrays: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get(_HEADER, "null"))
            names = file.keys() if with_arrays else ()
            arrays = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise DataError(f"{path} is truncated or not a safetensors file ({error})") from None
    if not isinstance(header, dict):
        raise DataError(f"{path} was not written by wakesleep: it has no '{_HEADER}' header")
    if header.get("format") != FORMAT:
        raise DataError(
            f"{path} has format {header.get('format')}; this version of wakesleep reads {FORMAT}"
        )
    return header, arrays


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def save_model(
    model: HelmholtzMachine, path: str | Path, *, half: bool = False, **notes: Any
) -> None:
    """Write a model, at half precision and size if asked; `notes` (plain values) go with it.

    >>> import jax, tempfile, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2", features=3, key=jax.random.key(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ws.save_model(model, f"{folder}/model.safetensors")
    ...     ws.describe(ws.load_model(f"{folder}/model.safetensors"))
    'sbn/sbn 2'
    """
    header = {"architecture": describe(model), "features": model.features, "notes": notes}
    stored = jax.tree.map(lambda leaf: leaf.astype(jnp.float16), model) if half else model
    save_arrays(Path(path), stored, header)


def load_model(path: str | Path) -> HelmholtzMachine:
    """Read a model written by `save_model`."""
    header = read_header(Path(path))
    model: HelmholtzMachine = load_arrays(Path(path), model_shapes(header, Path(path)))
    return model


def model_shapes(header: Mapping[str, Any], path: Path) -> HelmholtzMachine:
    """The machine a header describes, shapes in place of arrays."""
    architecture, features = header.get("architecture"), header.get("features")
    if not (isinstance(architecture, str) and isinstance(features, int)):
        raise DataError(f"{path} holds no model: its header names no architecture")
    shapes: HelmholtzMachine = jax.eval_shape(
        lambda: build(architecture, features, key=jax.random.key(0))
    )
    return shapes
