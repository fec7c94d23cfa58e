"""Runs: training that lives in a folder, is checkpointed there and goes on after anything.

Nothing is imported here: the command line reads `runs.config` to answer `--help` without JAX.
"""
