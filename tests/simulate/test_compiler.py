"""Programs are compiled and handed out with the most work first."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from privrank_jax.simulate.compiler import Compiler, first_done, threads


def done(value=None) -> Future:
    found = Future()
    found.set_result(value)
    return found


def test_of_the_tasks_that_wait_the_one_with_the_most_work_comes_first():
    compiler, started, go, order = Compiler(), threading.Event(), threading.Event(), []

    def first():
        started.set()
        assert go.wait(60)

    results = [compiler.submit(1.0, first)]
    assert started.wait(60)
    for work in (2.0, 5.0, 3.0, 5.0):
        task = (work, len(results))
        results.append(compiler.submit(work, lambda task=task: order.append(task)))
    go.set()
    for result in results:
        result.result(60)
    compiler.close()
    assert order == [(5.0, 2), (5.0, 4), (3.0, 3), (2.0, 1)]


def test_two_threads_work_on_two_tasks_at_once():
    compiler, both = Compiler(2), threading.Barrier(2)
    compiler.all_given()
    results = [compiler.submit(1.0, lambda: both.wait(60)) for _ in range(2)]
    assert {result.result(60) for result in results} == {0, 1}
    compiler.close()


def test_one_of_two_threads_rests_until_all_tasks_are_given():
    compiler, both = Compiler(2), threading.Barrier(2)
    alone = [compiler.submit(1.0, lambda: both.wait(0.5)) for _ in range(2)]
    for found in alone:
        with pytest.raises(threading.BrokenBarrierError):
            found.result(60)
    compiler.close()


def test_there_is_a_thread_for_each_of_up_to_two_cores(monkeypatch):
    for cores, expected in ((1, 1), (2, 2), (16, 2)):
        monkeypatch.setattr(
            "os.sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False
        )
        assert threads() == expected


def test_an_error_is_raised_where_the_result_is_wanted():
    compiler = Compiler()
    wrong, right = compiler.submit(2.0, lambda: 1 // 0), compiler.submit(1.0, lambda: "done")
    assert right.result(60) == "done"
    with pytest.raises(ZeroDivisionError):
        wrong.result(60)
    compiler.close()


@pytest.mark.parametrize("number", [1, 2])
def test_a_closed_compiler_drops_what_waits(number):
    compiler, started, go = Compiler(number), threading.Event(), threading.Event()

    def first():
        started.set()
        return go.wait(60)

    under_way = compiler.submit(1.0, first)
    assert started.wait(60)
    dropped = compiler.submit(1.0, lambda: None)
    compiler.close()
    go.set()
    assert under_way.result(60)
    assert not dropped.done()


def test_the_first_that_is_done_has_the_most_work():
    waiting = Future()
    assert first_done([(1.0, done()), (9.0, waiting), (3.0, done()), (2.0, done())]) == 2
    assert first_done([(1.0, done()), (9.0, waiting), (0.0, None), (0.0, None)]) == 2


def test_it_waits_where_none_is_done():
    late, never = Future(), Future()
    timer = threading.Timer(0.05, late.set_result, [None])
    timer.start()
    assert first_done([(2.0, never), (1.0, late)]) == 1
    timer.join()
