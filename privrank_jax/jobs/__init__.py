"""What people come for, as functions: data and a promise in, a ranking, a plan or a file out.

Each command of the command line reads its data, calls one of these, and shows the result.
"""
