"""The kernels' definitions in float64 NumPy, written without the recurrences the kernels use."""

import numpy as np


def sigmoid(z):
    return np.exp(-np.logaddexp(0, -np.asarray(z, np.float64)))


def nade_hidden(x, a, W):
    """σ(a + Σ_{j<i} W_j x_j), `[N, D, H]`."""
    terms = np.einsum("nd,dh->ndh", x, W, dtype=np.float64)
    before = np.cumsum(terms, axis=1) - terms
    return sigmoid(np.asarray(a)[:, None, :] + before)


def nade_logits(x, a, c, W, V):
    return np.einsum("ndh,dh->nd", nade_hidden(x, a, W), V) + np.asarray(c)


def nade_gradients(g, x, a, W, V):
    """The gradients of a, c, W and V, given g, that of the logits."""
    g = np.asarray(g, np.float64)
    hidden = nade_hidden(x, a, W)
    per_unit = g[:, :, None] * np.asarray(V) * hidden * (1 - hidden)
    after = np.flip(np.cumsum(np.flip(per_unit, 1), 1), 1) - per_unit
    return (
        per_unit.sum(1),
        g,
        np.einsum("nd,ndh->dh", x, after),
        np.einsum("nd,ndh->dh", g, hidden),
    )


def ar_sbn_logits(x, c, S):
    return np.asarray(x) @ np.tril(np.asarray(S, np.float64), -1).T + np.asarray(c)


def assert_round_off(actual, expected, tolerance=1e-5):
    """Equal to float32 round-off, measured against the largest value of the array."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected)
    assert actual.shape == expected.shape
    scale = max(1e-30, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0, atol=tolerance)
