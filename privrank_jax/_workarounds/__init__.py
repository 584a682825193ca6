"""Workarounds for XLA, LAPACK and JAX's generator.

One module for each, whose head says what goes wrong, the upstream issue (or how to reproduce it, where none is known)
and when the workaround may be removed. None of them changes a result.
"""
