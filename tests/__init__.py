"""The tests. LAPACK keeps to one thread, since its own threads and XLA's wait for each other on few cores."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
