"""How good a machine is: log-likelihoods with error bars, and what few samples cost."""

from wakesleep.evaluation.bootstrap import BiasVariance, bias_variance
from wakesleep.evaluation.likelihood import METHODS, log_likelihood
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.evaluation.upper import UpperEstimate, upper_log_likelihood

__all__ = [
    "METHODS",
    "BiasVariance",
    "LogLikelihood",
    "UpperEstimate",
    "bias_variance",
    "log_likelihood",
    "upper_log_likelihood",
]
