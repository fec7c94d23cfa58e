"""A Helmholtz machine that scikit-learn can fit, search, pipe and pickle."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import jax
import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    TransformerMixin,
)
from sklearn.preprocessing import binarize
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from wakesleep.data import Dataset, PackedBits, as_bits
from wakesleep.errors import UsageError
from wakesleep.inference.imputation import impute
from wakesleep.inference.posterior import Inferred, infer_rows
from wakesleep.models import BitModel, sample
from wakesleep.recipe import Recipe
from wakesleep.training import FitResult, first_snapshot, fit, initial_model
from wakesleep.training.snapshot import Best, Position, Snapshot

Floats = npt.NDArray[np.float64]

HOW = ("probability", "mode", "draw")


class HelmholtzMachineDensity(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator
):
    """Density of binary data by a deep directed model with binary latents.

    Trained by Reweighted Wake-Sleep. It scores rows by log-likelihood, draws new ones, imputes
    missing entries, and turns rows into posterior means of its latents.

    Parameters
    ----------
    architecture : str, default="sbn/sbn 10-30"
        Kinds of layers of p and q and the sizes of the latent layers, top first.
    max_iter : int >= 1, default=30
        Passes over the training rows.
    samples : int >= 1, default=5
        Latents drawn from q for each row of a training step.
    batch_size : int >= 1, default=100
        Rows of a training step.
    learning_rate : float > 0, default=0.01
        Adam's. `fit` lowers it to zero along a cosine, `partial_fit` leaves it as it is.
    weight_decay : float >= 0, default=0.0
        Decoupled weight decay, per unit of learning rate.
    validation_fraction : float in [0, 1), default=0.0
        Share of the rows held out of training, by which the best parameters are chosen.
        With 0 the last (averaged) ones are kept. `partial_fit` holds nothing out.
    patience : int >= 0, default=0
        Stop after so many passes without a better validation score; 0 for never.
    inference_samples : int >= 1, default=100
        Latents drawn for each row by `score_samples` and `transform`, and imputations
        considered by `impute`. More make the score less low and less noisy.
    binarize : float or None, default=0.0
        Values above this threshold become 1, all others 0. None: the input must hold only
        0 and 1, and is checked. With sparse input a threshold must not be negative.
    random_state : int, RandomState instance or None, default=None
        Of the initial weights, the training, and all that is drawn afterwards.
    verbose : bool, default=False
        Show the progress of `fit`.

    Attributes
    ----------
    model_ : wakesleep.HelmholtzMachine
        The trained machine.
    n_iter_ : int
        Passes that training took, over all calls of `partial_fit`.
    history_ : tuple of wakesleep.training.EpochRecord
        One record for each pass of the last `fit` or `partial_fit`.
    seed_ : int
        What `random_state` gave; a row is always scored and transformed with the same draws.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where the input had names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from wakesleep.sklearn import HelmholtzMachineDensity
    >>> X = load_digits().data[:200]
    >>> density = HelmholtzMachineDensity(binarize=7.5, max_iter=2, random_state=0).fit(X)
    >>> density.score_samples(X).shape, density.transform(X).shape, density.sample(3).shape
    ((200,), (200, 40), (3, 64))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "architecture": [str],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "samples": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "inference_samples": [Interval(Integral, 1, None, closed="left")],
        "binarize": [Real, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        architecture: str = "sbn/sbn 10-30",
        *,
        max_iter: int = 30,
        samples: int = 5,
        batch_size: int = 100,
        learning_rate: float = 0.01,
        weight_decay: float = 0.0,
        validation_fraction: float = 0.0,
        patience: int = 0,
        inference_samples: int = 100,
        binarize: float | None = 0.0,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.architecture = architecture
        self.max_iter = max_iter
        self.samples = samples
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.inference_samples = inference_samples
        self.binarize = binarize
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on rows `[N, D]`, dense or sparse; y is ignored."""
        self._validate_params()
        bits = self._bits(X, reset=True)
        self.seed_ = _draw_seed(self.random_state)
        data, recipe = self._dataset(bits), self._recipe(self.max_iter, "cosine")
        self._begin(data, recipe)
        self._train(data, recipe)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train on these rows once more, from where the last call left off; y is ignored."""
        self._validate_params()
        begun = hasattr(self, "model_")
        bits = self._bits(X, reset=not begun)
        data, recipe = _only_training(bits), self._recipe(1, "constant")
        if not begun:
            self.seed_ = _draw_seed(self.random_state)
            self._begin(data, recipe)
        self._train(data, recipe)
        return self

    def score_samples(self, X: Any) -> Floats:
        """log p̂(x) of every row, in nats, `[N]`; low on average, less so with more samples."""
        return self._infer(X).log_likelihood

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log p̂(x) over the rows; y is ignored."""
        return float(self.score_samples(X).mean())

    def transform(self, X: Any) -> Floats:
        """Posterior means of all latents, the layer next to the data first, `[N, n_latents]`."""
        return self._infer(X).means

    def sample(self, n_samples: int = 1, random_state: Any = None) -> npt.NDArray[np.uint8]:
        """Draw rows of bits `[n_samples, D]`; random_state None: the estimator's own."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise UsageError(f"n_samples is {n_samples!r}, but it must be a count of 1 or more")
        chosen = self.random_state if random_state is None else random_state
        key = jax.random.key(_draw_seed(chosen))
        # Powers of two: few shapes to compile, whatever is asked for.
        return sample(self.model_, 1 << (int(n_samples) - 1).bit_length(), key=key)[:n_samples]

    def impute(self, X: Any, *, how: str = "probability") -> Floats:
        """Impute the entries that are nan, given the others of their row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Observed entries are binarised as elsewhere.
        how : {"probability", "mode", "draw"}, default="probability"
            The probability that the entry is 1, the more probable bit, or one draw of all the
            row's missing entries together.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Bits where the entries were observed.
        """
        check_is_fitted(self)
        if how not in HOW:
            raise UsageError(f"how is {how!r}, but it must be one of {', '.join(HOW)}")
        table = validate_data(
            self, X, reset=False, accept_sparse="csr", ensure_all_finite="allow-nan"
        )
        dense = table.toarray() if hasattr(table, "toarray") else table
        missing = np.isnan(dense)
        bits = self._binarized(np.where(missing, 0, dense))
        key = jax.random.fold_in(jax.random.key(self.seed_), 1)
        imputed = impute(self.model_, bits, missing, self.inference_samples, key=key, draws=1)
        if how == "draw":
            return imputed.draws[:, 0].astype(np.float64)
        probabilities = imputed.probabilities.astype(np.float64)
        return (probabilities > 0.5).astype(np.float64) if how == "mode" else probabilities

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return sum(self.model_.latent_sizes)

    def _infer(self, X: Any) -> Inferred:
        check_is_fitted(self)
        bits = self._bits(X, reset=False)
        return infer_rows(self.model_, bits, self.inference_samples, jax.random.key(self.seed_))

    def _bits(self, X: Any, *, reset: bool) -> PackedBits:
        table = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return as_bits(self._binarized(table), "X")

    def _binarized(self, table: Any) -> Any:
        return table if self.binarize is None else binarize(table, threshold=self.binarize)

    def _begin(self, data: Dataset, recipe: Recipe) -> None:
        self.n_iter_ = 0
        model = initial_model(self.architecture, data, recipe, self.seed_)
        self._snapshot = first_snapshot(model, data, recipe, self.seed_)

    def _train(self, data: Dataset, recipe: Recipe) -> None:
        """Go on with the parameters and the optimiser that are there."""
        # Epochs already trained are counted, so that a further one has other noise.
        start = Snapshot(self._snapshot.arrays, Position(epoch=self.n_iter_), Best(), seconds=0.0)
        result: FitResult = fit(
            self._snapshot.arrays.state.model,
            data,
            recipe,
            seed=self.seed_,
            resume=start,
            progress=bool(self.verbose),
        )
        self._snapshot = result.snapshot
        self.model_ = cast(BitModel, result.model)
        self.history_ = result.history
        self.n_iter_ += len(result.history)

    def _recipe(self, epochs: int, schedule: Any) -> Recipe:
        return Recipe(
            epochs=int(epochs),
            estimator={"name": "reweighted", "samples": int(self.samples)},
            batch_size=int(self.batch_size),
            learning_rate=float(self.learning_rate),
            weight_decay=float(self.weight_decay),
            patience=int(self.patience),
            schedule=schedule,
        )

    def _dataset(self, bits: PackedBits) -> Dataset:
        held_out = int(self.validation_fraction * len(bits))
        if not held_out:
            return _only_training(bits)
        order = np.random.default_rng(self.seed_).permutation(len(bits))
        train, valid = bits.take(np.sort(order[held_out:])), bits.take(np.sort(order[:held_out]))
        return Dataset("X", train, valid, bits.take([]), binarisation=f"above {self.binarize}")


def _only_training(bits: PackedBits) -> Dataset:
    nothing = bits.take([])
    return Dataset("X", bits, nothing, nothing, binarisation="as fitted")


def _draw_seed(random_state: Any) -> int:
    """A whole number is the seed itself, as everywhere else in the package."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
