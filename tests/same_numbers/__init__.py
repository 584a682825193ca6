"""A recorder for refactorings: numbers of all functions before a change, and which of them are others after it.

``doors`` names what is recorded, ``numbers`` flattens and compares it, ``coins`` freezes entropy, ``made_up`` makes
data.
"""
