"""How good a machine is: log-likelihoods with honest error bars."""

from wakesleep.evaluation.likelihood import log_likelihood
from wakesleep.evaluation.result import LogLikelihood

__all__ = ["LogLikelihood", "log_likelihood"]
