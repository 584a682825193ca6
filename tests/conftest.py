"""Session-wide JAX configuration (float64, one compilation cache), real data when present, and the command."""

from __future__ import annotations

import atexit
import gc
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from tests.declared import declared

KEPT = Path(tempfile.gettempdir())
# LAPACK's threads and XLA's wait for each other on few cores; NumPy's library is loaded already, and SciPy's reads the
# variable when it is. Several workers share a GPU, so none takes all of its memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]), "blas")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# pytest-xdist tells its workers the width of its own terminal, by which commands would print tables.
os.environ.pop("COLUMNS", None)
# A busy machine is no fault: no example, and no draw of one, has a time.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
# What hypothesis keeps between runs does not belong into the folder of the sources.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(KEPT / "privrank-jax-hypothesis"))
# Where Python is told to keep no bytecode, each of the dozens of processes that tests start would compile JAX again,
# for seconds: they keep it elsewhere.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(KEPT / "privrank-jax-test-bytecode"))
# Most of the suite's time is compiling what runs once on small shapes. Plain loops without LLVM's optimizations take a
# third of it, and three quarters of that where a program is not split among threads, which the other workers keep busy;
# PRIVRANK_TEST_OPTIMISED=1 tests the optimized code. Unknown flags end the process, so releases of JAX in which these
# were not tried get none. JAX 0.11 and 0.12 do not know the second, and with the first alone a tanh differs in its last
# bit between two programs, so that the exact sums of reports seem wrong.
PLAIN_CODE = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    " --xla_cpu_parallel_codegen_split_count=1"
)
if jax.__version_info__ < (0, 11) and not os.environ.get("PRIVRANK_TEST_OPTIMISED"):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {PLAIN_CODE}".strip()
jax.config.update("jax_enable_x64", True)
cache = os.environ.get("PRIVRANK_TEST_CACHE", str(KEPT / "privrank-jax-test-cache"))
jax.config.update("jax_compilation_cache_dir", cache)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_traceback_in_locations_limit", 0)  # a few percent of the time
# What is traced stays: searches for garbage in it take a twelfth of the suite's time.
gc.set_threshold(100_000, 50, 100)


def pytest_configure(config: pytest.Config) -> None:
    """Let a worker end as soon as it has reported: JAX would free thousands of programs one by one, for seconds."""
    if hasattr(config, "workerinput"):
        atexit.register(os._exit, 0)  # after what is registered from here on


# Of few tests, each of which takes as long as a file: begun first, so that no worker is left with them in the end.
LONGEST = tuple(f"tests/test_{name}.py" for name in ("types", "notebooks", "site", "packages"))
# These drop all compiled programs, which takes seconds where there are thousands, and the next tests trace theirs anew.
FORGETFUL = ("tests/test_backend.py", "tests/mallows/test_sampling.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what takes longest in front, and then what drops programs while there are few."""
    items.sort(key=lambda item: item.nodeid.startswith(FORGETFUL), reverse=True)
    items.sort(key=lambda item: item.nodeid.startswith(LONGEST), reverse=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files stay whole for the fixtures that their tests share.

    Every second worker takes files from the end: those of a package share programs, which each worker traces anew.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            if self.nodes.index(node) % 2:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


@pytest.fixture(scope="module", autouse=True)
def room_for_programs() -> Iterator[None]:
    """Drop all compiled programs, of which JAX keeps each with some fifteen memory maps, where these run out.

    Linux lets a process have 65,530; where XLA's compiler gets no more, it ends the process ("LLVM compilation error:
    Cannot allocate memory"). Upstream: https://github.com/jax-ml/jax/issues/11923 and 10828.
    """
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > 40_000:
        jax.clear_caches()
        gc.collect()  # programs of functions in circles


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the real data (``PRIVRANK_DATA``); the test skips, visibly, without it."""
    folder = os.environ.get("PRIVRANK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data: set PRIVRANK_DATA to the folder that holds them")
    return Path(folder)


@pytest.fixture
def key() -> jax.Array:
    """A fixed key; statistical tests state their false-alarm rate at it."""
    return jax.random.key(20261120)


@pytest.fixture
def privrank():
    """Run the command in this process: exit code, stdout, stderr, and ``json()`` of stdout.

    Options may stand in one text: ``privrank("rank", path, "--epsilon 1 --json")``. A release from a file declares the
    items that it names, unless an option, or ``items=None``, says otherwise.
    """
    from tests.invoked import invoke

    def run(*arguments, items="seen"):
        words = []
        for given in map(str, arguments):
            words += given.split() if given.startswith("--") else [given]
        result = invoke(declared(words, items))
        return SimpleNamespace(
            code=result.exit_code,
            out=result.stdout,
            err=result.stderr,
            json=lambda: json.loads(result.stdout, parse_constant=_no_constant),
        )

    return run


def _no_constant(name):
    raise AssertionError(f"{name} is not valid JSON")


@pytest.fixture
def write(tmp_path):
    """Write a CSV file of comparisons from lines, with a header."""

    def to_file(*lines, header="user,winner,loser", name="votes.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return path

    return to_file


@pytest.fixture
def votes(write):
    """Nine users, two comparisons each: a mostly beats b, b mostly beats c."""
    lines = []
    for user in range(9):
        lines.append(f"u{user},{'a,b' if user % 4 else 'b,a'}")
        lines.append(f"u{user},{'b,c' if user % 3 else 'c,b'}")
    return write(*lines)
