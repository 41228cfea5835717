"""TERM and Ctrl-C: letters in flight are finished and recorded, the rest is released at once."""

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common.shutdown import graceful_shutdown, stop, stopping
from delivery.engine.send_pass import send_due
from tests.delivery.ledger import Clock, queued, states
from tests.delivery.sites import begun, queue, states_of
from tests.load.installation import Installation, sqlite_installation
from tests.servers.smtp_server import SmtpServer

LETTERS = 40


@pytest.fixture(autouse=True)
def _usual_handlers() -> Iterator[None]:
    """Restore a terminal's handlers, which background jobs lack: they ignore Ctrl-C."""
    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.django_db
def test_after_being_told_to_stop_nothing_is_claimed(smtp: SmtpServer) -> None:
    queued(3)
    stop(sig="SIGTERM")
    assert send_due(clock=Clock()).sent == 0
    assert states() == {"queued": 3}


def test_a_signal_takes_effect_when_the_block_is_over() -> None:
    done = []

    def interrupted() -> None:
        with graceful_shutdown():
            signal.raise_signal(signal.SIGINT)
            assert stopping.is_set()
            done.append("finished")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["finished"]
    assert not stopping.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_takes_effect_at_once() -> None:
    done = []

    def interrupted_twice() -> None:
        with graceful_shutdown():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("never")

    with pytest.raises(KeyboardInterrupt):
        interrupted_twice()
    assert done == []


def test_who_handles_signals_already_keeps_them() -> None:
    """A Celery worker has handlers: its warm shutdown must be kept."""
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("TERM"))
    try:
        with graceful_shutdown():
            signal.raise_signal(signal.SIGTERM)
        assert heard == ["TERM"]
        assert not stopping.is_set()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_command_that_was_started_to_ignore_ctrl_c_goes_on_doing_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with graceful_shutdown():
        signal.raise_signal(signal.SIGINT)
        assert not stopping.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_beside_the_main_thread_signals_are_left_alone() -> None:
    seen = []

    def look() -> None:
        with graceful_shutdown():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(10)
    assert seen == [signal.default_int_handler]


@pytest.fixture
def site(tmp_path: Path, smtp: SmtpServer) -> Iterator[Installation]:
    smtp.state.delay = 0.3
    with sqlite_installation(tmp_path, EMAIL_URL=smtp.url) as made:
        queue(made, LETTERS, concurrency=2)
        yield made


def ends(
    site: Installation, process: "subprocess.Popen[bytes]", number: signal.Signals, smtp: SmtpServer
) -> int:
    """Signal it after some letters, with two in flight; return its exit status."""
    smtp.wait_for(4, timeout=60)
    process.send_signal(number)
    status = process.wait(20)
    site.workers.remove(process)
    return status


def nothing_is_lost(site: Installation, smtp: SmtpServer) -> None:
    sent = len(smtp.messages)
    assert 4 <= sent <= 10
    assert len(set(smtp.recipients)) == sent
    assert states_of(site) == {"sent": sent, "queued": LETTERS - sent}, site.log()
    assert begun(site) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, -signal.SIGTERM, marks=pytest.mark.slow)],
)
def test_a_command_that_is_ended_finishes_what_it_began(
    site: Installation, smtp: SmtpServer, number: signal.Signals, status: int
) -> None:
    process = site.start("manage.py", "send")
    assert ends(site, process, number, smtp) == status
    nothing_is_lost(site, smtp)


@pytest.mark.slow
def test_a_worker_that_is_ended_finishes_what_it_began(site: Installation, smtp: SmtpServer) -> None:
    worker = site.start_worker("send,reap")
    assert ends(site, worker, signal.SIGTERM, smtp) == 0
    nothing_is_lost(site, smtp)
