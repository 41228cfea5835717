"""Permanent redirects are believed after several readings; temporary ones never."""

import pytest

from feeds.rules.alerts import BELIEVED_AFTER, count_move, is_believed, permanent_target

OLD, NEW, OTHER = "https://old.example/feed", "https://new.example/feed", "https://other.example/feed"


@pytest.mark.parametrize(
    ("redirects", "target"),
    [
        ([], ""),
        ([(301, NEW)], NEW),
        ([(308, NEW)], NEW),
        ([(302, NEW)], ""),
        ([(307, NEW)], ""),
        ([(303, NEW)], ""),
        ([(301, NEW), (308, OTHER)], OTHER),
        ([(301, NEW), (302, OTHER)], NEW),
        ([(302, NEW), (301, OTHER)], ""),
        ([(301, "http://old.example/feed")], ""),
        ([(301, NEW), (301, OLD)], ""),
    ],
)
def test_only_permanent_redirects_from_the_beginning_count(
    redirects: list[tuple[int, str]], target: str
) -> None:
    assert permanent_target(OLD, redirects) == target


def test_a_redirect_that_holds_is_believed_and_one_that_changes_begins_anew() -> None:
    before, polls = "", 0
    for _ in range(BELIEVED_AFTER - 1):
        before, polls = count_move(NEW, before=before, polls=polls)
    assert not is_believed(polls)
    assert count_move(OTHER, before=before, polls=polls) == (OTHER, 1)
    assert count_move("", before=before, polls=polls) == ("", 0)
    assert is_believed(count_move(NEW, before=before, polls=polls)[1])
