"""Checkpoints of unfinished studies: atomically written files from which the next run resumes."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax.extend.core import Jaxpr, Literal

from privrank_jax._whole_file import leftovers, whole_file
from privrank_jax.simulate.devices import from_first, is_first
from privrank_jax.simulate.memory import bodies
from privrank_jax.simulate.moments import Moments
from privrank_jax.simulate.program import Program

SECONDS = 2.0  # least time between two writes
SHARE = 0.02  # largest share of the time spent on writing
_DIGEST = 32  # bytes of SHA-256, before the content
_CALLBACKS = ("pure_callback", "io_callback")


class Checkpoints:
    """A folder of unfinished studies.

    Each compiled program of a study has one file, the running moments of its cells, which is replaced atomically as the
    program advances: intact whenever the run is killed, and at most ``SECONDS`` old (older where writing would take
    more than a ``SHARE`` of the time). Its name is a hash of everything that determines the numbers: the lowered
    program with its constants, the cells, the key, the replicates, the sources of this library and the versions of JAX.
    Any other run starts from the beginning, and so does a trial that calls back to Python.

    The folder is created when the first file is written; ``fresh`` starts over, and replaces files.
    """

    def __init__(self, folder: str | os.PathLike[str], *, fresh: bool = False):
        self.folder, self.fresh = Path(folder), fresh
        self._used: list[Path] = []

    def open(self, program: Program, moments: Moments) -> Checkpoint:
        """Open the file of a program and restore its state into ``moments`` in every process."""
        name = identity(program)
        study = re.sub(r"[^\w-]", "-", program.name)[:60]  # what no file system rejects
        path = self.folder / f"{study}-{name[:20]}.state"
        self._used.append(path)
        state = None if self.fresh else _read(path, name, moments.state())
        moments.restore(from_first(moments.state() if state is None else state))
        return Checkpoint(path, name)

    def clear(self) -> None:
        """Remove the files that were used, and the folder if it is then empty."""
        for path in self._used if is_first() else ():
            for written in (path, *leftovers(path)):
                written.unlink(missing_ok=True)
        self._used = []
        if is_first() and self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


class Checkpoint:
    """The file of one program of a study; only the first process writes it."""

    def __init__(self, path: Path, identity: str):
        self._path, self._identity = path, identity
        self._due = time.perf_counter() + SECONDS

    def save(self, moments: Moments, *, now: bool = False) -> None:
        """Write the moments if the last write was long enough ago."""
        started = time.perf_counter()
        if not is_first() or not (now or started >= self._due):
            return
        file = io.BytesIO()
        arrays: dict[str, Any] = {"identity": np.array(self._identity), **moments.state()}
        np.savez(file, **arrays)
        content = file.getvalue()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self._path) as temporary:
            temporary.write_bytes(hashlib.sha256(content).digest() + content)
        ended = time.perf_counter()
        self._due = ended + max(SECONDS, (ended - started) / SHARE)


def identity(program: Program) -> str:
    """Hash everything that determines the results of a program, reproducibly; unique where the program calls Python."""
    found = hashlib.sha256()
    words = [program.name, program.replicates, program.static, list(program.columns)]
    words += [program.metrics, _sources(), jax.__version__, jaxlib.__version__]
    found.update(f"{(*words, program.devices.kind)!r}\0".encode())
    found.update(program.lowered().as_text().encode())
    equations = list(_equations(program.closed.jaxpr))
    atoms = (atom for equation in equations for atom in equation.invars)
    # The text may leave out literals.
    literals = (atom.val for atom in atoms if isinstance(atom, Literal))
    closed = [value for value in program.closed.consts if hasattr(value, "dtype")]
    closed += (value for value in literals if isinstance(value, jax.Array | np.ndarray))
    for value in (program.key, *program.columns.values(), *closed):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            value = jax.random.key_data(value)
        array = np.asarray(value)
        found.update(f"\0{array.dtype}{array.shape}\0".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    if any(equation.primitive.name in _CALLBACKS for equation in equations):
        found.update(secrets.token_bytes())
    return found.hexdigest()


def _equations(jaxpr: Jaxpr) -> Iterator[Any]:
    """All equations of a traced program, those of the programs within included."""
    for equation in jaxpr.eqns:
        yield equation
        for body in bodies(equation.params):
            yield from _equations(body)


@functools.cache
def _sources() -> str:
    """A hash of the sources of this library."""
    folder = Path(__file__).parents[1]
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        found.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _read(
    path: Path, identity: str, like: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray] | None:
    """The state in a file; None if it is absent, damaged or belongs to something else."""
    if not is_first() or not path.exists():
        return None
    content = path.read_bytes()
    digest, content = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        state = {name: file[name] for name in like}
        same = str(file["identity"]) == identity
    fits = all(state[n].shape == v.shape and state[n].dtype == v.dtype for n, v in like.items())
    return state if same and fits else None
