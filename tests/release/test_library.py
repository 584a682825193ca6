"""OpenDP is taken from one place, which refuses versions that are known to be unsound."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pathlib
import sys

import pytest

import privrank_jax
from privrank_jax import release
from privrank_jax.release.library import exact_samplers_available, load_opendp, unsound_opendp
from tests.promises import promise, user

RELEASES = {
    "totals": lambda: release.exact_noisy_counts([1.0], promise(1.0), sensitivity=2),
    "gaussian totals": lambda: release.exact_noisy_counts(
        [1.0], promise(1.0, delta=1e-6), sensitivity=2, noise="gaussian"
    ),
    "top-k": lambda: release.exact_top_k(
        [1.0, 2.0], promise(1.0), 1, sensitivity=1, total_sensitivity=2
    ),
    "responses": lambda: release.exact_randomized_response([True], 1.0),
    "borda": lambda: release.exact_borda([[0, 1]], user(1.0), noise="laplace"),
    "kwiksort": lambda: release.exact_kwiksort([[0, 1]], user(1.0)),
    "noise-all": lambda: release.exact_noise_all([[0, 1]], user(1.0), noise="laplace"),
}


def installed(monkeypatch, version):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)


@pytest.mark.parametrize("draw", RELEASES)
def test_no_release_is_drawn_with_an_unsound_version(monkeypatch, draw):
    RELEASES[draw]()
    installed(monkeypatch, "0.14.1")
    with pytest.raises(ImportError, match=r"OpenDP 0\.14\.1 is installed.*opendp>=0\.15"):
        RELEASES[draw]()


@pytest.mark.parametrize(
    "version", ["0.9.0", "0.14.0", "0.14.99", "0.15.0a1", "0.15.0.dev20260101001", "0.16.0rc1", "?"]
)
def test_versions_that_are_refused(monkeypatch, version):
    installed(monkeypatch, version)
    assert version in unsound_opendp()
    assert not exact_samplers_available()
    with pytest.raises(ImportError, match="report some answers unchanged"):
        load_opendp()


@pytest.mark.parametrize(
    "version", ["0.15.0", "0.15", "0.16.1", "1.0.0", "0.15.0.post1", "0.15.0+local"]
)
def test_versions_that_are_sound(monkeypatch, version):
    installed(monkeypatch, version)
    assert unsound_opendp() == ""
    assert exact_samplers_available()
    assert load_opendp().Measurement


def missing(name):
    raise importlib.metadata.PackageNotFoundError(name)


def test_one_whose_version_is_unknown_is_refused(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert "of an unknown version" in unsound_opendp()
    assert not exact_samplers_available()


def test_a_missing_one_is_missing_not_unsound(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", missing)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert unsound_opendp() == ""
    assert not exact_samplers_available()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ImportError, match=r'needs OpenDP: pip install "privrank-jax\[release\]"'):
        load_opendp()


def test_nothing_else_imports_opendp():
    package = pathlib.Path(privrank_jax.__file__).parent
    found = [path.name for path in package.rglob("*.py") if "import opendp" in path.read_text()]
    assert found == ["library.py"]
