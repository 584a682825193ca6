"""The contract of private functions on the rows of totals of points."""

from __future__ import annotations

from tests.privacy_audit.contract import *  # noqa: F403
