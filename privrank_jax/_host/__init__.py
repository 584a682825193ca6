"""Functions written in JAX, computed by NumPy on the host: no program is compiled.

A command that answers one question spends most of its time in XLA's compiler. JAX traces a function into a list of
primitive operations within milliseconds; :func:`~privrank_jax._host.evaluate.evaluate` carries these out one by one.
"""
