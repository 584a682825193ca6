"""Hardware of studies: the cache of compiled programs, devices, and processes that share the work."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import Options

MOST = 2**30  # bytes of compiled programs; the oldest are deleted first
AUTO = "auto"


def keep_programs() -> None:
    """Keep compiled programs in the user's cache folder, so that the next run does not compile them again.

    JAX's own settings take precedence (``JAX_COMPILATION_CACHE_DIR``, ``JAX_ENABLE_COMPILATION_CACHE=0``).
    For commands that read no private data: a program may hold what it was compiled for.
    """
    import jax

    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    folder = user_cache() / "programs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        prune(folder, MOST)
    except OSError:
        return  # no such folder: every run compiles
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def use_cores() -> None:
    """Make each core of this process a device: together they finish a batch sooner than operations on all cores.

    JAX's own settings take precedence (``JAX_NUM_CPU_DEVICES``, ``--xla_force_host_platform_device_count``).
    """
    import jax

    from privrank_jax._backend import processors

    forced = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if forced or jax.config.values["jax_num_cpu_devices"] >= 0:
        return
    with contextlib.suppress(RuntimeError):  # JAX has already started with the devices it found
        jax.config.update("jax_num_cpu_devices", processors())


def user_cache() -> Path:
    """The folder for files that may be deleted at any time, by the convention of the operating system."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "privrank_jax"


def prune(folder: Path, most: int) -> None:
    """Delete the oldest files of a folder until at most ``most`` bytes remain."""
    files = {path: path.stat() for path in folder.iterdir() if path.is_file()}
    for path, found in sorted(files.items(), key=lambda one: one[1].st_mtime, reverse=True):
        most -= found.st_size
        if most < 0:
            path.unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Processes(Options):
    """The processes that share the work."""

    # fmt: off
    coordinator: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Share the work with the other processes that run this command: where the first of them listens; "
            f"{AUTO}: ask Slurm, Open MPI or Kubernetes."),
    ] = None
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="How many processes share the work.")
    ] = None
    process_id: Annotated[
        int | None, typer.Option(metavar="N", help="Which of them this is; 0 listens, prints and writes.")
    ] = None
    # fmt: on

    def check_processes(self) -> None:
        """Refuse options that do not describe a group of processes, before anything is loaded."""
        given = [self.processes is not None, self.process_id is not None]
        address = self.coordinator not in (None, AUTO)
        host, _, port = (self.coordinator or "").rpartition(":")
        if address and not (host and port.isdigit()):
            raise Refusal(f"--coordinator {self.coordinator!r} is neither HOST:PORT nor {AUTO}.")
        if given != [address, address]:
            raise Refusal(
                "--processes and --process-id go with --coordinator HOST:PORT, which needs both."
            )
        if address and not 0 <= (self.process_id or 0) < (self.processes or 0):
            raise Refusal(
                f"--process-id {self.process_id} of {self.processes} processes: they count from 0."
            )


def join(group: Processes) -> bool:
    """Join the processes that share the work, if any; return whether this one prints and writes."""
    import jax

    if group.coordinator is None:
        return True
    # What libraries write to stdout (collectives do) is kept out of what this command prints.
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    if group.coordinator != AUTO:
        jax.distributed.initialize(group.coordinator, group.processes, group.process_id)
        return jax.process_index() == 0
    try:
        jax.distributed.initialize()
    except (ValueError, RuntimeError) as error:
        raise Refusal(
            f"--coordinator {AUTO} found no cluster that JAX knows ({error}); give --coordinator HOST:PORT, "
            "--processes and --process-id."
        ) from error
    return jax.process_index() == 0
