"""Hardware of studies: the cache of compiled programs, devices, and processes that share the work."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
from pathlib import Path

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import Options

MOST = 2**30  # bytes of compiled programs; the oldest are deleted first
AUTO = "auto"


def keep_programs() -> None:
    """Keep compiled programs in the user's cache folder, so that the next run does not compile them again.

    JAX's own settings take precedence. For commands that read no private data: a program may hold what it was compiled
    for.
    """
    import jax

    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache) / "privrank_jax" / "programs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        prune(folder, MOST)
    except OSError:
        return  # no such folder: every run compiles
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def use_cores() -> None:
    """Make each core of this process a device, unless JAX is told how many: together they finish a batch sooner."""
    import jax

    from privrank_jax._backend import processors

    forced = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not forced and jax.config.values["jax_num_cpu_devices"] < 0:
        with contextlib.suppress(RuntimeError):  # JAX has already started with the devices it found
            jax.config.update("jax_num_cpu_devices", processors())


def prune(folder: Path, most: int) -> None:
    """Delete the oldest files of a folder until at most ``most`` bytes remain."""
    files = {path: path.stat() for path in folder.iterdir() if path.is_file()}
    for path, found in sorted(files.items(), key=lambda one: one[1].st_mtime, reverse=True):
        most -= found.st_size
        if most < 0:
            path.unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Processes(Options):
    """The processes that share the work.

    Attributes:
        coordinator: share the work with the other processes that run this command: where the first of them listens;
            auto: ask Slurm, Open MPI or Kubernetes.
        processes: how many processes share the work.
        process_id: which of them this is; 0 listens, prints and writes.
    """

    coordinator: str | None = None
    processes: int | None = None
    process_id: int | None = None

    def check_processes(self) -> None:
        """Refuse options that do not describe a group of processes, before anything is loaded."""
        numbers = [one for one in (self.processes, self.process_id) if one is not None]
        right = not numbers
        if self.coordinator not in (None, AUTO):
            address = re.fullmatch(r".+:\d+", self.coordinator or "")
            right = bool(address) and len(numbers) == 2 and 0 <= numbers[1] < numbers[0]
        if not right:
            raise Refusal(
                "a group of processes is told by --coordinator auto, or by --coordinator HOST:PORT with --processes N "
                "and --process-id, which counts from 0 to N - 1."
            )


def join(group: Processes) -> bool:
    """Join the processes that share the work, if any; return whether this one prints and writes."""
    import jax

    if group.coordinator is None:
        return True
    sys.stdout.flush()  # what libraries write to stdout is kept out of what this command prints
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    address = None if group.coordinator == AUTO else group.coordinator
    try:
        jax.distributed.initialize(address, group.processes, group.process_id)
    except (ValueError, RuntimeError) as error:
        raise Refusal(f"--coordinator {group.coordinator} joins no group: {error}.") from error
    return jax.process_index() == 0
