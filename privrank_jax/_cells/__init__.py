"""What a cell, a name, a column and a table of rankings must be, whoever reads it.

``datasets`` reads row by row, ``tables`` in an engine; both refuse the same things in the same words.
"""
