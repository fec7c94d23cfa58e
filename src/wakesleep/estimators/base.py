"""What an estimator is: a model and a minibatch in, gradients and something to plot out.

An algorithm is `init` plus a `step` with explicit state, as in Optax and BlackJAX.
"""

import abc
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
from jax import lax
from jaxtyping import Array, Float, Int, Key, PyTree

from wakesleep import importance
from wakesleep.errors import UsageError
from wakesleep.inference.normaliser import undirected_top
from wakesleep.models.base import Draw, LatentModel
from wakesleep.models.masked import Masked
from wakesleep.options import check_declared


class Batch(NamedTuple):
    """A minibatch.

    Attributes:
        x: the examples, an array or a tree of arrays with B in front.
        rows: their numbers in the training set, for memory per row.
    """

    x: Any
    rows: Int[Array, " B"]


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


class Part(NamedTuple):
    """What some rows of a minibatch give.

    Attributes:
        gradients: of the loss to descend, averaged over the rows, in the model's own shape.
        notes: what the next state is made of, with the rows in front; `()` for none.
        info: what a person plots.
    """

    gradients: LatentModel
    notes: PyTree
    info: Info


class Step(NamedTuple):
    """What a whole minibatch gives: as a part does, and the state that the next step needs."""

    gradients: LatentModel
    state: PyTree
    info: Info


@dataclass(frozen=True, kw_only=True)
class Estimator(abc.ABC):
    """A stochastic gradient for p's and q's parameters from a minibatch.

    It knows no optimiser of theirs. Its own fields are its options: plain values, set in a
    recipe's `[estimator]` table or as `--estimator.NAME VALUE`, checked by what their
    annotations declare (`wakesleep.options`).

    To write a new one, in a file of its own: a frozen dataclass with the options as fields,
    `part`, `init` where it has a state or asks something of the model, `remember` where the state
    changes, and one line in `ESTIMATORS` (`estimators/__init__.py`).

    Attributes:
        normalises: whether its gradient has the −∂ log Z of an undirected top. One that has not
            is not trained with such a model.
    """

    normalises: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_declared(self)

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """The state training starts from; none, unless an estimator says otherwise.

        It is a tree of arrays: trainable auxiliaries with the state of their own optimiser,
        running numbers, memory for each of the training set's `rows`. It is checkpointed with
        the model. It is kept from phase to phase as long as the estimator is of the same kind
        and the state of the same shape.
        """
        del model, rows, key
        return ()

    @abc.abstractmethod
    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients from some rows of a minibatch, which may be all of them.

        It knows nothing of the minibatch's other rows: another process may have them.
        """

    def remember(
        self,
        model: LatentModel,
        state: PyTree,
        notes: PyTree,
        rows: Int[Array, " B"],
        key: Key[Array, ""],
    ) -> PyTree:
        """The next state, from the notes of all rows of a minibatch; as it was, unless overridden.

        The model is the one that the gradients are of.
        """
        del model, notes, rows, key
        return state

    def step(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Step:
        """Gradients from a minibatch, and the next state."""
        part = self.part(model, state, batch, key)
        following = self.remember(model, state, part.notes, batch.rows, key)
        return Step(part.gradients, following, part.info)

    @abc.abstractmethod
    def scored(self, depth: int) -> int:
        """States that p or q scores for an example, in a model of so many latent layers."""

    def options(self) -> dict[str, Any]:
        """The fields, as plain values."""
        return dataclasses.asdict(self)


def refuse_missing(x: Any, name: str) -> None:
    """Raise a `UsageError` for examples with missing groups, for an estimator of whole rows."""
    if isinstance(x, Masked):
        raise UsageError(
            f"estimator '{name}' scores whole rows, and these have missing cells: take another "
            "estimator, such as reweighted, or make missing a level (--missing level)"
        )


def check_normalises(estimator: Estimator, model: LatentModel) -> None:
    """Raise a `UsageError` for an undirected top whose log Z the estimator would leave out."""
    if undirected_top(model) is not None and not estimator.normalises:
        raise UsageError(
            f"{type(estimator).__name__} has no negative phase for an RBM: train this model with "
            "estimator 'reweighted'"
        )


def summarise(drawn: Draw, log_weights: Float[Array, "B K"] | None = None) -> Info:
    """What a person plots of a minibatch's samples; no gradient flows through it.

    Their log weights are those of q's samples, unless others are given.
    """
    drawn = lax.stop_gradient(drawn)
    log_weights = drawn.log_weights if log_weights is None else log_weights
    # A model given as functions scores h as a whole: it has no layers to tell apart.
    latent_terms = zip(drawn.log_q_terms, drawn.log_p_terms[1:], strict=False)
    return Info(
        log_likelihood=importance.log_likelihood_estimate(log_weights).mean(),
        bound=importance.variational_bound(log_weights).mean(),
        effective_samples=importance.effective_sample_size(log_weights).mean(),
        largest_weight=importance.normalise(log_weights).max(-1).mean(),
        kl=tuple((q - p).mean() for q, p in latent_terms),
    )
