"""iffy:hint-announce: never is never sent, piggyback only beside something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.posts import WHY_LEFT_OUT, announced
from feeds.parsing.entry import Entry

HINTS = st.lists(st.sampled_from(["", "never", "piggyback"]), max_size=8)


def posts(hints: list[str]) -> list[Entry]:
    return [Entry(guid=str(number), announce=hint) for number, hint in enumerate(hints)]


@pytest.mark.parametrize(
    ("hints", "sent"),
    [
        ([], []),
        ([""], [0]),
        (["never"], []),
        (["piggyback"], []),
        (["piggyback", "piggyback"], []),
        (["piggyback", "never"], []),
        (["piggyback", ""], [0, 1]),
        (["", "never", "piggyback", ""], [0, 2, 3]),
    ],
)
def test_what_is_sent(hints: list[str], sent: list[int]) -> None:
    assert [int(post.guid) for post in announced(posts(hints))] == sent


@given(HINTS)
def test_an_ordinary_post_is_always_sent_and_a_never_one_never(hints: list[str]) -> None:
    sent = announced(posts(hints))
    assert [post for post in sent if post.announce == ""] == [
        one for one in posts(hints) if one.announce == ""
    ]
    assert all(post.announce != "never" for post in sent)


@given(HINTS)
def test_nothing_goes_out_on_piggybacks_alone(hints: list[str]) -> None:
    sent = announced(posts(hints))
    assert not sent or any(post.announce == "" for post in sent)


def test_every_hint_that_can_leave_a_post_out_has_its_sentence() -> None:
    assert set(WHY_LEFT_OUT) == {"never", "piggyback"}
