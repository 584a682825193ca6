"""The wheel and the archive of sources hold what they should, and the wheel works without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.sources import ROOT

pytest.importorskip("hatchling", reason="packages are built by hatchling (extra test)")


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> tuple[Path, Path]:
    """The wheel, built from the unpacked archive of sources, and this archive."""
    folder = tmp_path_factory.mktemp("packages")
    build("sdist", ROOT, folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    build("wheel", folder / archive.name.removesuffix(".tar.gz"), folder)
    (wheel,) = folder.glob("*.whl")
    return wheel, archive


def build(kind: str, source: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


def files(*folders: str) -> set[str]:
    """Files of folders of the repository without what Python and Jupyter leave in them."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    left = {"__pycache__", ".ipynb_checkpoints"}
    return {str(path.relative_to(ROOT)) for path in found if left.isdisjoint(path.parts)}


def test_wheel_holds_the_package_and_nothing_else(packages):
    held = set(zipfile.ZipFile(packages[0]).namelist())
    ours = {name for name in held if ".dist-info/" not in name}
    assert ours == files("privrank_jax")
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in held)


def test_archive_holds_what_tests_and_pages_need(packages):
    with tarfile.open(packages[1]) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    own = {"README.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO"}
    assert held == files("privrank_jax", "tests", "notebooks") | own


@pytest.mark.slow
def test_an_installed_wheel_ranks_in_an_empty_folder(packages, tmp_path):
    """Its requirements are those of this environment; the package is the wheel's."""
    made = tmp_path / "environment"
    venv.create(made, with_pip=False, symlinks=True)
    programs = made / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(made), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--no-compile", str(packages[0])], check=True)
    (libraries,) = made.glob("lib/python*/site-packages")
    requirements = [path for path in sys.path if Path(path).name == "site-packages"]
    (libraries / "requirements.pth").write_text("\n".join(requirements) + "\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command):
        program = [programs / command[0], *command[1:]]
        done = subprocess.run(program, cwd=empty, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run("python", "-c", "import privrank_jax; print(privrank_jax.__file__)")
    assert Path(where.strip()).is_relative_to(libraries)
    assert packages[0].name.split("-")[1] in run("python", "-m", "privrank_jax", "--version")
    assert "Yirga" in run("privrank", "rank", "coffee", "--epsilon", "1")
    assert not list(empty.iterdir())
