"""Messages to child processes arrive whole, and a child has no more time and room than it was given."""

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import child_process
from common.child_process import Child, FrameReader, framed

ECHO = "import socket; line = socket.socket(fileno=0)\nwhile octets := line.recv(1000): line.sendall(octets)"
ENDLESS = f"import socket; line = socket.socket(fileno=0)\nwhile True: line.sendall({framed(bytes(9))!r})"


@given(
    said=st.lists(st.binary(max_size=3000), max_size=5),
    cuts=st.lists(st.integers(1, 4000), min_size=1, max_size=20),
)
def test_what_is_said_is_heard_in_order_however_it_is_cut(said: list[bytes], cuts: list[int]) -> None:
    octets, frames, heard = b"".join(map(framed, said)), FrameReader(), []
    while octets:
        size = cuts[len(octets) % len(cuts)]
        heard += frames.read(octets[:size])
        octets = octets[size:]
    assert heard == said


def test_half_a_message_is_kept_until_the_rest_comes() -> None:
    frames, octets = FrameReader(), framed(b"settled")
    assert not frames.read(octets[:-1])
    assert frames.read(octets[-1:]) == [b"settled"]


@pytest.mark.slow
def test_a_child_that_says_no_end_of_it_is_cut_off_and_leaves_no_zombie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child_process, "_BOOT", ENDLESS)
    with closing(Child("")) as child, pytest.raises(OSError, match="too large"):
        list(child.ask(b"", seconds=20, most=10_000_000))
    with closing(Child("")) as child, pytest.raises(TimeoutError):
        list(child.ask(b"", seconds=0.3, most=10**12))
    assert not Path(f"/proc/{child.process.pid}").exists()


def test_a_child_answers_one_job_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_BOOT", ECHO)
    with closing(Child("")) as child:
        for job in (b"a", b"b" * 50_000):
            assert next(child.ask(job, seconds=20, most=100_000)) == job
