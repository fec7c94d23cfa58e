"""Reweighted wake-sleep with samples of q that are moved towards the posterior first."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Estimator, Info, Part, refuse_missing, summarise
from wakesleep.estimators.weighted import sleep_objective, wake_objective
from wakesleep.inference.smc import Ends, Particles, sweep
from wakesleep.models.base import Draw, LatentModel
from wakesleep.models.helmholtz import HelmholtzMachine, Latents
from wakesleep.options import Number, Whole


@dataclass(frozen=True, kw_only=True)
class Refined(Estimator):
    """The updates of `reweighted` at samples that went from q towards p(h | x) in T moves.

    h⁰ ~ q(h | x), and hᵗ is hᵗ⁻¹ after a sweep of Metropolis moves that leave
    π_t ∝ p(x, h)^β q(h | x)^(1−β), β = t / (T + 1), as it is. The weight of h = hᵀ is

        log w = 1 / (T + 1) Σ_t log ω(hᵗ),  t = 0, …, T,

    whose exponential is p(x) on average (annealed importance sampling, Neal 2001). It takes the
    place of ω in wake-p and wake-q. T = 0 is `reweighted`. The moves are those by which a row is
    evaluated whose weights are uneven (`inference/smc.py`). For Helmholtz machines.

    Attributes:
        samples: K, the number of latents per example.
        moves: T, sweeps over all latent layers of each of them.
        wake_p: weight of the wake update of p.
        wake_q: weight of the wake update of q.
        sleep_q: weight of the sleep update of q.
        dreams: dreams per example of the minibatch.
    """

    samples: Annotated[int, Whole(least=1)] = 5
    moves: Annotated[int, Whole()] = 4
    wake_p: Annotated[float | int, Number()] = 1.0
    wake_q: Annotated[float | int, Number()] = 1.0
    sleep_q: Annotated[float | int, Number()] = 1.0
    dreams: Annotated[int, Whole(least=1)] = 1

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """Nothing, for a model whose latents can be moved."""
        del rows, key
        _check_model(model)
        return ()

    def scored(self, depth: int) -> int:
        """K as drawn, after every sweep and once more for the gradient; and the dreams."""
        times = self.moves + 2 if self.moves and depth else 1
        return self.samples * times + (self.dreams if self.sleep_q else 0)

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the weighted log-probabilities, averaged over the rows."""
        machine = _check_model(model)
        refuse_missing(batch.x, "refined")
        wake_key, sleep_key = jax.random.split(key)
        moves = self.moves if machine.q else 0
        moved = lax.stop_gradient(refine(machine, wake_key, batch.x, self.samples, moves))

        def loss(model: HelmholtzMachine) -> tuple[Float[Array, ""], Info]:
            drawn = _scored(model, batch.x, moved.h, moved.log_weights.shape)
            objective = wake_objective(drawn, moved.log_weights, self.wake_p, self.wake_q)
            if self.sleep_q:
                count = batch.rows.shape[0] * self.dreams
                objective += self.sleep_q * sleep_objective(model, sleep_key, count)
            return -objective, summarise(moved.start, moved.log_weights)

        gradients, info = eqx.filter_grad(loss, has_aux=True)(machine)
        return Part(gradients, (), info)


class Moved(NamedTuple):
    """Samples of q after their moves.

    Attributes:
        start: the samples as q drew them.
        h: where they went.
        log_weights: log w of each.
    """

    start: Draw
    h: Latents
    log_weights: Float[Array, "B K"]


def refine(
    model: HelmholtzMachine, key: Key[Array, ""], x: Float[Array, "B D"], samples: int, moves: int
) -> Moved:
    """K samples of q for each example, and T sweeps of moves for each of them."""
    start = model.draw(key, x, samples)
    if not moves:
        return Moved(start, start.h, start.log_weights)
    ends = Ends.of(model, x)

    def step(
        carry: tuple[Particles, Array], inputs: tuple[Array, Key[Array, ""]]
    ) -> tuple[tuple[Particles, Array], None]:
        particles, total = carry
        beta, sweep_key = inputs
        particles = sweep(model, ends, particles, beta, sweep_key)
        return (particles, total + particles.scored.log_weights), None

    # No layer's sample was drawn with this key: those are split from it.
    keys = jax.random.split(jax.random.fold_in(key, moves), moves)
    betas = jnp.arange(1, moves + 1) / (moves + 1)
    first = Particles.of(model, ends, start), start.log_weights
    (last, total), _ = lax.scan(step, first, (betas, keys))
    return Moved(start, last.scored.h, total / (moves + 1))


def _scored(
    model: HelmholtzMachine, x: Float[Array, "B D"], h: Latents, shape: tuple[int, ...]
) -> Draw:
    """Given latents under p and q, so that both can be differentiated."""
    each = x[:, None, :]
    log_p, log_q = model.log_joint_terms(each, h), model.log_q_terms(h, each)
    return Draw(h, *(tuple(jnp.broadcast_to(t, shape) for t in terms) for terms in (log_p, log_q)))


def _check_model(model: LatentModel) -> HelmholtzMachine:
    if not isinstance(model, HelmholtzMachine):
        raise UsageError(
            "estimator 'refined' moves the units of a Helmholtz machine, which this model is not: "
            "take another estimator, such as reweighted"
        )
    return model
