"""Hardware of studies: the cache of compiled programs, devices, and processes that share the work."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

from privrank_jax.cli.console import Refusal

MOST = 2**30  # bytes of compiled programs; the oldest are deleted first


def keep_programs() -> None:
    """Keep compiled programs in the user's cache folder, for commands that read no private data."""
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


def check_group(coordinator: str | None, processes: int | None, process_id: int | None) -> None:
    """Refuse options that do not describe a group of processes, before anything is loaded."""
    right = processes is None and process_id is None
    if coordinator not in (None, "auto"):
        address = re.fullmatch(r".+:\d+", coordinator or "")
        right = bool(address) and -1 < (-1 if process_id is None else process_id) < (processes or 0)
    if not right:
        raise Refusal(
            "a group of processes is told by --coordinator auto, or by --coordinator HOST:PORT with --processes N and "
            "--process-id, which counts from 0 to N - 1."
        )


def join(coordinator: str | None, processes: int | None, process_id: int | None) -> bool:
    """Join the processes that share the work, if any; return whether this one prints and writes."""
    import jax

    if coordinator is None:
        return True
    sys.stdout.flush()  # what libraries write to stdout is kept out of what this command prints
    ours = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(ours, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    address = None if coordinator == "auto" else coordinator
    try:
        jax.distributed.initialize(address, processes, process_id)
    except (ValueError, RuntimeError) as error:
        raise Refusal(f"--coordinator {coordinator} joins no group: {error}.") from error
    return jax.process_index() == 0
