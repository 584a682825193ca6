"""The contract of private functions on the rows of shuffled reports."""

from __future__ import annotations

from tests.privacy_audit.contract import *  # noqa: F403

del test_error_falls_with_epsilon  # noqa: F821  # which pairs are drawn is random at any epsilon
