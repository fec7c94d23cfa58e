"""RBMs, and machines below them, by listing every joint state of both sides, in float64 NumPy.

    P(v, u) = exp(b·v + c·u + u·W v) / Z

An RBM at the top of a machine is `machine.p[-1]`; v is x itself where there is nothing below it.
"""

import numpy as np

from tests.oracle.gradients import weighted_q_gradient
from tests.oracle.states import bits, chained, exact_log_q, table


class ExactRBM:
    """Everything about an RBM that is small enough to list."""

    def __init__(self, rbm):
        self.W, self.b, self.c = (np.asarray(leaf, np.float64) for leaf in (rbm.W, rbm.b, rbm.c))
        self.v, self.u = bits(len(self.b)), bits(len(self.c))
        energies = (self.v @ self.b)[:, None] + self.u @ self.c + self.v @ self.W.T @ self.u.T
        self.log_z = np.logaddexp.reduce(energies, axis=None)
        self.joint = np.exp(energies - self.log_z)
        self.log_prob = np.logaddexp.reduce(energies, axis=1) - self.log_z

    def draw(self, random, count):
        """Exact samples of v."""
        return self.v[random.choice(len(self.v), count, p=self.joint.sum(1))]

    def statistics(self, weights, v0=0.0, u0=0.0):
        """E[u vᵀ], E[v], E[u] when v has these weights and u is P(u | v): what log p* climbs.

        Units are counted from v0 and hidden units from u0.
        """
        given = self.joint / self.joint.sum(1, keepdims=True)
        both = np.asarray(weights)[:, None] * given
        return {
            "W": np.einsum("vu,ui,vj->ij", both, self.u - u0, self.v - v0),
            "b": weights @ (self.v - v0),
            "c": both.sum(0) @ (self.u - u0),
        }

    def gradient(self, weights):
        """Of Σ_v w_v log P(v): positive phase minus negative phase, flat in W, b, c."""
        data, model = self.statistics(weights), self.statistics(self.joint.sum(1))
        total = np.sum(weights)
        return np.concatenate([(data[n] - total * model[n]).ravel() for n in ("W", "b", "c")])

    def centred_step(self, weights, v0, u0):
        """How W, b, c move, flat, when W, b' and c' move along their gradient.

        They are the parameters of exp(b'·(v − v0) + c'·(u − u0) + (u − u0)·W (v − v0)) / Z, so that
        b = b' − Wᵀ u0 and c = c' − W v0. The weights sum to one.
        """
        data = self.statistics(weights, v0, u0)
        model = self.statistics(self.joint.sum(1), v0, u0)
        W, b, c = (data[n] - model[n] for n in ("W", "b", "c"))
        return np.concatenate([W.ravel(), b - W.T @ u0, c - W @ v0])


def log_joint(machine, x):
    """log p(x, h) with Z for every h of a machine with one latent layer below its RBM, `[B, S]`."""
    top = ExactRBM(machine.p[-1])
    first = table(machine.p[0], np.asarray(x, np.float64), top.v)
    return chained([first, top.log_prob[:, None]], len(x))


def log_likelihood(machine, x):
    """log p(x), of a plain RBM or of a machine with one latent layer below one."""
    if len(machine.p) == 1:
        top = ExactRBM(machine.p[-1])
        places = [int(np.flatnonzero((top.v == row).all(1))[0]) for row in np.asarray(x)]
        return top.log_prob[places]
    return np.logaddexp.reduce(log_joint(machine, x), axis=-1)


def bound(machine, x):
    """Σ_h q(h | x) (log p(x, h) − log q(h | x))."""
    log_q = exact_log_q(machine, x)
    return (np.exp(log_q) * (log_joint(machine, x) - log_q)).sum(-1)


def posterior(machine, x):
    """p(h | x), `[B, S]`."""
    joint = log_joint(machine, x)
    return np.exp(joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True))


def sleep_q_gradient(machine):
    """∂/∂φ of Σ_{x,h} p(x, h) log q(h | x)."""
    x = bits(len(np.asarray(machine.p[0].bias)))
    return weighted_q_gradient(machine, x, np.exp(log_joint(machine, x)))
