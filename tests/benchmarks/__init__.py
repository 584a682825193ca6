"""Benchmarks, no tests: what we take, and what stands beside it in the same run.

``python -m tests.benchmarks`` runs all sections, ``python -m tests.benchmarks gpu`` those of an accelerator.
"""
