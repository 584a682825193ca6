"""What every estimator returns: a value, its privacy guarantee, and diagnostics of the computation."""

from __future__ import annotations

from typing import Any, NoReturn

from privrank_jax._pytrees import pytree
from privrank_jax.privacy.guarantee import Guarantee


@pytree
class Estimate:
    """Result of an estimator, a pytree.

    Attributes:
        value: the estimate, as its function documents it.
        guarantee: the privacy guarantee, ``None`` for non-private estimators.
        diagnostics: facts on the computation. In a private function they depend on the data only through the private
        value itself, unless its docstring says otherwise.
    """

    value: Any
    guarantee: Guarantee | None = None
    diagnostics: Any = None

    def __jax_array__(self) -> NoReturn:
        """Raise ``TypeError`` where JAX needs an array: the guarantee would be lost unseen."""
        raise TypeError("this is an Estimate where an array is needed: pass its `.value`")

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        """Raise ``TypeError`` where NumPy needs an array."""
        del arguments, options
        self.__jax_array__()
