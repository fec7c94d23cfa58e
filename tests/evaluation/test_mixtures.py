"""log p̂ of mixtures: exact where it can be, with honest errors where it is estimated."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.mixtures import LOG_P, MIXTURE, ROWS, SEEN, SIZES, components, small_mixture
from tests.oracle import (
    exact_log_likelihood,
    mixture_log_likelihood,
    observed_log_likelihood,
)
from wakesleep.data import MaskedBits
from wakesleep.evaluation import bias_variance


def test_exact_components_make_an_exact_mixture():
    score = ws.log_likelihood(MIXTURE, ROWS, method="exact")
    np.testing.assert_allclose(score.values, LOG_P, atol=2e-5)
    assert np.exp(score.values).sum() == pytest.approx(1, abs=1e-5)
    assert not score.standard_errors.any()
    assert not score.biases.any()
    assert np.isnan(score.effective_samples).all()
    assert (score.bounds < score.values).all()
    visible = ws.Mixture(components("nade", "ar_sbn"), [0.0, 0.0])
    alone = ws.log_likelihood(visible, ROWS, 5, key=jax.random.key(0))
    assert alone.method == "exact"
    assert np.exp(alone.values).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("tolerance", [None, 0.02])
def test_estimates_lie_within_their_errors(tolerance):
    score = ws.log_likelihood(MIXTURE, ROWS, 3000, key=jax.random.key(1), tolerance=tolerance)
    assert score.method == "importance"
    wide = 4.5 * score.standard_errors - score.biases + 2e-5
    assert (np.abs(score.values - LOG_P) < wide).all()
    assert (score.standard_errors > 0).all()
    # The second component is exact: it draws nothing.
    assert (score.samples <= 3000).all()
    assert (score.samples == 3000).all() == (tolerance is None)


def test_errors_and_bounds_are_those_of_repetitions():
    """The same row many times: the spread of the values is what each says of itself."""
    parts = components("nade(order=2)/sbn 2", "sbn/sbn 3", scale=0.7)
    mixture = ws.Mixture(parts, [0.2, 0.0])
    row = np.tile(ROWS[4], (600, 1))
    score = ws.log_likelihood(mixture, row, 250, key=jax.random.key(2))
    exact = ws.log_likelihood(mixture, row[:1], method="exact")
    assert score.values.std(ddof=1) == pytest.approx(score.standard_errors.mean(), rel=0.15)
    error = score.values.std(ddof=1) / np.sqrt(len(row))
    assert abs(score.values.mean() - exact.mean - score.bias) < 4.5 * error + 0.2 * abs(score.bias)
    assert score.samples.tolist() == [500] * 600
    # The shares that weigh the bounds are estimated too, which moves them by as much as the bias.
    error = score.bounds.std(ddof=1) / np.sqrt(len(row))
    assert abs(score.bound - exact.bound) < 4.5 * error + abs(score.bias)
    assert (score.effective_samples > 1).all()
    assert (score.effective_samples < 500).all()


def test_missing_cells():
    mixture = small_mixture(masked=True)
    log_p = mixture_log_likelihood(mixture, ROWS, SIZES)
    table = MaskedBits.pack(ROWS * SEEN, np.tile([0, 1, 0], (len(ROWS), 1)), SIZES)
    score = ws.log_likelihood(mixture, table, 3000, key=jax.random.key(3))
    exact = [observed_log_likelihood(log_p, ROWS, row, SEEN)[0] for row in ROWS]
    wide = 4.5 * score.standard_errors - score.biases + 1e-4
    assert (np.abs(score.values - exact) < wide).all()


def test_an_interrupted_evaluation_goes_on_to_the_same_bits(tmp_path):
    rows, options = np.tile(ROWS, (3, 1)), {"key": jax.random.key(4), "samples": 400}
    whole = ws.log_likelihood(MIXTURE, rows, **options)
    path = tmp_path / "partial.safetensors"

    def interrupt(done, total):
        assert total == len(rows)
        if done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ws.log_likelihood(MIXTURE, rows, **options, checkpoint=path, progress=interrupt)
    again = ws.log_likelihood(MIXTURE, rows, **options, checkpoint=path, memory=1e9)
    assert again.records.tobytes() == whole.records.tobytes()
    other = ws.Mixture(MIXTURE.components, [0.0, 0.0])
    with pytest.raises(ws.UsageError, match="another model"):
        ws.log_likelihood(other, rows, **options, checkpoint=path)


def test_bits_by_themselves_are_the_oracle_s():
    x = np.asarray(ROWS, np.float32)
    keys = jax.random.split(jax.random.key(5))
    parts = [ws.build("darn(order=1)/sbn 2", 6, key=key) for key in keys]
    score = ws.log_likelihood(ws.Mixture(parts, np.log([0.25, 0.75])), x, method="exact")
    each = [
        np.log(w) + exact_log_likelihood(p, x) for w, p in zip((0.25, 0.75), parts, strict=True)
    ]
    np.testing.assert_allclose(score.values, np.logaddexp(*each), atol=2e-5)


def test_the_bootstrap_is_for_one_machine():
    with pytest.raises(ws.UsageError, match="Helmholtz machines"):
        bias_variance(MIXTURE, ROWS, key=jax.random.key(0))
