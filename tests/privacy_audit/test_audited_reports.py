"""The contract of private functions on the rows of reports of single users."""

from __future__ import annotations

from tests.privacy_audit.contract import *  # noqa: F403
