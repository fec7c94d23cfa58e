"""Receptive fields: what one unit of the first latent layer does to the data, and back."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from wakesleep.errors import UsageError
from wakesleep.models import BitModel, HelmholtzMachine

Fields = npt.NDArray[np.float32]


def generative_fields(model: BitModel) -> Fields:
    """How each latent unit next to the data moves the logits of p(x | h), `[H, D]`.

    The change of every bit's logit when that unit alone is switched on, all bits before it
    being 0. For an SBN this is the unit's column of W; the definition holds for every kind.
    """
    layer = _with_latents(model).visible
    return _responses(layer.parents, lambda y: layer.conditional_logits(jnp.zeros(layer.size), y))


def inference_fields(model: BitModel) -> Fields:
    """How each bit of x moves the logit of each unit in q(h | x), `[H, D]`, in the same sense."""
    layer = _with_latents(model).q[0]
    return _responses(layer.parents, lambda y: layer.conditional_logits(jnp.zeros(layer.size), y)).T


def strongest(fields: Fields, count: int) -> Fields:
    """The fields of largest norm, in falling order."""
    order = np.argsort(-np.linalg.norm(fields, axis=1), kind="stable")
    return fields[order[:count]]


def scaled(fields: Fields) -> Fields:
    """Each field on its own scale, from 0 (most negative) over 0.5 (nothing) to 1."""
    largest = np.abs(fields).max(axis=1, keepdims=True)
    return np.asarray(0.5 + 0.5 * fields / np.where(largest > 0, largest, 1), np.float32)


def _with_latents(model: BitModel) -> HelmholtzMachine:
    if not (isinstance(model, HelmholtzMachine) and model.latent_sizes):
        raise UsageError("a model without latent units has no receptive fields")
    return model


def _responses(parents: int, logits: Callable[[Array], Array]) -> Fields:
    alone, nothing = jnp.eye(parents), jnp.zeros((1, parents))
    return np.asarray(logits(alone) - logits(nothing), np.float32)
