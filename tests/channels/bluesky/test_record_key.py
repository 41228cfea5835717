"""Keys of Bluesky records: a repetition has the same."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from channels.bluesky.bridge import record_key, tid
from tests.contracts.channel import NOW
from tests.servers.services.bluesky import TID


def test_a_key_is_written_as_the_protocol_says() -> None:
    assert tid(1767225600000000, 5) == "3mbd3542k2227"


def test_a_repetition_has_the_same_key_and_another_post_another() -> None:
    assert record_key(NOW, "issue-1") == record_key(NOW, "issue-1")
    assert len({record_key(NOW, f"issue-{number}") for number in range(1000)}) == 1000


def test_later_posts_have_later_keys() -> None:
    moments = [NOW + timedelta(seconds=2 * number) for number in range(100)]
    keys = [record_key(at, f"issue-{number}") for number, at in enumerate(moments)]
    assert keys == sorted(keys)


@given(st.datetimes(timezones=st.just(UTC)), st.text(max_size=50).filter(str.isprintable))
def test_any_time_has_a_key(at: datetime, key: str) -> None:
    assert TID.fullmatch(record_key(at, key))
