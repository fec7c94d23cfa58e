"""A Helmholtz machine that scikit-learn can fit, search, pipe and pickle."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import jax
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from wakesleep.architecture import describe
from wakesleep.inference.posterior import infer_rows
from wakesleep.inference.sample_rows import sample_frame
from wakesleep.models import BitModel
from wakesleep.recipe import Recipe
from wakesleep.sklearn import estimator_output as output
from wakesleep.sklearn.estimator_features import FeaturesMixin
from wakesleep.sklearn.estimator_input import (
    EncodedRows,
    Given,
    encode_rows,
    make_dataset,
    only_training,
    read_x,
    say,
)
from wakesleep.sklearn.estimator_parameters import CONSTRAINTS
from wakesleep.sklearn.passes import Passes, begin, draw_seed, recipe_of
from wakesleep.training import FitResult
from wakesleep.training.automatic import AUTO, MINUTES

Floats = npt.NDArray[np.float64]


class HelmholtzMachineDensity(FeaturesMixin, DensityMixin, BaseEstimator):
    """Density of tables, and of bits, by a deep directed model with binary latents.

    Trained by Reweighted Wake-Sleep. It scores rows by log-likelihood, draws new ones, imputes
    missing cells, and turns rows into features: columns without gaps, and posterior means of its
    latents. X may be a frame (pandas, polars, Arrow), an array or a sparse matrix: words are
    levels, numbers are numbers, 0 and 1 are bits, and NaN, None and NA are missing cells, of which
    nothing is asked. What comes out is like what came in.

    Parameters
    ----------
    architecture : str, default="auto"
        Kinds of layers of p and q and the sizes of the latent layers, top first, such as
        "sbn/sbn 10-30". With "auto" a few models are trained, and the best on held-out rows is
        kept; it has recipes of its own, and the parameters from `max_iter` to `patience` are for
        architectures that are named, and for `partial_fit`.
    minutes : float > 0, default=2.0
        The budget of "auto", counted as arithmetic and not by a clock.
    max_iter : int >= 1, default=30
        Passes over the training rows.
    estimator : str or dict, default="reweighted"
        How gradients are estimated: the name of one of `wakesleep.estimators.ESTIMATORS`, or a
        table of its name and options. An EoNADE learns fastest by "order_agnostic".
    samples : int >= 1 or None, default=None
        Latents drawn from q for each row of a training step; None for as many as the gradient
        estimator has by itself, which is 5 of "reweighted".
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
    features : {"all", "latents"}, default="all"
        What `transform` gives: the columns and the latents, or the latents alone.
    columns : dict, default=None
        What columns are, where the data would mislead: `{"zip": "categorical"}`. Columns
        without names are called x0, x1 and so on.
    unseen : {"error", "missing"}, default="error"
        Levels that training never saw, in a column that has no level for others: refuse them,
        or take the cells for missing.
    binarize : float or None, default=None
        Numbers above this threshold become 1, all others 0. None: numbers stay numbers. With
        sparse input a threshold must not be negative.
    random_state : int, RandomState instance or None, default=None
        Of the initial weights, the training, and all that is drawn afterwards.
    verbose : bool, default=False
        Show the progress of `fit`.

    Attributes
    ----------
    model_ : wakesleep.LatentModel
        The trained model of the bits.
    architecture_ : str
        What it is, in the notation of `architecture`.
    schema_ : wakesleep.schema.Schema
        What the columns are.
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
    >>> import pandas as pd
    >>> from wakesleep.sklearn import HelmholtzMachineDensity
    >>> frame = pd.DataFrame({"answer": ["yes", "no"] * 30, "age": [*range(20, 50)] * 2})
    >>> density = HelmholtzMachineDensity("sbn/sbn 4", max_iter=2, random_state=0).fit(frame)
    >>> density.score_samples(frame).shape, density.transform(frame).shape
    ((60,), (60, 6))
    >>> list(density.get_feature_names_out())
    ['answer=yes', 'age', 'h1_1', 'h1_2', 'h1_3', 'h1_4']
    >>> list(density.sample(3).columns)
    ['answer', 'age']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    def __init__(
        self,
        architecture: str = AUTO,
        *,
        minutes: float = MINUTES,
        max_iter: int = 30,
        estimator: str | Mapping[str, Any] = "reweighted",
        samples: int | None = None,
        batch_size: int = 100,
        learning_rate: float = 0.01,
        weight_decay: float = 0.0,
        validation_fraction: float = 0.0,
        patience: int = 0,
        inference_samples: int = 100,
        features: str = "all",
        columns: Mapping[str, Any] | None = None,
        unseen: str = "error",
        binarize: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.architecture = architecture
        self.minutes = minutes
        self.max_iter = max_iter
        self.estimator = estimator
        self.samples = samples
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.inference_samples = inference_samples
        self.features = features
        self.columns = columns
        self.unseen = unseen
        self.binarize = binarize
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on rows: a frame, an array or a sparse matrix; y is ignored."""
        self._validate_params()
        x = read_x(self, X, self.binarize, reset=True)
        self.seed_ = draw_seed(self.random_state)
        self._begin(
            x, self.validation_fraction, recipe_of(self.get_params(), self.max_iter, "cosine")
        )
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Train on these rows once more, from where the last call left off; y is ignored.

        The rows of the first call say what the columns are.
        """
        self._validate_params()
        begun = hasattr(self, "model_")
        x = read_x(self, X, self.binarize, reset=not begun)
        recipe = recipe_of(self.get_params(), 1, "constant")
        if begun:
            data = only_training(self._rows(x).rows)
            self._keep(*self._passes.go_on(data, recipe, shown=bool(self.verbose)))
        else:
            self.seed_ = draw_seed(self.random_state)
            self._begin(x, 0.0, recipe)
        return self

    def score_samples(self, X: Any) -> Floats:
        """log p̂(x) of every row in nats, `[N]`; low on average, less so with more samples.

        It is in the table's own units: probabilities of levels and whole numbers, densities of
        reals per unit of their column. A missing cell adds nothing.
        """
        check_is_fitted(self)
        rows, log_measure, _ = self._rows(read_x(self, X, self.binarize, reset=False))
        key = jax.random.key(self.seed_)
        scores = infer_rows(self.model_, rows, self.inference_samples, key).log_likelihood
        return scores + log_measure

    def oddity(self, X: Any) -> Floats:
        """How odd every row is, in nats, `[N]`, even if rows like it were among those of `fit`.

        The mean of minus `score_samples` and of what independent columns say that know the
        least odd four fifths of the training rows; for a table of 0 and 1 the first alone.
        """
        scores, x = self.score_samples(X), read_x(self, X, self.binarize, reset=False)
        return output.oddity_given(x, self._table_model, self.unseen, scores)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log p̂(x) over the rows; y is ignored."""
        return float(self.score_samples(X).mean())

    def surprise(self, X: Any) -> Any:
        """log p of every cell given the others of its row, in nats: low where a cell is odd.

        A frame of numbers where X is a frame, else `[N, n_features]`; NaN where a cell is missing
        or its column is no part of the model. In the columns' own units, as `score_samples`.
        """
        check_is_fitted(self)
        x, key = read_x(self, X, self.binarize, reset=False), jax.random.key(self.seed_)
        options = {"samples": self.inference_samples, "unseen": self.unseen}
        return output.surprise_given(x, self._table_model, key, options)

    def sample(
        self,
        n_samples: int = 1,
        random_state: Any = None,
        *,
        given: Any = None,
        gaps: bool = False,
    ) -> Any:
        """Draw rows like those of `fit`: a frame of the same library and types, or an array.

        random_state None is the estimator's own. Columns that were left out, such as identifiers,
        are no part of a frame, and NaN in an array. `given` are conditions that the rows keep:
        `{"region": "north", "age": (30, 40)}`, or `"region=north,age=30..40"`; a list allows
        several levels. With `gaps`, cells are missing in patterns like those of `fit`'s rows.
        """
        check_is_fitted(self)
        output.check_count(n_samples)
        seed = draw_seed(self.random_state if random_state is None else random_state)
        frame, notes = sample_frame(
            self._table_model, int(n_samples), jax.random.key(seed), given, gaps=gaps
        )
        say(notes)
        return self._form.give(frame)

    def impute(self, X: Any, *, how: str = "probable") -> Any:
        """Impute missing cells, given the others of their row; all else stays as it is.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            Where cells are NaN, None or NA.
        how : {"probable", "draw", "probability"}, default="probable"
            Each cell's most probable level, or the median of a number; one draw of all of the
            row's missing cells together; or, for a table of 0 and 1, the probability of a 1.

        Returns
        -------
        X_imputed : frame of the same library and types, or ndarray
        """
        check_is_fitted(self)
        x = read_x(self, X, self.binarize, reset=False)
        key = jax.random.fold_in(jax.random.key(self.seed_), 1)
        options = {"samples": self.inference_samples, "how": how, "unseen": self.unseen}
        return output.impute_given(x, self._table_model, key, options)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _rows(self, x: Given) -> EncodedRows:
        return encode_rows(x, self._table_model, self.unseen)

    def _begin(self, x: Given, held_out: float, recipe: Recipe) -> None:
        """Start from new parameters, for columns as they are here, and train."""
        order = np.random.default_rng(self.seed_).permutation(len(x))
        data, self.schema_ = make_dataset(x, self.columns, order[: int(held_out * len(x))])
        self._form = x.form.without_index()
        self._keep(*begin(self.get_params(), data, recipe, self.seed_))

    def _keep(self, result: FitResult, passes: Passes) -> None:
        self._passes, self.history_, self.n_iter_ = passes, result.history, passes.done
        self.model_ = cast(BitModel, result.model)
        self.architecture_ = describe(self.model_)
