"""The paper's component layers (its section 3) in float64 NumPy, with gradients worked out by hand.

Nothing here comes from the package. A layer is read as numbers by name, and which names there are
says what kind it is: a kind of one's own joins the oracle by one line in `FORMULAS`.

Every formula takes its parameters by name, x `[..., D]` and the parents y `[..., C]` with leading
dimensions that broadcast, and gives the logits of P(x_i = 1 | x_<i, y).
"""

from typing import NamedTuple

import jax
import numpy as np


def sigmoid(z):
    """1 / (1 + e^−z) without overflow."""
    return np.exp(-np.logaddexp(0, -np.asarray(z)))


# f of the deterministic units, and f' in terms of z and f(z).
NONLINEARITIES = {
    "tanh": (np.tanh, lambda z, f: 1 - f**2),
    "sigmoid": (sigmoid, lambda z, f: f * (1 - f)),
    "relu": (lambda z: np.maximum(z, 0), lambda z, f: (z > 0) * 1.0),
}


class Parameters(NamedTuple):
    """A layer as numbers: arrays by name, deterministic units' nonlinearity if it has them.

    `units` says which unit is taken first, second, ...; None where they are taken as they stand.
    """

    arrays: dict[str, np.ndarray]
    nonlinearity: str | None = None
    units: np.ndarray | None = None

    @property
    def size(self):
        return len(self.arrays.get("b", self.arrays.get("inner.b")))


def read(layer):
    """A layer's numbers."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(layer)
    arrays = {
        jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf, np.float64)
        for path, leaf in leaves
    }
    inner = getattr(layer, "inner", layer)
    seed, nonlinearity = getattr(inner, "order", 0), getattr(layer, "nonlinearity", None)
    if not seed:
        return Parameters(arrays, nonlinearity)
    size = len(arrays.get("b", arrays.get("inner.b")))
    sizes = getattr(inner.emission, "sizes", None) or [1] * size
    return Parameters(arrays, nonlinearity, shuffled(seed, sizes))


def shuffled(seed, sizes):
    """Units group by group: backwards for -1, backwards by columns W apart for -W, else as
    NumPy's legacy generator has the groups."""
    numbered = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    if seed < 0:
        by_column = [each for start in range(-seed) for each in numbered[start::-seed]]
        return np.concatenate(by_column[::-1])
    order = np.random.RandomState([seed]).permutation(len(sizes))
    return np.concatenate([numbered[group] for group in order])


def sbn_logits(x, y, *, W, b):
    """W y + b."""
    return y @ W.T + b


def sbn_gradient(g, x, y, *, W, b):
    """Of Σ g · logits, with respect to the parameters and to y."""
    return {"W": g.T @ y, "b": g.sum(0)}, g @ W


def ar_sbn_logits(x, y, *, W, S, b):
    """W y + S_i,<i x_<i + b, S strictly lower triangular."""
    return y @ W.T + x @ np.tril(S, -1).T + b


def ar_sbn_gradient(g, x, y, *, W, S, b):
    """Of Σ g · logits, with respect to the parameters and to y."""
    return {"W": g.T @ y, "S": np.tril(g.T @ x, -1), "b": g.sum(0)}, g @ W


def earlier(size):
    """`[i, j]` is 1 where unit j comes before unit i."""
    return np.tril(np.ones((size, size)), -1)


def nade_hidden(x, y, *, W, V, U_a, U_b, a, b):
    """σ(W_<i x_<i + U_a y + a) for every unit i: `[..., D, H]`."""
    own = (earlier(len(b)) * x[..., None, :]) @ W
    return sigmoid(own + (y @ U_a.T + a)[..., None, :])


def nade_logits(x, y, **theta):
    """V_i σ(W_<i x_<i + U_a y + a) + U_b,i y + b_i."""
    hidden = nade_hidden(x, y, **theta)
    return (hidden * theta["V"]).sum(-1) + y @ theta["U_b"].T + theta["b"]


def nade_gradient(g, x, y, **theta):
    """Of Σ g · logits, with respect to the parameters and to y."""
    hidden = nade_hidden(x, y, **theta)
    inside = g[:, :, None] * theta["V"] * hidden * (1 - hidden)
    gradients = {
        "W": np.einsum("ij,nj,nih->jh", earlier(len(theta["b"])), x, inside, optimize=True),
        "V": np.einsum("ni,nih->ih", g, hidden),
        "U_a": inside.sum(1).T @ y,
        "U_b": g.T @ y,
        "a": inside.sum((0, 1)),
        "b": g.sum(0),
    }
    return gradients, g @ theta["U_b"] + inside.sum(1) @ theta["U_a"]


# What of a layer with an order is kept unit by unit; its other arrays follow the order.
BY_UNIT = {
    frozenset({"W", "S", "b"}): {"W", "b"},
    frozenset({"W", "V", "U_a", "U_b", "a", "b"}): {"U_b", "b"},
}


def in_order(theta, inner, back=False):
    """A layer's arrays with all that is kept unit by unit in the layer's order, or put back."""
    if theta.units is None:
        return inner
    rows = np.argsort(theta.units) if back else theta.units
    by_unit = BY_UNIT[frozenset(inner)]
    return {name: array[rows] if name in by_unit else array for name, array in inner.items()}


def taken(theta, values):
    """Values of units, `[..., D]`, in the layer's order."""
    return values if theta.units is None else values[..., theta.units]


FORMULAS = {
    frozenset({"W", "b"}): (sbn_logits, sbn_gradient),
    frozenset({"W", "S", "b"}): (ar_sbn_logits, ar_sbn_gradient),
    frozenset({"W", "V", "U_a", "U_b", "a", "b"}): (nade_logits, nade_gradient),
}


def formulas(arrays):
    """The logits and their gradient for a layer with parameters of these names."""
    names = frozenset(arrays)
    if names not in FORMULAS:
        raise LookupError(f"the oracle knows no layer with the parameters {sorted(names)}")
    return FORMULAS[names]


def inner_arrays(arrays):
    """What stands behind the deterministic units; all of it in a layer without them."""
    if "A" not in arrays:
        return arrays
    return {name[6:]: array for name, array in arrays.items() if name.startswith("inner.")}


def units(theta, y):
    """f(A y + c) before and after f; a layer without deterministic units sees y itself."""
    if "A" not in theta.arrays:
        return y, y
    before = y @ theta.arrays["A"].T + theta.arrays["c"]
    return before, NONLINEARITIES[theta.nonlinearity][0](before)


def logits(theta, x, y):
    """The logits of P(x_i = 1 | x_<i, y), `[..., D]`."""
    inner = inner_arrays(theta.arrays)
    arrays = in_order(theta, inner)
    made = formulas(inner)[0](taken(theta, x), units(theta, y)[1], **arrays)
    if theta.units is not None:
        made = made[..., np.argsort(theta.units)]
    return np.broadcast_to(made, np.broadcast_shapes(made.shape, x.shape))


def log_prob(theta, x, y):
    """log P(x | y) = Σ_i log σ(±logit_i), `[...]`."""
    return -np.logaddexp(0, (1 - 2 * x) * logits(theta, x, y)).sum(-1)


def log_prob_gradient(theta, x, y, weights):
    """∂/∂θ Σ_n w_n log P(x_n | y_n), by name, for x `[N, D]` and y `[N, C]`."""
    inner = inner_arrays(theta.arrays)
    before, seen = units(theta, y)
    g = weights[:, None] * (x - sigmoid(logits(theta, x, y)))
    of, arrays = (taken(theta, g), taken(theta, x), seen), in_order(theta, inner)
    gradients, to_units = formulas(inner)[1](*of, **arrays)
    gradients = in_order(theta, gradients, back=True)
    if "A" not in theta.arrays:
        return gradients
    to_units = to_units * NONLINEARITIES[theta.nonlinearity][1](before, seen)
    through = {"A": to_units.T @ y, "c": to_units.sum(0)}
    return through | {f"inner.{name}": gradient for name, gradient in gradients.items()}


def layer_logits(layer, x, y):
    """`logits` of a layer of the package."""
    return logits(read(layer), np.asarray(x, np.float64), np.asarray(y, np.float64))


def layer_log_prob(layer, x, y):
    """`log_prob` of a layer of the package."""
    return log_prob(read(layer), np.asarray(x, np.float64), np.asarray(y, np.float64))
