"""What the estimator's `transform` gives."""

from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from wakesleep.inference.features import feature_names, row_features
from wakesleep.models import BitModel, TableModel
from wakesleep.schema import Schema
from wakesleep.sklearn.estimator_input import encode_rows, read_x


class FeaturesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`transform` and the names of what it gives, for the estimator of densities."""

    model_: BitModel
    schema_: Schema
    seed_: int
    features: str
    inference_samples: int
    unseen: str
    binarize: float | None

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """What the model expects of every column and every latent, given a row's observed cells.

        Of a column that is observed that is its value: a number, standardised by its bins, is one
        feature, and levels are a feature each, 1 or 0 (one for two levels). Of a missing cell it
        is the mean of the number, or the probability of each level. Posterior means of the latents
        follow, the layer next to the data first, an RBM's hidden units last; of a mixture its
        components' probabilities, and then the latents of each, but of no autoregressive component
        if there are others. With `features="latents"` these are all.
        """
        check_is_fitted(self)
        x = read_x(self, X, self.binarize, reset=False)
        found = encode_rows(x, self._table_model, self.unseen)
        return row_features(
            self.model_,
            found.rows,
            self.inference_samples,
            jax.random.key(self.seed_),
            table=None if found.encoded is None else (self.schema_, found.encoded),
            which=self.features,
        )

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of what `transform` gives: `age`, `region=north`, `h1_3` (layer 1, unit 3)."""
        # Refuses names that are not those of `fit`.
        super().get_feature_names_out(input_features)
        return np.array(self._names_out, dtype=object)

    @property
    def _names_out(self) -> list[str]:
        return feature_names(self.model_, self.schema_, which=self.features)

    @property
    def _n_features_out(self) -> int:
        return len(self._names_out)

    @property
    def _table_model(self) -> TableModel:
        return TableModel(self.model_, self.schema_)
