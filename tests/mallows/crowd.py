"""The two rankings of the counterexample to naive use of synthetic rankings."""

from __future__ import annotations

import numpy as np

# Spec section 6: item 0 is ahead of item 1 with margin 0.02, but behind it in naive synthetic rankings.
CROWD = np.array([[1, 2, 0, 3, 4], [4, 0, 1, 2, 3]])
