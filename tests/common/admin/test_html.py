"""Parts as HTML.

Moments as people say them.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from common.admin.html import block, inline, short_when
from common.parts import Bar, Button, Chart, Code, Facts, Link, Table, Text, listed

NOW = datetime(2026, 11, 28, 14, 42, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
EVIL = '"><script>x</script>'
WORDS = (EVIL, Link("/", EVIL), Link(EVIL), Button("/", EVIL), Text((EVIL,)), Code(EVIL), Facts((EVIL, EVIL)))
FIGURES = (Table((EVIL,), [(EVIL,)]), Table((EVIL,), [], EVIL), Chart(EVIL, EVIL, [Bar(1, EVIL)] * 5, EVIL))


@pytest.mark.parametrize("part", [*WORDS, *FIGURES])
def test_words_are_escaped(part: Any) -> None:
    for drawn in (block(part), inline(part)):
        assert "<script" not in drawn
        assert "&lt;script&gt;" in drawn


def test_sentences_become_paragraphs_below_each_other_but_not_within_a_line() -> None:
    assert block(("One.", "", "Two.")) == "<p>One.</p><p>Two.</p>"
    assert inline(("One, ", Text("two", "note"))) == 'One, <span class="fl-note">two</span>'


def test_no_blank_parts_a_link_from_its_full_stop() -> None:
    assert block(Text((Link("/a", "A"), "."))) == '<p><a class="fl-link" href="/a">A</a>.</p>'


def test_only_links_to_other_sites_hide_where_they_are() -> None:
    assert 'rel="noopener noreferrer"' in inline(Link("https://blog.example/", "blog"))
    assert "rel=" not in inline(Link("/admin/", "admin"))


def test_a_link_to_nothing_counted_says_zero() -> None:
    assert inline(Link("/posts/", 0)) == '<a class="fl-link" href="/posts/">0</a>'


def test_facts_without_a_value_are_left_out_but_not_zero() -> None:
    drawn = block(Facts(("Tries", 0), ("Error", ""), ("Sent", None), ("Waiting", 1200)))
    assert drawn == '<dl class="fl-facts"><dt>Tries</dt><dd>0</dd><dt>Waiting</dt><dd>1,200</dd></dl>'


def test_a_table_without_rows_says_so_or_is_nothing() -> None:
    assert block(Table(("post",), [])) == '<p class="fl-quiet">Nothing yet.</p>'
    assert block(Table(("post",), [], "")) == ""


def test_a_list_has_commas_between_its_parts() -> None:
    assert [inline(listed(parts)) for parts in ((), ("a",), ("a", "b", "c"))] == ["", "a", "a, b, c"]


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOW, "14:42"),
        (NOW - 14 * HOUR, "0:42"),
        (NOW + HOUR, "Today 15:42"),
        (NOW - DAY, "Yesterday 14:42"),
        (NOW + DAY, "Tomorrow 14:42"),
        (NOW - 5 * DAY, "Mon 23 Nov"),
        (NOW + 2 * DAY, "Mon 30 Nov, 14:42"),
        (NOW - 365 * DAY, "Fri 28 Nov 2025"),
        (NOW + 40 * DAY, "Thu 7 Jan 2027, 14:42"),
    ],
)
def test_a_moment_is_as_short_as_it_can_be(moment: datetime, words: str) -> None:
    assert short_when(moment, now=NOW, zone=UTC) == words


def test_the_day_is_that_of_the_zone() -> None:
    assert short_when(NOW - 15 * HOUR, now=NOW, zone=ZoneInfo("Europe/Paris")) == "0:42"
    assert short_when(NOW - 15 * HOUR, now=NOW, zone=UTC) == "Yesterday 23:42"
