"""The contract of private functions on the rows of counts and fits of comparisons."""

from __future__ import annotations

from tests.privacy_audit.contract import *  # noqa: F403
