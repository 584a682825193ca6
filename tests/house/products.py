"""The house rule on matrix products: in full precision on every device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.sources import Function, Module, modules

HELPER = "privrank_jax._backend.product"

# What multiplies matrices in jax.numpy, jax.lax and their linalg.
PRODUCTS = re.compile(
    "convolve|correlate|dot|dot_general|einsum|inner|matmul|matrix_power|matvec|multi_dot|ragged_dot|tensordot|vdot"
    "|vecdot|vecmat"
)
JAX, HOST = {"jax", "jnp", "lax"}, {"np", "numpy", "scipy"}

# Functions and classes whose products are of NumPy arrays, on the host, in files that use JAX as well.
OF_NUMPY = {
    "aggregation.kemeny_rule": {"_Component"},
    "jobs.plan_worlds": {"_consensus"},
    "experiments.rdp.synthetic": {"count_rankings"},  # indices, a constant of the program
    "pairwise.uncertainty": {"_inverse", "_sum_of_squares"},
    "pairwise.covariates": {"_check_identifiable"},
    "privacy.noise_law": {"_Draws", "mean_square"},
    "privacy_audit.audited_local": {"_two_sets_law"},
    "privacy_audit.contents": {"choices", "covariates"},
    "privacy_audit.empirical": {"_bounds", "audit"},
}


def bare_products() -> list[str]:
    """Products of JAX arrays without a precision, which GPUs and TPUs round; entries of ``OF_NUMPY`` without need."""
    wrong, met = [], set()
    for module in modules().values():
        if not _uses_jax(module):
            continue
        for owner, line, text in _products(module.tree, ""):
            if owner in OF_NUMPY.get(module.name, ()):
                met.add((module.name, owner))
            else:
                wrong.append(f"{module}:{line} {owner}: {text} without a precision, see {HELPER}")
    listed = {(name, owner) for name, owners in OF_NUMPY.items() for owner in owners}
    gone = sorted(listed - met)
    return wrong + [f"OF_NUMPY lists {m}.{owner}, which has no product" for m, owner in gone]


def _uses_jax(module: Module) -> bool:
    for node in module.nodes:
        if isinstance(node, ast.Import) and any(a.name.split(".")[0] == "jax" for a in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jax":
            return True
    return False


def _products(node: ast.AST, owner: str) -> Iterator[tuple[str, int, str]]:
    """``(function of the module, line, product)``; the function is the outermost one, or the method of a class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.BinOp | ast.AugAssign) and isinstance(child.op, ast.MatMult):
            yield owner, child.lineno, "@"
        elif isinstance(child, ast.Attribute) and _multiplies(child, node):
            yield owner, child.lineno, ast.unparse(child)
        inside = isinstance(child, Function | ast.ClassDef) and not owner
        yield from _products(child, child.name if inside else owner)  # type: ignore[attr-defined]


def _multiplies(node: ast.Attribute, parent: ast.AST) -> bool:
    """Whether it multiplies matrices without a precision: a function of JAX, or the method ``dot`` of an array."""
    first = ast.unparse(node).split(".")[0]
    method = node.attr == "dot" and isinstance(parent, ast.Call) and parent.func is node
    found = (first in JAX and bool(PRODUCTS.fullmatch(node.attr))) or (method and first not in HOST)
    return found and not _is_precise(parent)


def _is_precise(node: ast.AST) -> bool:
    """Whether it is a call that names a precision, also ``functools.partial(jnp.matmul, ..., precision=...)``."""
    return isinstance(node, ast.Call) and any(word.arg == "precision" for word in node.keywords)
