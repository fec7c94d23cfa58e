"""Chow-Liu trees: the best model of bits in which each column heeds one other. No JAX here.

Chow & Liu (1968): the tree that makes the training rows most likely is the spanning tree that is
largest in mutual information. Counting, one spanning tree, and everything is exact: likelihoods,
and those of rows with missing cells, by messages from the leaves to the root.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PSEUDO_ROWS = (0.1, 1.0, 4.0, 16.0)
"""Rows spread evenly over the four states of each pair of columns; validation rows choose."""


@dataclass(frozen=True, eq=False)
class ChowLiuTree:
    """p(x) = Π_i p(x_i | x_parent(i)) over a tree of binary columns.

    Attributes:
        order: columns, each behind its parent; the root is first.
        parents: of every column, `[D]`; that of the root is itself, whose state is not heeded.
        log_tables: log p(x_i = b | x_parent = a), `[D, 2, 2]` by column, a and b.
    """

    order: npt.NDArray[np.intp]
    parents: npt.NDArray[np.intp]
    log_tables: Floats

    @classmethod
    def fit(cls, train: npt.NDArray[Any], valid: npt.NDArray[Any]) -> "ChowLiuTree":
        """Learn from bits `[N, D]`; how much is smoothed is what validation rows like best."""
        trees = [cls.with_pseudo_rows(train, rows) for rows in PSEUDO_ROWS]
        # The first of equals.
        return max(trees, key=lambda tree: float(tree.log_prob(valid).mean()))

    @classmethod
    def with_pseudo_rows(cls, bits: npt.NDArray[Any], rows: float) -> "ChowLiuTree":
        """The tree of bits `[N, D]` and as many rows that are spread evenly."""
        joint = _pairs(bits, rows)
        order, parents = _spanning_tree(_information(joint))
        tables = joint[:, :, parents, np.arange(len(parents))]
        root = order[0]
        # The root has no parent: what it is itself stands in both rows of its table.
        tables[:, :, root] = np.diagonal(joint[:, :, root, root])
        conditional = tables / tables.sum(axis=1, keepdims=True)
        return cls(order, parents, np.log(np.moveaxis(conditional, -1, 0)))

    def log_prob(self, codes: npt.NDArray[Any]) -> Floats:
        """The log-probability of each row's observed bits, `[N]`; -1 is a missing cell."""
        bits = np.asarray(codes)
        messages = np.zeros((bits.shape[1], 2, len(bits)))
        for column in self.order[::-1]:
            cell = bits[:, column]
            # Of both states, given what is below; a state that was not observed is impossible.
            here = messages[column] + np.where(cell == 1 - np.arange(2)[:, None], -np.inf, 0.0)
            table = self.log_tables[column][:, :, None]
            upwards = np.logaddexp(table[:, 0] + here[0], table[:, 1] + here[1])
            if column == self.order[0]:
                return np.asarray(upwards[0])
            messages[self.parents[column]] += upwards
        return np.zeros(len(bits))


def _pairs(bits: npt.NDArray[Any], rows: float) -> Floats:
    """p(x_i = a, x_j = b), `[2, 2, D, D]`; of a column with itself, p(x_i = a) where a = b."""
    ones = np.asarray(bits, np.float64)
    both, single, count = ones.T @ ones, ones.sum(axis=0), len(ones)
    one = np.broadcast_to(single[:, None], both.shape)
    counts = np.array([[count - one - one.T + both, one.T - both], [one - both, both]])
    even = np.full(counts.shape, rows / 4)
    own = np.arange(len(single))
    even[:, :, own, own] = rows / 2 * np.eye(2)[:, :, None]
    return np.asarray((counts + even) / (count + rows))


def mutual_information(bits: npt.NDArray[Any]) -> Floats:
    """Of every pair of columns of bits `[N, D]`, in nats, `[D, D]`; with itself, the entropy."""
    return _information(_pairs(bits, 0.0))


def _information(joint: Floats) -> Floats:
    own = np.arange(joint.shape[-1])
    single = joint[:, :, own, own].sum(axis=1)
    apart = single[:, None, :, None] * single[None, :, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(joint > 0, joint * np.log(joint / apart), 0.0)
    return np.asarray(terms.sum(axis=(0, 1)))


def _spanning_tree(weights: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The largest one, from the first column on (Prim): an order, and every column's parent."""
    count = len(weights)
    parents = np.zeros(count, np.intp)
    order = [0]
    reach = weights[0].copy()
    reach[0] = -np.inf
    for _ in range(count - 1):
        column = int(reach.argmax())
        order.append(column)
        reach[column] = -np.inf
        nearer = (weights[column] > reach) & (reach > -np.inf)
        parents[nearer] = column
        reach[nearer] = weights[column][nearer]
    return np.array(order, np.intp), parents
