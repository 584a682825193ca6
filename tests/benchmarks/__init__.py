"""Benchmarks: each prints one table of times and ratios, peers and this library side by side in one run.

Not part of the test suite. ``python -m tests.benchmarks`` runs all, ``python -m tests.benchmarks fits`` one.
"""
