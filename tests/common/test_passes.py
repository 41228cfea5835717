import threading

import pytest

from common.passes import skip_if_running

LIMIT = 5


def test_a_second_tick_returns_at_once_while_a_pass_runs() -> None:
    entered, release, runs = threading.Event(), threading.Event(), []

    @skip_if_running
    def stage() -> None:
        runs.append(1)
        entered.set()
        assert release.wait(LIMIT)

    first = threading.Thread(target=stage)
    first.start()
    assert entered.wait(LIMIT)
    stage()
    release.set()
    first.join(LIMIT)
    assert runs == [1]


def test_stages_do_not_wait_for_each_other() -> None:
    runs = []

    @skip_if_running
    def inner() -> None:
        runs.append("inner")

    @skip_if_running
    def outer() -> None:
        inner()

    outer()
    assert runs == ["inner"]


def test_a_pass_that_fails_leaves_the_way_free() -> None:
    runs = []

    @skip_if_running
    def stage() -> None:
        runs.append(1)
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011 - our own, bare
            stage()
    assert runs == [1, 1]
