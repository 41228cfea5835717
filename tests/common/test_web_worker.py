"""The web worker and requests that arrive in pieces."""

import socket
import time
from contextlib import suppress
from threading import Event, Thread
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.errors import ConfigError
from hypothesis import given
from hypothesis import strategies as st

from common.body_limits import MAX_FORM_BYTES
from common.web_worker import BufferingWorker, TimedSocket, is_whole

NAMES = st.sampled_from([b"Content-Length", b"content-length", b"CONTENT-LENGTH"])


@given(
    name=NAMES, space=st.sampled_from([b"", b" ", b"\t "]), body=st.binary(max_size=300), cut=st.integers(0)
)
def test_a_request_is_whole_at_its_last_byte_and_not_before(
    name: bytes, space: bytes, body: bytes, cut: int
) -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\n%s:%s%d\r\nA: b\r\n\r\n%s" % (name, space, len(body), body)
    assert is_whole(request)
    assert not is_whole(request[: cut % len(request)])


def test_a_body_larger_than_a_form_is_not_waited_for() -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
    assert not is_whole(head % MAX_FORM_BYTES)
    assert is_whole(head % (MAX_FORM_BYTES + 1))


def pair(seconds: float) -> tuple[TimedSocket, socket.socket]:
    ours, theirs = socket.socketpair()
    timed = TimedSocket.of(ours)
    timed.seconds = seconds
    timed.setblocking(True)
    return timed, theirs


def test_a_body_that_drips_is_given_up() -> None:
    ours, theirs = pair(0.3)

    def drip() -> None:
        with suppress(OSError):
            while not done.wait(0.01):
                theirs.send(b"x")

    def read() -> None:
        for _ in range(1000):
            ours.recv(1)

    done = Event()
    dripping = Thread(target=drip)
    dripping.start()
    with ours, theirs:
        try:
            with pytest.raises(TimeoutError):
                read()
        finally:
            done.set()
            dripping.join()


def test_a_body_that_is_there_is_read_however_long_the_program_takes_between() -> None:
    ours, theirs = pair(0.1)
    with ours, theirs:
        theirs.send(b"xx")
        assert ours.recv(1)
        time.sleep(0.15)
        assert ours.recv(1)


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    ours, theirs = pair(0.3)
    with ours, theirs, pytest.raises(TimeoutError):
        ours.sendall(b"x" * 10_000_000)


def test_it_speaks_no_tls() -> None:
    config: Any = Config()
    config.set("certfile", "x.pem")
    with pytest.raises(ConfigError, match="a proxy"):
        BufferingWorker.check_config(config, None)
