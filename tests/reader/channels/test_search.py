"""Search by recent posts and by index equals a list of words, on both databases."""

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reader.channels import find
from reader.channels.find import search_posts
from reader.entries.search_index import ensure_index, entries_with
from reader.models import Channel, Entry, Reader, TimelineEntry
from reader.rules.jf2 import searched_text
from reader.rules.search import BORDER, parse_query, words_of
from reader.timelines.pages import Timeline
from tests.examples import examples
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
WORDS = ["storm", "stormy", "Hafen", "été", "ete", "天気", "12e5", "a", "b", "x_y", "٣", "don't"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
QUERIES = st.lists(
    st.tuples(st.sampled_from(["", "-"]), st.sampled_from(["{}", '"{}"', '"{}']), TEXTS).map(
        lambda each: each[0] + each[1].replace("{}", each[2]).replace("{", each[2])
    ),
    max_size=3,
).map(" ".join)


@pytest.fixture(params=[0, 1_000], ids=["by the index", "by the newest"])
def looked_through(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "POSTS_LOOKED_THROUGH", request.param)


def a_post(name: str, text: str = "", author: str = "Ada") -> Entry:
    jf2 = {"name": name, "author": {"name": author}, "content": {"text": text}}
    return an_entry(jf2=jf2, text=searched_text(jf2))


def found(reader: Reader, query: str) -> list[str]:
    page = search_posts(Timeline(reader), query, limit=50)
    return [place.entry.jf2["name"] for place in page.places if place.entry.jf2]


def matches(fields: list[str], query: str) -> bool:
    """Return whether the fields match, by a simple implementation with lists."""
    words = [word for field in fields for word in (*words_of(field), BORDER)]

    def has(phrase: tuple[str, ...], *, is_open: bool) -> bool:
        spots = (words[at : at + len(phrase)] for at in range(len(words)))
        return any(
            tuple(spot[:-1]) == phrase[:-1]
            and (spot[-1].startswith(phrase[-1]) if is_open else spot[-1] == phrase[-1])
            for spot in spots
            if len(spot) == len(phrase)
        )

    asked = parse_query(query)
    wanted = (has(term.words, is_open=term.is_open) for term in asked.wanted)
    unwanted = (has(term.words, is_open=term.is_open) for term in asked.unwanted)
    return bool(asked.wanted or asked.unwanted) and all(wanted) and not any(unwanted)


@pytest.mark.usefixtures("looked_through")
def test_words_phrases_and_exclusions(ada: Reader, home: Channel) -> None:
    posts = [
        a_post("Low tide", "The storm was over, and the harbour calm."),
        a_post("Storms", "Over the harbour, a calm sky.", author="Bo Tide"),
        a_post("Über Café", "天気がいい。"),
    ]
    for number, post in enumerate(posts):
        put(home, post, at=minutes(number))
    assert found(ada, "storm") == ["Storms", "Low tide"]
    assert found(ada, "storm tide") == ["Storms", "Low tide"]
    assert found(ada, '"harbour calm"') == ["Low tide"]
    assert found(ada, 'storm -"low tide"') == ["Storms"]
    assert found(ada, "-storm") == ["Über Café"]
    assert found(ada, '"tide ada"') == []
    assert found(ada, "uber cafe") == ["Über Café"]
    assert found(ada, "天気") == ["Über Café"]
    assert found(ada, "snow") == found(ada, '"') == []


@pytest.mark.usefixtures("looked_through")
def test_only_ones_own_seen_posts_are_found(ada: Reader, bob: Reader, home: Channel) -> None:
    hidden, other = a_post("A storm"), a_post("A storm, too")
    put(home, hidden)
    TimelineEntry.objects.update(hidden=TimelineEntry.Hidden.MUTED)
    put(bob.channels.get(uid="home"), other)
    assert found(ada, "storm") == []
    assert found(bob, "storm") == ["A storm, too"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150)
)
@given(posts=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), query=QUERIES, by_index=st.booleans())
def test_both_databases_find_what_the_rule_says(
    ada: Reader,
    home: Channel,
    monkeypatch: pytest.MonkeyPatch,
    posts: list[tuple[str, str]],
    query: str,
    by_index: bool,
) -> None:
    monkeypatch.setattr(find, "POSTS_LOOKED_THROUGH", 0 if by_index else 1_000)
    with transaction.atomic():
        Entry.objects.all().delete()
        for number, (title, text) in enumerate(posts):
            put(home, a_post(title, text), at=minutes(number))
        rows = TimelineEntry.objects.order_by("-at").select_related("entry")
        page = search_posts(Timeline(ada), query, limit=50)
        assert [place.pk for place in page.places] == [
            row.pk
            for row, (title, text) in zip(rows, reversed(posts), strict=True)
            if matches([title, "Ada", text], query)
        ]


@given(text=st.text(max_size=60))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150)
)
def test_no_query_is_an_error(ada: Reader, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(find, "POSTS_LOOKED_THROUGH", 0)
    search_posts(Timeline(ada), text, limit=5)


def test_the_index_follows_changes_and_deletions() -> None:
    entry = a_post("Storm")
    storm, calm = parse_query("storm"), parse_query("calm")
    assert entries_with(storm) == [entry.pk]
    Entry.objects.filter(pk=entry.pk).update(text=" calm ")
    assert (entries_with(storm), entries_with(calm)) == ([], [entry.pk])
    Entry.objects.filter(pk=entry.pk).update(jf2=None, text="")
    assert entries_with(calm) == []
    again = a_post("Calm")
    again.delete()
    assert entries_with(calm) == []


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_a_missing_index_is_made_again_from_texts_of_any_release() -> None:
    entry = a_post("Storm, at last")
    Entry.objects.filter(pk=entry.pk).update(text="storm, at last ada")
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER reader_entry_words_insert")
        else:
            cursor.execute("DROP INDEX entry_words")
    ensure_index(using="default")
    ensure_index(using="default")
    entry.refresh_from_db()
    assert entry.text == searched_text(entry.jf2 or {})
    assert entries_with(parse_query('"storm at last"')) == [entry.pk]
