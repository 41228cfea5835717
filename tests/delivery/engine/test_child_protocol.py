"""Messages between the engine and its child process arrive whole, however they are split."""

from hypothesis import given
from hypothesis import strategies as st

from delivery.engine.child_protocol import FrameReader, Settled, frame

words = st.tuples(st.text(max_size=10), st.binary(max_size=3000), st.lists(st.integers(), max_size=5))


@given(said=st.lists(words, max_size=5), cuts=st.lists(st.integers(1, 4000), min_size=1, max_size=20))
def test_what_is_said_is_heard_in_order_however_it_is_cut(
    said: list[tuple[str, bytes, list[int]]], cuts: list[int]
) -> None:
    octets, frames, heard = b"".join(frame(one) for one in said), FrameReader(), []
    while octets:
        size = cuts[len(octets) % len(cuts)]
        heard += list(frames.read(octets[:size]))
        octets = octets[size:]
    assert heard == said


def test_half_a_message_is_kept_until_the_rest_comes() -> None:
    frames, octets = FrameReader(), frame(Settled(1, [2]))
    assert not list(frames.read(octets[:-1]))
    assert list(frames.read(octets[-1:])) == [Settled(1, [2])]
