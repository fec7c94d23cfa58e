"""What an estimator is: a minibatch and a machine in, gradients and something to plot out."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Key

from wakesleep.model import HelmholtzMachine
from wakesleep.recipe import Recipe


class Info(eqx.Module):
    """What a person plots, averaged over the minibatch.

    Attributes:
        log_likelihood: log p̂(x) with the estimator's K samples.
        bound: the single-sample variational bound.
        effective_samples: 1 / Σ ω̃², between 1 and K.
        largest_weight: max_k ω̃_k.
        kl: for each latent layer, the mean of log q_l − log p_l under q.
    """

    log_likelihood: Float[Array, ""]
    bound: Float[Array, ""]
    effective_samples: Float[Array, ""]
    largest_weight: Float[Array, ""]
    kl: tuple[Float[Array, ""], ...]


class Estimator(eqx.Module):
    """A stochastic gradient for θ and φ from a minibatch. It knows no optimiser.

    To write a new one, in a file of its own: hyperparameters as static fields, `from_recipe`,
    `__call__`, and one line in `ESTIMATORS` (`estimators/__init__.py`). A recipe then takes
    its name as `estimator`.
    """

    @classmethod
    @abc.abstractmethod
    def from_recipe(cls, phase: Recipe) -> "Estimator":
        """The estimator that a phase of training asks for."""

    @abc.abstractmethod
    def __call__(
        self, model: HelmholtzMachine, x: Float[Array, "B D"], key: Key[Array, ""]
    ) -> tuple[HelmholtzMachine, Info]:
        """Gradients of the loss to descend, averaged over the batch, in the model's own shape."""
