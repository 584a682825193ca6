"""The engine of tests of tables, here too."""

from tests.tables.conftest import backend

__all__ = ["backend"]
