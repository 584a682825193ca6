"""OpenDP, which draws exact noise and exact flips (extra ``release``): whether it is installed and sound.

Every release loads it from here, so that all of them refuse a version that is known to be unsound.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from typing import Any

# In 0.14 ``make_randomized_response_bitvec`` leaves one bit of each call unchanged (OpenDP issue 2707).
_FIRST_SOUND = (0, 15)
EXTRA = 'pip install "privrank-jax[release]"'


def exact_samplers_available() -> bool:
    """Whether OpenDP is installed, in a version that is not known to be unsound."""
    return importlib.util.find_spec("opendp") is not None and not unsound_opendp()


def unsound_opendp() -> str:
    """Why the installed OpenDP must not be used, and what to install; "" if it may be used, or is missing."""
    try:
        version = importlib.metadata.version("opendp")
    except importlib.metadata.PackageNotFoundError:
        if importlib.util.find_spec("opendp") is None:
            return ""
        version = "of an unknown version"
    published = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*(\.post\d+)?(\+.*)?", version)
    if published and tuple(int(part) for part in published.groups()[:2]) >= _FIRST_SOUND:
        return ""
    least = ".".join(map(str, _FIRST_SOUND))
    return (
        f"OpenDP {version} is installed; versions before {least} report some answers unchanged, so nothing is released "
        f'with them, nor with previews: {EXTRA} "opendp>={least}"'
    )


def load_opendp() -> Any:
    """OpenDP, with the features that this package uses.

    Raises:
        ImportError: it is missing, or of a version that is known to be unsound; the message says what to install.
    """
    if reason := unsound_opendp():
        raise ImportError(reason)
    try:
        import opendp.prelude as dp  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(f"exact noise needs OpenDP: {EXTRA}") from error
    dp.enable_features("contrib")  # constructors whose proofs await OpenDP's formal vetting
    return dp
