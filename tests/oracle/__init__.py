"""Exact answers about small machines: every state listed, in float64 NumPy, from the paper alone.

    p(x, h) = p₀(x | h₁) p₁(h₁ | h₂) ⋯ p_L(h_L)        q(h | x) = q₁(h₁ | x) ⋯ q_L(h_L | h_{L−1})

The oracle shares no code with the package: it reads a machine's parameters by name, and their
names say what kind each layer is. `layers` has the formulas of the paper's section 3, `states`
lists what a machine can be in, `gradients` has what its three updates converge to; `undirected` is
for RBMs and what lies below them.
"""

from tests.oracle import undirected
from tests.oracle.gradients import (
    exact_p_gradient,
    exact_sleep_q_gradient,
    exact_wake_q_gradient,
    weighted_p_gradient,
    weighted_q_gradient,
)
from tests.oracle.groups import (
    every_row,
    grouped_log_likelihood,
    mixture_log_likelihood,
    observed_log_likelihood,
    row_log_prob,
)
from tests.oracle.layers import layer_log_prob, layer_logits
from tests.oracle.parameters import flat, sharpen
from tests.oracle.states import (
    all_bits,
    all_latents,
    exact_bound,
    exact_conditionals,
    exact_log_joint,
    exact_log_likelihood,
    exact_log_q,
    exact_posterior,
    exact_posterior_means,
    imputations,
    state_numbers,
)

__all__ = [
    "all_bits",
    "all_latents",
    "every_row",
    "exact_bound",
    "exact_conditionals",
    "exact_log_joint",
    "exact_log_likelihood",
    "exact_log_q",
    "exact_p_gradient",
    "exact_posterior",
    "exact_posterior_means",
    "exact_sleep_q_gradient",
    "exact_wake_q_gradient",
    "flat",
    "grouped_log_likelihood",
    "imputations",
    "layer_log_prob",
    "layer_logits",
    "mixture_log_likelihood",
    "observed_log_likelihood",
    "row_log_prob",
    "sharpen",
    "state_numbers",
    "undirected",
    "weighted_p_gradient",
    "weighted_q_gradient",
]
