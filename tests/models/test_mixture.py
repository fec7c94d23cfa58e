"""Mixtures as latent models, against the oracle's list of all rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.mixtures import LOG_P, MIXTURE, ROWS, SEEN, SIZES, components
from tests.oracle import observed_log_likelihood
from wakesleep.models import Masked, sample_means
from wakesleep.storage import load_model, model_header, model_shapes, read_header, save_model


def test_the_oracle_s_probabilities_sum_to_one():
    assert np.exp(LOG_P).sum() == pytest.approx(1, abs=1e-6)


def test_samples_follow_the_mixture(key):
    count = 20_000
    x = ws.sample(MIXTURE, count, key=key)
    numbers = {row.astype(np.uint8).tobytes(): i for i, row in enumerate(ROWS)}
    seen = np.bincount([numbers[row.tobytes()] for row in x], minlength=len(ROWS))
    p = np.exp(LOG_P)
    assert np.abs((seen - count * p) / np.sqrt(count * p * (1 - p))).max() < 4.5
    # Of the bit by itself; units behind a group's 1 are not asked, and have no mean.
    means = sample_means(MIXTURE, count, key=key)[:, 2]
    error = means.std() / np.sqrt(count)
    assert abs(means.mean() - p @ ROWS[:, 2]) < 4.5 * error + 1e-5


def test_weights_are_unbiased_with_and_without_missing_cells(key):
    row = ROWS[7]
    masked = Masked(jnp.asarray(row * SEEN)[None], jnp.array([[0.0, 1.0, 0.0]]))
    exact, _ = observed_log_likelihood(LOG_P, ROWS, row, SEEN)
    for x, log_p in ((jnp.asarray(row)[None], LOG_P[7]), (masked, exact)):
        draw = eqx.filter_jit(MIXTURE.draw)(key, x, 20_000)
        weights = np.exp(np.asarray(draw.log_weights, np.float64))[0]
        error = weights.std() / np.sqrt(len(weights))
        assert abs(weights.mean() - np.exp(log_p)) < 4.5 * error
        assert len(draw.h) == 2
        assert draw.h[1] == ()


def test_dreams_are_scored_by_q(key):
    x, h = jax.jit(lambda key: MIXTURE.dream(key, (3, 2)))(key)
    assert x.shape == (3, 2, 6)
    assert [layer.shape for each in h for layer in each] == [(3, 2, 2)]
    np.testing.assert_allclose(MIXTURE.log_q(h, x), MIXTURE.components[0].log_q(h[0], x))


def test_log_p_moves_p_and_the_weights_but_not_q(key):
    score = lambda model: model.draw(key, jnp.asarray(ROWS), 3).log_p.sum()  # noqa: E731
    p, q = eqx.partition(eqx.filter_jit(eqx.filter_grad(score))(MIXTURE), MIXTURE.p_leaves())
    assert [leaf.shape for leaf in jax.tree.leaves(q)] == [(2, 6), (2,)]
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(q))
    assert all(np.any(leaf) for leaf in (p.log_weights, p.components[0].p[0].V))


def test_mixtures_are_described_saved_and_loaded(tmp_path):
    assert ws.describe(MIXTURE) == "mixture of 2: nade(order=2)/sbn 2; ar_sbn(order=1)"
    twice = ws.Mixture([*MIXTURE.components, MIXTURE.components[1]], [0, 0, 0])
    assert ws.describe(twice) == "mixture of 3: nade(order=2)/sbn 2; 2 x ar_sbn(order=1)"
    path = tmp_path / "model.safetensors"
    save_model(MIXTURE, path, said="so")
    loaded = load_model(path)
    assert eqx.tree_equal(loaded, MIXTURE)
    assert loaded.groups == SIZES
    header = read_header(path)
    assert header["notes"] == {"said": "so"}
    assert [each["groups"] for each in header["components"]] == [[2, 1, 3], [2, 1, 3]]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda parts: "two", "not a list"),
        (lambda parts: [1, 2], "not a list"),
        (lambda parts: [], "from 1 to 100"),
        (lambda parts: parts * 1000, "from 1 to 100"),
        (lambda parts: [{"components": parts}], "lists no layers"),
        (lambda parts: [{"layers": {"p": [1] * 999, "q": [1]}}] * 2, "2000 layers are more"),
        (lambda parts: [{"layers": {"p": 5, "q": None}}], "lists no layers"),
        (lambda parts: [parts[0], {**parts[1], "groups": [6]}], "the same groups"),
        (lambda parts: [{**parts[0], "layers": {"p": [], "q": []}}], "no visible one"),
    ],
)
def test_headers_of_mixtures_are_believed_in_nothing(spoil, said, tmp_path):
    header = model_header(MIXTURE)
    with pytest.raises(ws.DataError, match=said):
        model_shapes({**header, "components": spoil(header["components"])}, tmp_path)


def test_what_is_no_mixture_is_refused():
    (part,) = components("nade")
    with pytest.raises(ws.UsageError, match="as many log weights"):
        ws.Mixture([part], [0.0, 1.0])
    with pytest.raises(ws.UsageError, match="from 1 to 100 components, not 0"):
        ws.Mixture([], [])
    other = ws.build("nade", features=6, key=jax.random.key(0))
    with pytest.raises(ws.UsageError, match="same groups"):
        ws.Mixture([part, other], [0.0, 0.0])
    # The type checker of the tests looks at one of the two by chance.
    with pytest.raises((ws.UsageError, TypeError), match=r"HelmholtzMachine|Helmholtz machines"):
        ws.Mixture([MIXTURE, part], [0.0, 0.0])
