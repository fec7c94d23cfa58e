"""Arrays and models on disk: safetensors with a JSON header, written whole or not at all.

Nothing here can execute what a file says: arrays are numbers, the header is JSON, and the
shapes a file must have are worked out from the layers it lists before it is believed.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from wakesleep.architecture import Architecture, build, describe, parse
from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError, UsageError
from wakesleep.header_checks import (
    check_count,
    check_depth,
    check_numbers,
    checked_groups,
    signed,
)
from wakesleep.layers import (
    Distribution,
    Layer,
    check_options,
    create_distribution,
    emission_of,
    initialisation,
    spec_of,
    with_emission,
)
from wakesleep.models import BitModel, EoNADE, EoNADESpec, HelmholtzMachine, LatentModel, Mixture
from wakesleep.models.mixture import MOST_COMPONENTS

FORMAT = 3
READABLE = (1, 2, 3)
"""Format 1 has an architecture string and the number of features in place of the layers; formats 1
and 2 have no digest of the header."""

EONADE_OPTIONS = [field.name for field in dataclasses.fields(EoNADESpec)]
_HEADER = "wakesleep"


def named_leaves(tree: Any) -> dict[str, Any]:
    """A tree's arrays, or shapes, by their place in it, such as `p.0.W`; functions are left out."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, _is_stored))
    named = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}
    if len(named) < len(leaves):
        raise UsageError("two arrays have the same place: names of parameters must have no dots")
    return named


def _is_stored(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, np.ndarray | np.generic | jax.ShapeDtypeStruct)


def save_arrays(path: Path, tree: Any, header: Mapping[str, Any]) -> None:
    """Write a tree's arrays and a JSON header."""
    # Copies: safetensors wants contiguous arrays, and NumPy's views of JAX arrays may not be.
    arrays = {name: np.array(leaf, order="C") for name, leaf in named_leaves(tree).items()}
    whole = {"format": FORMAT, "sha256": _digest(arrays), **header}
    write_atomically(path, save(arrays, metadata={_HEADER: json.dumps(signed(whole))}))


def read_header(path: Path) -> dict[str, Any]:
    """A file's JSON header; a file that is not ours is refused with a sentence."""
    return _read(path, with_arrays=False)[0]


def load_arrays(path: Path, like: Any) -> Any:
    """A tree of the structure and shapes of `like` (arrays or shapes) with a file's arrays.

    What is no array in `like`, such as a function, stays.
    """
    header, arrays = _read(path, with_arrays=True)
    expected = named_leaves(like)
    if arrays.keys() != expected.keys() or not all(
        _fits(arrays[name], leaf) for name, leaf in expected.items()
    ):
        raise DataError(f"{path} does not hold the arrays its header promises: it is not usable")
    if header.get("sha256") != _digest(arrays):
        raise DataError(f"{path} is damaged: its contents do not match their checksum")
    stored, rest = eqx.partition(like, _is_stored)
    leaves = [jnp.asarray(arrays[name], leaf.dtype) for name, leaf in expected.items()]
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(stored), leaves), rest)


def _fits(array: np.ndarray, like: Any) -> bool:
    """Models may be stored at half precision; everything else is what it was."""
    halved = like.dtype == np.float32 and array.dtype == np.float16
    return array.shape == like.shape and (array.dtype == like.dtype or halved)


def _read(path: Path, *, with_arrays: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get(_HEADER, "null"))
            names = file.keys() if with_arrays else ()
            arrays = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, ValueError, TypeError, RecursionError, OSError) as error:
        raise DataError(f"{path} is truncated or not a safetensors file ({error})") from None
    if not isinstance(header, dict):
        raise DataError(f"{path} was not written by wakesleep: it has no '{_HEADER}' header")
    if header.get("format") not in READABLE:
        raise DataError(
            f"{path} has format {_shortened(header.get('format'))}; "
            f"this version of wakesleep reads {', '.join(map(str, READABLE))}"
        )
    if header["format"] == FORMAT and header != signed(header):
        raise DataError(f"{path} is damaged: its header does not match its checksum")
    return header, arrays


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def save_model(model: LatentModel, path: str | Path, *, half: bool = False, **notes: Any) -> None:
    """Write a model, at half precision and size if asked; `notes` (plain values) go with it.

    >>> import jax, tempfile, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2", features=3, key=jax.random.key(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ws.save_model(model, f"{folder}/model.safetensors")
    ...     ws.describe(ws.load_model(f"{folder}/model.safetensors"))
    'sbn/sbn 2'
    """
    stored = jax.tree.map(_halved, model) if half else model
    save_arrays(Path(path), stored, {**model_header(model), "notes": notes})


def _halved(leaf: Any) -> Any:
    return leaf.astype(np.float16) if getattr(leaf, "dtype", None) == np.float32 else leaf


def load_model(path: str | Path) -> BitModel:
    """Read a Helmholtz machine, a mixture of them or an EoNADE written by `save_model`."""
    header = read_header(Path(path))
    model: BitModel = load_arrays(Path(path), model_shapes(header, Path(path)))
    return model


def model_header(model: LatentModel) -> dict[str, Any]:
    """What a file's header says of the model inside: every layer, and the notation for people.

    Of a model that is not made of layers it names the class; its arrays can be read by
    `load_arrays` into such a model.
    """
    parts: dict[str, Any]
    if isinstance(model, Mixture):
        each = [model_header(one) for one in model.components]
        return {"architecture": describe(model), "features": model.features, "components": each}
    if isinstance(model, EoNADE):
        parts = {"eonade": dataclasses.asdict(model.spec)}
    elif isinstance(model, HelmholtzMachine):
        parts = {"layers": {"p": list(map(_record, model.p)), "q": list(map(_record, model.q))}}
    else:
        return {"model": type(model).__name__}
    header = {"architecture": describe(model), "features": model.features, **parts}
    sizes = model.visible_emission.group_sizes
    return header if sizes is None else {**header, "groups": list(sizes)}


def _record(layer: Distribution) -> dict[str, Any]:
    spec = spec_of(layer)
    return {
        "kind": spec.kind,
        "size": layer.size,
        "parents": layer.parents,
        "options": dict(spec.options),
    }


def model_shapes(header: Mapping[str, Any], path: Path) -> BitModel:
    """The model a header describes, shapes in place of arrays.

    A header is believed in nothing: whatever it says, this takes no memory and gives a model
    or a `DataError`.
    """
    if "model" in header and not {"layers", "components"} & set(header):
        raise DataError(
            f"{path} holds the arrays of a {_shortened(header['model'])}, whose functions are not "
            "in the file: make the model again and fill it with wakesleep.storage.load_arrays"
        )
    try:
        if header.get("format") == 1:
            return _named_machine(header.get("architecture"), header.get("features"))
        if "components" in header:
            return _listed_mixture(header["components"])
        if "eonade" in header:
            return _eonade(header["eonade"], header.get("features"), header.get("groups"))
        return _listed_machine(header.get("layers"), header.get("groups"))
    except ValueError as error:
        raise DataError(f"{path} holds no model: {_shortened(error)}") from None


def _shortened(text: object) -> str:
    """Fit for one sentence, whatever a stranger wrote."""
    return " ".join(str(text).split())[:300]


def _eonade(options: Any, features: Any, groups: Any) -> EoNADE:
    if not (isinstance(options, dict) and options.keys() <= set(EONADE_OPTIONS)):
        raise UsageError(f"its eonade is not a table of {', '.join(EONADE_OPTIONS)}")
    check_numbers(options)
    spec = EoNADESpec(**options)
    check_depth(spec.layers)
    check_count("features", features, least=1)
    emission = emission_of(checked_groups(groups, features), features)
    start, key = initialisation("default"), jax.random.key(0)
    model: EoNADE = jax.eval_shape(lambda: EoNADE.create(key, features, start, emission, spec))
    return model


def _named_machine(architecture: Any, features: Any) -> BitModel:
    if not isinstance(architecture, str):
        raise UsageError("its header names no architecture")
    check_count("features", features, least=1)
    plan = parse(architecture)
    if not isinstance(plan, Architecture):
        raise UsageError(f"format 1 has no {architecture}")
    check_depth(len(plan.p))
    for spec in (*plan.p, *plan.q):
        check_numbers(spec.options)
    machine: BitModel = jax.eval_shape(lambda: build(plan, features, key=jax.random.key(0)))
    return machine


def _listed_mixture(components: Any) -> Mixture:
    if not (isinstance(components, list) and all(isinstance(each, dict) for each in components)):
        raise UsageError("its components are not a list of machines")
    if not 0 < len(components) <= MOST_COMPONENTS:
        raise UsageError(f"its components must be from 1 to {MOST_COMPONENTS}")
    listed = [each["layers"] for each in components if isinstance(each.get("layers"), dict)]
    depths = [len(part) for each in listed for part in each.values() if isinstance(part, list)]
    check_depth(sum(depths))
    parts = tuple(_listed_machine(each.get("layers"), each.get("groups")) for each in components)
    mixture: Mixture = jax.eval_shape(lambda parts: Mixture(parts, jnp.zeros(len(parts))), parts)
    return mixture


def _listed_machine(layers: Any, groups: Any) -> HelmholtzMachine:
    p, q = (layers.get("p"), layers.get("q")) if isinstance(layers, dict) else (None, None)
    if not (isinstance(p, list) and isinstance(q, list)):
        raise UsageError("its header lists no layers of p and q")
    check_depth(len(p) + len(q))

    def create() -> HelmholtzMachine:
        visible, *above = map(_created, p)
        sizes = checked_groups(groups, visible.size)
        visible = with_emission(visible, emission_of(sizes, visible.size))
        return HelmholtzMachine((visible, *above), tuple(map(_created_in_q, q)))

    if not p:
        raise UsageError("its layers do not chain: there is no visible one")
    machine: HelmholtzMachine = jax.eval_shape(create)
    return machine


def _created_in_q(record: Any) -> Layer:
    made = _created(record)
    if not isinstance(made, Layer):
        raise UsageError("its q has an undirected layer, which only p's top can be")
    return made


def _created(record: Any) -> Distribution:
    """A layer with a record's shapes."""
    if not isinstance(record, dict):
        raise UsageError("a layer in its header is not a table")
    kind, options = record.get("kind"), record.get("options")
    if not (isinstance(kind, str) and isinstance(options, dict)):
        raise UsageError("a layer in its header has no kind or no options")
    check_count("size", record.get("size"), least=1)
    check_count("parents", record.get("parents"), least=0)
    check_options(kind, options)
    check_numbers(options)
    start, key = initialisation("default"), jax.random.key(0)
    return create_distribution(kind, key, record["size"], record["parents"], start, options)
