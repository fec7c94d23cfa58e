"""The parameters a training starts from, the same from every door."""

import jax
import jax.numpy as jnp

from wakesleep.architecture import build
from wakesleep.data import ArrayRows, Dataset
from wakesleep.models import BitModel
from wakesleep.recipe import Recipe
from wakesleep.training.events import Watched

MODEL_START = 2**31
"""Folded into the seed's key for initial parameters."""


def initial_model(
    architecture: str,
    data: Dataset,
    recipe: Recipe | None = None,
    seed: int = 0,
    watched: Watched | None = None,
) -> BitModel:
    """A model for this data, started as the recipe says.

    `ws.fit` with an architecture, `wakesleep train` and the scikit-learn estimator all start
    from what this gives. `watched` is for a recipe that pretrains, which may take long.
    """
    model = random_model(architecture, data, recipe, seed)
    if recipe and recipe.pretrain:
        # Pretraining is a training of its own, and every training begins here.
        from wakesleep.training.pretraining import pretrained

        model = pretrained(model, data, recipe, seed, watched)
    return model


def random_model(
    architecture: str, data: Dataset, recipe: Recipe | None = None, seed: int = 0
) -> BitModel:
    """The same before any pretraining: random weights, and p's visible bias at the data's mean."""
    init = recipe.init if recipe else "default"
    key = jax.random.fold_in(jax.random.key(seed), MODEL_START)
    model = build(
        architecture,
        data.features,
        key=key,
        init=init,
        groups=data.groups,
        masked=data.masked,
    )
    if init != "paper" and not isinstance(data.train, ArrayRows):
        mean = jnp.asarray(data.train.smoothed_mean(), jnp.float32)
        model = model.with_visible_mean(mean)
    return model
