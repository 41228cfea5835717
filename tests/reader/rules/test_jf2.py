"""Valid jf2: no empty values, lists where required, and only web URLs."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.clean import clean
from common.text import words
from feeds.parsing.entry import Citation, Entry, Media, Person, Social, Spot
from reader.rules.jf2 import author_key, kind_of, post_jf2, searched_text
from reader.rules.retention import kept_since, starting_unread
from tests.factories import NOW

SITE = Person("Blog", "https://blog.example/", "https://blog.example/logo.png")
LISTS = words(
    "category photo video audio syndication featured in-reply-to like-of repost-of bookmark-of quotation-of"
)
TEXTS = st.text(max_size=20)
PEOPLE = st.builds(Person, TEXTS, TEXTS, TEXTS)
SPOTS = st.none() | st.builds(Spot, TEXTS, TEXTS, TEXTS, TEXTS)
SOCIALS = st.builds(
    Social,
    people=st.tuples(PEOPLE) | st.just(()),
    relations=st.lists(st.tuples(st.sampled_from(["like-of", "in-reply-to"]), TEXTS), max_size=2).map(tuple),
    refs=st.lists(st.builds(Citation, TEXTS, TEXTS, TEXTS, PEOPLE), max_size=2).map(tuple),
    syndication=st.lists(TEXTS, max_size=2).map(tuple),
    rsvp=TEXTS,
    place=SPOTS,
    checkin=SPOTS,
)
ENTRIES = st.builds(
    Entry,
    guid=TEXTS,
    title=TEXTS,
    link=TEXTS,
    authors=st.lists(TEXTS, max_size=2).map(tuple),
    content=TEXTS,
    summary=TEXTS,
    categories=st.lists(TEXTS, max_size=2).map(tuple),
    media=st.lists(st.builds(Media, TEXTS, TEXTS), max_size=2).map(tuple),
    image=TEXTS,
    social=SOCIALS,
)


def shown(**fields: Any) -> dict[str, Any]:
    return post_jf2(Entry("1", **fields), feed=SITE, seen_at=NOW)


def test_a_whole_post() -> None:
    social = Social(
        people=(Person("Ada", "https://ada.example/", "https://ada.example/a.png"),),
        relations=(("in-reply-to", "https://bob.example/1"),),
        refs=(Citation("https://bob.example/1", "Q", "Is it?", Person("Bob", "https://bob.example/")),),
        syndication=("https://social.example/1",),
        place=Spot("Park", latitude="52.5", longitude="13.4"),
    )
    html = clean("<p>One</p><p>T&amp;wo <a title='a > b' href='https://e.example/'>x</a></p>", base="")
    post = shown(
        title="A title",
        link="https://ada.example/1",
        authors=("Ada",),
        content=html,
        summary="<p>Short</p>",
        published=NOW,
        categories=("Tea",),
        media=(Media("https://ada.example/v.mp4", "video/mp4"), Media("https://ada.example/p.png", "image")),
        image="https://ada.example/f.png",
        social=social,
    )
    assert post == {
        "type": "entry",
        "url": "https://ada.example/1",
        "published": NOW.isoformat(),
        "name": "A title",
        "summary": "Short",
        "content": {"html": html, "text": "One\nT&wo x"},
        "author": {
            "type": "card",
            "name": "Ada",
            "url": "https://ada.example/",
            "photo": "https://ada.example/a.png",
        },
        "category": ["Tea"],
        "photo": ["https://ada.example/p.png"],
        "video": ["https://ada.example/v.mp4"],
        "featured": ["https://ada.example/f.png"],
        "syndication": ["https://social.example/1"],
        "in-reply-to": ["https://bob.example/1"],
        "location": {"type": "card", "name": "Park", "latitude": "52.5", "longitude": "13.4"},
        "refs": {
            "https://bob.example/1": {
                "type": "cite",
                "url": "https://bob.example/1",
                "name": "Q",
                "content": {"text": "Is it?"},
                "author": {"type": "card", "name": "Bob", "url": "https://bob.example/"},
            }
        },
    }
    assert kind_of(post) == "reply"
    assert searched_text(post) == (" a title 0border0 ada 0border0 tea 0border0 short 0border0 one t wo x ")


def test_what_is_missing_is_the_feeds_and_the_date_when_it_was_seen() -> None:
    assert shown() == {
        "type": "entry",
        "published": NOW.isoformat(),
        "author": {
            "type": "card",
            "name": "Blog",
            "url": "https://blog.example/",
            "photo": "https://blog.example/logo.png",
        },
    }
    assert shown(authors=("Ada",))["author"]["name"] == "Ada"


def test_a_note_has_no_name_that_repeats_it() -> None:
    note = shown(title="Hello", content="<p>Hello</p>")
    assert "name" not in note
    assert kind_of(note) == "note"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//", "ftp://e.example/", "\0"])
def test_no_address_but_those_of_the_web(url: str) -> None:
    social = Social(
        people=(Person("A", url, url),),
        relations=(("like-of", url),),
        refs=(Citation(url, "x"),),
        syndication=(url,),
        place=Spot("x", url),
        checkin=Spot("x", url),
    )
    post = shown(link=url, image=url, media=(Media(url, "image/png"), Media(url, "video/x")), social=social)
    assert url not in repr(post)
    assert post["author"] == {"type": "card", "name": "A"}


@given(ENTRIES)
def test_no_value_is_empty_and_lists_are_lists(entry: Entry) -> None:
    def check(value: Any) -> None:
        assert value not in ("", [], {}, None)
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(one)

    post = post_jf2(entry, feed=SITE, seen_at=NOW)
    check(post)
    for name in LISTS:
        assert all(isinstance(one, str) for one in post.get(name, []))
        assert isinstance(post.get(name, []), list)
    assert kind_of(post)


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({"type": "event", "like-of": ["x"]}, "event"),
        ({"repost-of": ["x"], "name": "y"}, "repost"),
        ({"like-of": ["x"]}, "like"),
        ({"bookmark-of": ["x"]}, "bookmark"),
        ({"in-reply-to": ["x"], "rsvp": "yes"}, "rsvp"),
        ({"checkin": {"name": "x"}, "photo": ["x"]}, "checkin"),
        ({"photo": ["x"]}, "photo"),
        ({"audio": ["x"]}, "audio"),
        ({"name": "x"}, "article"),
        ({}, "note"),
    ],
)
def test_the_sort_of_a_post(properties: dict[str, Any], kind: str) -> None:
    assert kind_of(properties) == kind


def test_an_author_is_known_however_their_address_is_written() -> None:
    keys = {
        author_key(url)
        for url in ("https://a.example/", "http://A.example", "https://a.example/?utm_source=x")
    }
    assert len(keys) == 1
    assert author_key("") == ""
    assert author_key("https://a.example/@ada") == author_key("https://a.example/@ada/") not in keys


def test_ten_of_the_last_month_are_news() -> None:
    days = [NOW - timedelta(days=number) for number in (0, 1, 29, 31, 40)]
    assert starting_unread(days, NOW) == 3
    assert starting_unread([NOW] * 30, NOW) == 10


def test_a_channels_own_days_count_for_both() -> None:
    read, unread = kept_since(NOW, read_days=60, unread_days=180, keep_days=None)
    assert (NOW - read, NOW - unread) == (timedelta(days=60), timedelta(days=180))
    own = kept_since(NOW, read_days=60, unread_days=180, keep_days=3)
    assert own == (NOW - timedelta(days=3),) * 2


def test_a_sensitive_picture_is_a_link_and_a_hidden_text_is_summed_up_by_its_warning() -> None:
    picture = Media("https://i.example/a.png?x=1&y=2", "image/png")
    post = shown(content="<p>x</p>", media=(picture,), image=picture.url, sensitive=True, warning="Spiders")
    assert {"photo", "featured"}.isdisjoint(post)
    assert '<a href="https://i.example/a.png?x=1&amp;y=2">' in post["content"]["html"]
    assert post["summary"] == "Spiders"


def test_a_sound_without_a_type_is_one_by_its_ending_and_a_thumbnail_no_second_picture() -> None:
    photo, thumbnail = "https://i.example/a.jpg", "https://i.example/a-150x150.jpg"
    post = shown(media=(Media("https://i.example/a.mp3"), Media(photo, "image")), image=thumbnail)
    assert (post["audio"], post["photo"]) == (["https://i.example/a.mp3"], [photo])
    assert "featured" not in post


def test_in_the_text_of_a_post_the_words_of_two_blocks_are_apart() -> None:
    html = "We open<ul><li>Monday</li><li>Tu<b>es</b>day</li></ul>Bring<h3>Where</h3>At"
    assert shown(content=html)["content"]["text"].split("\n") == [
        *("We open", "Monday", "Tuesday", "Bring", "Where", "At")
    ]
