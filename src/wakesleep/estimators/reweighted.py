"""Reweighted Wake-Sleep, the paper's Algorithm 1; classic wake-sleep is its K = 1 case."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key, PyTree

from wakesleep.estimators.base import Batch, Estimator, Info, Part, summarise
from wakesleep.estimators.chains import (
    TopState,
    centre_of,
    data_starts,
    first_state,
    has_chains,
    moved,
    negative_phase,
    own_chains,
    with_centred_top,
)
from wakesleep.estimators.weighted import sleep_objective, wake_objective
from wakesleep.inference.combinations import are_products, combine, combined_objective
from wakesleep.inference.normaliser import undirected_top
from wakesleep.models.base import Draw, LatentModel
from wakesleep.models.helmholtz import HelmholtzMachine
from wakesleep.options import Number, Switch, Whole

CHAINS = 2**31 - 1
"""Folded into a step's key for the chains of an undirected top."""


@dataclass(frozen=True, kw_only=True)
class Reweighted(Estimator):
    """Three maximum-likelihood updates with weighted samples, each with a weight of its own.

    - wake-p (eq. 3): Σ_k ω̃_k ∂/∂θ log p(x, h_k)
    - wake-q (eq. 4): Σ_k ω̃_k ∂/∂φ log q(h_k | x)
    - sleep-q (eq. 5): ∂/∂φ log q(h | x) on dreams (x, h) ~ p

    The weights ω̃ and the samples are constants of the gradient. A weight of zero switches an
    update off and its work with it; all three of q's may be off (the paper's control).

    Under an undirected top Z cancels in ω̃. Its gradient, wake-p's negative phase, is taken from
    chains in the RBM, and so are the tops of dreams. The RBM's gradient is the centred one
    (`estimators/chains.py`). With one sample, no wake-q and no chains that
    last this is contrastive wake-sleep (the paper's section 2.3), and of a plain RBM contrastive
    divergence.

    With `combine` the wake updates take all K^L combinations of the K samples of each of the L
    latent layers, each weighted, and not the K that were drawn together: less noise and bias from
    the same samples, for the work of K x K matrices (`inference/combinations.py`). That is where
    there are several latent layers, all of independent units; other models have nothing to combine,
    or would pay too much for it. Without it the updates are the paper's.

    Attributes:
        samples: K, the number of latents drawn per example; 1 for classic wake-sleep.
        wake_p: weight of the wake update of p.
        wake_q: weight of the wake update of q; 0 for classic wake-sleep.
        sleep_q: weight of the sleep update of q.
        dreams: dreams per example of the minibatch.
        chains: chains of an undirected top that go on from step to step; 0 for one from every
            example, which starts from its own h_L.
        sweeps: Gibbs sweeps of the chains at a step, the k of CD-k.
        combine: whether all combinations of the layers' samples count, where they are cheap.
    """

    samples: Annotated[int, Whole(least=1)] = 5
    wake_p: Annotated[float | int, Number()] = 1.0
    wake_q: Annotated[float | int, Number()] = 1.0
    sleep_q: Annotated[float | int, Number()] = 1.0
    dreams: Annotated[int, Whole(least=1)] = 1
    chains: Annotated[int, Whole()] = 100
    sweeps: Annotated[int, Whole(least=1)] = 1
    combine: Annotated[bool, Switch()] = True

    normalises: ClassVar[bool] = True

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """The chains and the centre of an undirected top; nothing for other models."""
        del rows
        return first_state(model, self.chains, key)

    def scored(self, depth: int) -> int:
        """K, and the dreams."""
        del depth
        return self.samples + (self.dreams if self.sleep_q else 0)

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the weighted log-probabilities, averaged over the rows."""
        wake_key, sleep_key = jax.random.split(key)

        def surrogate(model: LatentModel) -> tuple[Float[Array, ""], tuple[PyTree, Info]]:
            drawn = model.draw(wake_key, batch.x, self.samples)
            objective, info = self._wake(model, drawn)
            chains, notes = self._undirected(model, state, drawn, batch, key)
            if has_chains(chains):
                objective -= self.wake_p * negative_phase(model, chains)
            if self.sleep_q:
                count = batch.rows.shape[0] * self.dreams
                # A mean: more dreams sharpen this gradient and do not outweigh wake-q's.
                objective += self.sleep_q * sleep_objective(model, sleep_key, count, chains)
            return -objective, (notes, info)

        gradients, (notes, info) = eqx.filter_grad(surrogate, has_aux=True)(model)
        if undirected_top(model) is not None:
            gradients = with_centred_top(gradients, state.centre)
        return Part(gradients, notes, info)

    def remember(
        self,
        model: LatentModel,
        state: PyTree,
        notes: PyTree,
        rows: Int[Array, " B"],
        key: Key[Array, ""],
    ) -> PyTree:
        """The chains that last after this step's sweeps, and the centre after its rows."""
        del rows, key
        if undirected_top(model) is None:
            return state
        return TopState(notes.chains, moved(state.centre, notes.centre))

    def _wake(self, model: LatentModel, drawn: Draw) -> tuple[Float[Array, ""], Info]:
        """What the wake updates climb, and what a person plots of the samples."""
        if self.combine and are_products(model):
            assert isinstance(model, HelmholtzMachine)
            each = combine(model, drawn)
            objective, log_likelihood = combined_objective(each, self.wake_p, self.wake_q)
            # The pairs have what drawing worked out too, which XLA then leaves out.
            info = summarise(each.as_drawn(drawn.h))
            return objective, dataclasses.replace(info, log_likelihood=log_likelihood.mean())
        objective = wake_objective(drawn, drawn.log_weights, self.wake_p, self.wake_q)
        return objective, summarise(drawn)

    def _undirected(
        self, model: LatentModel, state: PyTree, drawn: Draw, batch: Batch, key: Key[Array, ""]
    ) -> tuple[PyTree, PyTree]:
        """An undirected top's chains after their sweeps, and notes of them and of the data's means.

        Both are `()` for a model that is normalised.
        """
        rbm = undirected_top(model)
        if rbm is None:
            return (), ()
        key_start, key_chain = jax.random.split(jax.random.fold_in(key, CHAINS))
        starts = data_starts(key_start, drawn, batch.x)
        before = own_chains(state.chains) if self.chains else starts
        chains = rbm.gibbs(key_chain, before, self.sweeps)
        return chains, TopState(chains if self.chains else (), centre_of(rbm, starts))
