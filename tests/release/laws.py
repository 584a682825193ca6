"""Laws against samples."""

from __future__ import annotations

RATE = 1e-9
