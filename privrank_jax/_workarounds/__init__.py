"""What XLA, LAPACK, their threads and memory maps, and the random generator have to be helped with.

One module for each, whose head says what goes wrong, the upstream issue (or how to reproduce it, where none is known)
and when the help may go. Nothing here changes a result.
"""
