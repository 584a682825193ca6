"""What people come for, as functions: data and a promise in, a ranking, a plan or a file out."""
