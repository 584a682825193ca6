"""The same table on any number of devices and processes."""

from __future__ import annotations

import socket

import jax
import pytest

from privrank_jax.simulate import run
from privrank_jax.simulate.devices import Devices
from tests.simulate import job, trials
from tests.simulate.job import finish, start


def assert_same(found, expected, solved):
    """Rows equal, to the last bit unless their metric was solved for, then to 1e-12."""
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        if row["metric"] in solved:
            for column in ("mean", "standard_error"):
                assert row[column] == pytest.approx(other[column], rel=0, abs=1e-12)
                row, other = {**row, column: 0}, {**other, column: 0}
        assert row == other


def here(study, **options):
    return run(jax.random.key(job.KEY), study, job.REPLICATES, **options).rows


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow
def test_two_processes_of_four_devices_give_the_table_of_one(tmp_path):
    address = f"127.0.0.1:{free_port()}"
    jobs = [start("processes", address, 2, p, tmp_path, devices=4) for p in range(2)]
    try:
        found = [finish(process) for process in jobs]
    finally:
        for process in jobs:
            process.kill()
    assert found[0] == found[1]
    assert found[0]["devices"] == [8, 8]
    assert found[0]["told"] == ["survey: resumed 111 of 111 replicates"]
    assert found[0]["tables"][0] == found[0]["tables"][1]
    assert_same(found[0]["tables"][0], here(trials.SURVEY), {"root"})
    # Only the first has written, and it told the other what it read.
    assert len(list((tmp_path / "0").iterdir())) == 1
    assert not (tmp_path / "1").exists()


@pytest.mark.slow
def test_devices_do_not_wait_for_each_others_systems():
    job = start("devices", "LAPACK", "1,2", devices=2)
    try:
        tables = finish(job)
    finally:
        job.kill()
    assert_same(tables["2"], tables["1"], {"centrality", "least", "solved"})


def test_devices_may_be_named():
    device = jax.local_devices()[0]
    rows = here(trials.SURVEY)
    assert_same(here(trials.SURVEY, devices=[device]), rows, {"root"})
    with jax.default_device(device):
        assert Devices().count == 1
        assert here(trials.SURVEY) == rows
    for devices in ([], [device] * 2):
        with pytest.raises(ValueError, match="different"):
            here(trials.SURVEY, devices=devices)
