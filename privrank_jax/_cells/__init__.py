"""Shared checks of cells, names, columns and tables of rankings.

``datasets`` reads row by row, ``tables`` in an engine; both refuse the same faults with the same messages.
"""
