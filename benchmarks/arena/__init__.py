"""The DEBD sets as circuits are judged: two-sided likelihoods, marginals and conditionals."""
