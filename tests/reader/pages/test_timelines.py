"""The pages of timelines, and their forms.

The response to a page's script that asks for new posts.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape
from django.utils.timezone import localtime

from common.clock import utcnow
from common.formats.dates import full_time
from reader.models import Channel, Marking, Reader, Star, Unread
from tests.factories import ItemFactory
from tests.factories import an_entry as a_feeds_entry
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def act(client: Client, address: str, **given: object) -> str:
    """Submit a form; return its redirect."""
    answer = client.post(address, given)
    assert answer.status_code == 302, answer.content
    return answer.headers["Location"]


def unread(channel: Channel) -> set[int]:
    return set(Unread.objects.filter(channel=channel).values_list("place_id", flat=True))


def test_a_channel_shows_its_posts_newest_first_and_how_many_are_unread(
    browser: Client, home: Channel
) -> None:
    old, new = put(home, at=minutes(0), is_unread=False), put(home, at=minutes(1))
    page = text(browser, "/reader/c/home/")
    assert page.index(f'id="post-{new.pk}"') < page.index(f'id="post-{old.pk}"')
    assert f'class="entry is-read" id="post-{old.pk}"' in page
    assert 'data-count="home">1<' in page
    assert f"post-{old.pk}" not in text(browser, "/reader/c/home/?unread")


def test_all_pages_together_show_every_post_once(browser: Client, home: Channel) -> None:
    places = [put(home, at=minutes(0)).pk for _ in range(45)]
    found: list[int] = []
    address = "/reader/"
    for _ in range(3):
        page = text(browser, address)
        found += [int(part.split('"')[0]) for part in page.split('id="post-')[1:]]
        rest = page.partition('rel="next" href="')[2]
        address = "/reader/" + rest.partition('"')[0]
    assert found == sorted(places, reverse=True)
    assert rest == ""


def test_an_unreadable_cursor_is_no_page(browser: Client, ada: Reader) -> None:
    assert browser.get("/reader/?after=nonsense").status_code == 404


def test_a_post_is_marked_read_and_unread_again(browser: Client, home: Channel) -> None:
    place = put(home)
    back = act(browser, "/reader/mark/", act="read", place=place.pk, back="/reader/?unread#post-1")
    marking = Marking.objects.get()
    assert back == f"/reader/?unread=&marked={marking.name}#post-1"
    assert unread(home) == set()
    assert "1 post marked as read." in text(browser, back.partition("#")[0])
    assert act(browser, "/reader/undo/", name=marking.name, back=back) == "/reader/?unread=#post-1"
    assert unread(home) == {place.pk}
    act(browser, "/reader/mark/", act="read", place=place.pk)
    act(browser, "/reader/mark/", act="unread", place=place.pk)
    assert unread(home) == {place.pk}


def test_what_one_scrolls_past_is_undone_together(browser: Client, home: Channel) -> None:
    places = [put(home).pk for _ in range(5)]
    script = {"Accept": "application/json"}

    def told(**given: object) -> Any:
        answer = browser.post("/reader/mark/", {"act": "read", **given}, headers=script)
        return answer.json()["marking"]

    first = told(place=places[:2])
    second = told(place=places[2:4], onto=first["name"])
    assert (first["says"], second["says"]) == ("2 posts marked as read.", "4 posts marked as read.")
    assert told(place=places[:4]) is None, "what is read already is no marking"
    answer = browser.post("/reader/undo/", {"name": second["name"]}, headers=script)
    assert answer.json()["counts"][""] == "5"
    assert told(place=places[4:], onto=first["name"])["says"] == "1 post marked as read."


def test_opening_a_post_leaves_the_last_marking_to_be_undone(browser: Client, home: Channel) -> None:
    opened, other = put(home), put(home)
    act(browser, "/reader/mark/", act="read", place=other.pk)
    act(browser, "/reader/mark/", act="open", place=opened.pk)
    assert unread(home) == set()
    act(browser, "/reader/undo/", name=Marking.objects.get().name)
    assert unread(home) == {other.pk}


def test_a_script_is_told_the_counts(browser: Client, home: Channel) -> None:
    place, _ = put(home), put(home)
    told = browser.post(
        "/reader/mark/", {"act": "read", "place": place.pk}, headers={"Accept": "application/json"}
    ).json()
    assert told["counts"] == {"": "1", "home": "1", "notifications": ""}


def test_read_up_to_here_is_what_stands_above_on_this_page_and_nothing_that_came_since(
    browser: Client, home: Channel
) -> None:
    below, here, top = (put(home, at=minutes(number)) for number in range(3))
    since = put(home, at=minutes(9))
    back = act(
        browser,
        "/reader/mark/",
        act="here",
        top=top.pk,
        place=here.pk,
        channel="home",
        back="/reader/c/home/",
    )
    assert unread(home) == {below.pk, since.pk}
    marking = Marking.objects.get()
    assert back == f"/reader/c/home/?marked={marking.name}"
    assert "2 posts marked as read." in text(browser, back)
    back = act(browser, "/reader/undo/", name=marking.name, back=back)
    assert unread(home) == {below.pk, here.pk, top.pk, since.pk}
    assert back == "/reader/c/home/"
    assert browser.post("/reader/undo/", {"name": marking.name}).status_code == 404


def test_all_read_means_all_that_the_page_showed_or_is_older(browser: Client, home: Channel) -> None:
    read, old, top = (
        put(home, at=minutes(0), is_unread=False),
        put(home, at=minutes(1)),
        put(home, at=minutes(2)),
    )
    since = put(home, at=minutes(3))
    act(browser, "/reader/mark/", act="all", top=top.pk, channel="home")
    assert unread(home) == {since.pk}
    act(browser, "/reader/undo/", name=Marking.objects.get().name)
    assert unread(home) == {old.pk, top.pk, since.pk}
    assert read.pk not in unread(home)


def test_what_is_older_than_days_is_marked(browser: Client, home: Channel) -> None:
    put(home, at=utcnow() - timedelta(days=8))
    new = put(home, at=utcnow() - timedelta(days=6))
    act(browser, "/reader/mark/", act="older", days=7, channel="home")
    assert unread(home) == {new.pk}
    for days in ("", "0", "-1", "²", "3651", "99999", "many"):
        assert browser.post("/reader/mark/", {"act": "older", "days": days}).status_code == 404
    act(browser, "/reader/undo/", name=Marking.objects.get().name)
    assert len(unread(home)) == 2


def test_undo_makes_nothing_unread_that_was_hidden_meanwhile(
    browser: Client, home: Channel, ada: Reader
) -> None:
    from reader.timelines.marks import remove
    from reader.timelines.pages import Timeline

    stays, goes = put(home, at=minutes(0)), put(home, at=minutes(1))
    act(browser, "/reader/mark/", act="all", top=goes.pk)
    remove(Timeline(ada), [goes.pk])
    act(browser, "/reader/undo/", name=Marking.objects.get().name)
    assert unread(home) == {stays.pk}


def test_a_star_keeps_a_post_where_it_is_found_again(browser: Client, home: Channel, ada: Reader) -> None:
    place = put(home, an_entry(jf2={"name": "A chart of the bay"}))
    act(browser, f"/reader/post/{place.entry_id}/star/", act="star")
    assert "A chart of the bay" in text(browser, "/reader/starred/")
    place.delete()
    assert "A chart of the bay" in text(browser, f"/reader/post/{place.entry_id}/")
    act(browser, f"/reader/post/{place.entry_id}/star/", act="unstar")
    assert not Star.objects.exists()
    assert browser.get(f"/reader/post/{place.entry_id}/").status_code == 404


def test_search_finds_the_posts_with_all_words(browser: Client, home: Channel) -> None:
    found = put(home, an_entry(text="the tide comes in"))
    put(home, an_entry(text="the tide goes out"))
    page = text(browser, "/reader/search/?q=tide+comes")
    assert page.count("<article") == 1
    assert f'id="post-{found.pk}"' in page
    assert "No post contains all of these words." in text(browser, "/reader/search/?q=nowhere")


def test_to_look_at_a_page_changes_nothing(browser: Client, home: Channel) -> None:
    place = put(home)
    for address in ("/reader/", "/reader/c/home/", f"/reader/post/{place.entry_id}/", "/reader/mark/"):
        browser.get(address)
    assert unread(home) == {place.pk}


@pytest.mark.parametrize(
    ("channel", "says"),
    [("home", "You don’t follow any feeds here yet."), ("notifications", "No notifications yet.")],
)
def test_an_empty_channel_says_what_to_do(browser: Client, ada: Reader, channel: str, says: str) -> None:
    assert says in text(browser, f"/reader/c/{channel}/")


def test_what_posts_bring_is_harmless(browser: Client, home: Channel) -> None:
    jf2 = {
        "type": "entry",
        "name": "<script>alert(1)</script>",
        "url": "javascript:alert(2)",
        "author": {"name": "<b>A</b>", "url": "javascript:alert(3)"},
        "content": {
            "html": '<h1>Big</h1><img src="https://evil.example/1.gif" alt="a &lt;cat&gt;">',
            "text": "x",
        },
        "in-reply-to": ["javascript:alert(4)"],
        "audio": ["javascript:alert(5)"],
    }
    place = put(home, an_entry(jf2=jf2))
    for address, level in (("/reader/", 3), (f"/reader/post/{place.entry_id}/", 2)):
        answer = browser.get(address)
        page = answer.content.decode()
        assert "javascript:" not in page
        assert "<script>" not in page
        assert "evil.example" not in page
        assert f"<h{level}>Big</h{level}>" in page
        assert "a &lt;cat&gt;" in page
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    "back", ["https://evil.example/reader/", "//evil.example", "/admin/", "javascript:1"]
)
def test_a_form_leads_back_to_pages_for_readers_only(browser: Client, home: Channel, back: str) -> None:
    assert act(browser, "/reader/mark/", act="read", place=1, back=back) == "/reader/"


def test_a_channel_is_shown_as_its_settings_say(browser: Client, home: Channel) -> None:
    post = {"name": "Boats", "photo": ["https://x.test/boat.png"], "content": {"text": "word " * 100}}
    put(home, an_entry(jf2=post))
    for layout, tiles in (("list", False), ("cards", True), ("gallery", True)):
        Channel.objects.update(layout=layout)
        page = text(browser, "/reader/c/home/")
        assert ("entry tile" in page, f"entries {layout}" in page) == (tiles, tiles)
        assert "x.test" not in page
        assert "Mark read up to here" in page
    assert "entry tile" not in text(browser, "/reader/")


def test_an_author_has_a_face_by_our_own_address(browser: Client, home: Channel) -> None:
    put(home, an_entry(jf2={"name": "Hers", "author": {"name": "Ada", "photo": "https://x.test/ada.png"}}))
    page = text(browser, "/reader/")
    assert 'class="face" src="/reader/media/' in page
    assert "x.test" not in page


def test_a_posts_text_and_title_each_have_their_direction(browser: Client, home: Channel) -> None:
    arabic = "Apple: هذا الهاتف الجديد من آبل"
    entry = an_entry(
        jf2={"type": "entry", "name": "iPhone: هاتف", "content": {"text": arabic, "html": arabic}}
    )
    put(home, at=minutes(0), entry=entry)
    page = text(browser, f"/reader/post/{entry.pk}/")
    assert '<h1 dir="rtl">' in page
    assert '<div class="text" dir="rtl">' in page


def test_posts_say_how_long_ago_they_are_with_the_full_time(browser: Client, home: Channel) -> None:
    at = utcnow() - timedelta(hours=2, minutes=5)
    place = put(home, an_entry(jf2={"type": "entry", "name": "Fresh", "published": at.isoformat()}), at=at)
    for address in ("/reader/", "/reader/deck/", f"/reader/post/{place.entry_id}/"):
        page = browser.get(address).content.decode().replace("\xa0", " ")
        (title,) = re.findall(r'title="([^"]+)">2 hours ago</time>', page)
        assert title == full_time(localtime(at)).replace("\xa0", " "), address


def test_the_oldest_come_first_where_one_asks_for_them(browser: Client, home: Channel) -> None:
    places = [put(home, at=minutes(number)).pk for number in range(25)]
    address, found = "/reader/c/home/?oldest", []
    while address:
        page = text(browser, address)
        found += [int(pk) for pk in re.findall(r'id="post-(\d+)"', page)]
        more = re.search(r'rel="next" href="(\?oldest&amp;after=[^"]+)"', page)
        address = f"/reader/c/home/{more[1].replace('&amp;', '&')}" if more else ""
    assert found == places
    first = text(browser, "/reader/c/home/?oldest")
    assert 'href="?oldest&amp;unread"' in first
    # New posts are on the first page only if the order is newest first.
    assert '<a href="?" class="button" hidden>' in first
    assert 'href="?">Newest first</a>' in first
    act(browser, "/reader/mark/", act="here", channel="home", top=places[0], place=places[2])
    assert unread(home) == set(places[3:])
    (top,) = re.findall(
        r'name="top" value="(\d+)"><input[^>]*><button type="submit" name="act" value="all"', first
    )
    act(browser, "/reader/mark/", act="all", channel="home", top=top)
    assert not unread(home)


def test_a_whole_post_leads_to_the_next_and_the_one_before(browser: Client, home: Channel) -> None:
    old, here, new = (put(home, at=minutes(number)).entry_id for number in (1, 1, 2))
    page = text(browser, f"/reader/post/{here}/")
    assert f'rel="prev" href="/reader/post/{new}/"' in page
    assert f'rel="next" href="/reader/post/{old}/"' in page
    assert 'rel="prev"' not in text(browser, f"/reader/post/{new}/")
    assert 'rel="next"' not in text(browser, f"/reader/post/{old}/")


def test_audio_is_played_and_nothing_of_it_is_fetched_before(browser: Client, home: Channel) -> None:
    bad, good = "javascript:alert(1)", "https://pod.example.org/a.mp3?x=1&y=2"
    jf2 = {
        "type": "entry",
        "name": "Episode",
        "audio": [good, bad],
        "video": ["https://pod.example.org/v.mp4"],
    }
    place = put(home, an_entry(jf2=jf2))
    answer = browser.get(f"/reader/post/{place.entry_id}/")
    page = answer.content.decode()
    assert re.findall(r"<audio [^>]*>", page) == [
        '<audio controls preload="none" src="https://pod.example.org/a.mp3?x=1&amp;y=2">'
    ]
    assert bad not in page
    assert "Listen or watch" in page
    assert "media-src https: http:" in answer.headers["Content-Security-Policy"]
    plain = put(home)
    assert (
        "media-src" not in browser.get(f"/reader/post/{plain.entry_id}/").headers["Content-Security-Policy"]
    )


def test_what_says_that_nothing_is_there_is_marked_for_the_script(browser: Client, home: Channel) -> None:
    assert "<div data-nothing>" in text(browser, "/reader/c/home/")
    put(home)
    assert "data-nothing" not in text(browser, "/reader/c/home/")


def since(browser: Client, address: str) -> str:
    """Return the page's `data-since`."""
    page = browser.get(address).content.decode()
    return page.partition('data-since="')[2].partition('"')[0]


def news(browser: Client, **given: str) -> dict[str, Any]:
    answer = browser.get("/reader/news/", given)
    assert answer.headers["Cache-Control"] == "private, no-store"
    told: dict[str, Any] = answer.json()
    return told


def test_posts_that_are_newer_than_the_page_are_counted_and_said(
    browser: Client, home: Channel, channel: Callable[[str], Channel]
) -> None:
    put(home)
    of_home, of_all = since(browser, "/reader/c/home/"), since(browser, "/reader/")
    assert news(browser, channel="home", since=of_home)["new"] == 0
    put(channel("other"), at=minutes(1))
    put(home, at=minutes(2), is_unread=False)
    told = news(browser, channel="home", since=of_home)
    assert (told["new"], told["words"]) == (1, "1 new post")
    assert (told["counts"][""], told["counts"]["other"]) == ("2", "1")
    assert news(browser, since=of_all)["words"] == "2 new posts"


def test_a_page_of_unread_posts_knows_what_is_read_above_them(browser: Client, home: Channel) -> None:
    put(home)
    put(home, at=minutes(1), is_unread=False)
    assert news(browser, since=since(browser, "/reader/?unread"))["new"] == 0


def test_an_empty_page_hears_of_its_first_post(browser: Client, home: Channel) -> None:
    empty = since(browser, "/reader/c/home/")
    put(home)
    assert news(browser, channel="home", since=empty)["words"] == "1 new post"


def test_older_pages_are_told_counts_alone(browser: Client, home: Channel) -> None:
    for _ in range(21):
        put(home)
    page = browser.get("/reader/").content.decode()
    older = page.partition('rel="next" href="')[2].partition('"')[0]
    assert since(browser, f"/reader/{older}") == ""
    told = news(browser, since="")
    assert (told["new"], told["words"], told["counts"][""]) == (0, "", "21")


def test_it_is_said_in_the_readers_language(browser: Client, home: Channel) -> None:
    empty = since(browser, "/reader/c/home/")
    put(home)
    told = browser.get("/reader/news/", {"since": empty}, headers={"Accept-Language": "de"}).json()
    assert told["words"] == "1 neuer Beitrag"


@pytest.mark.parametrize("given", [{"since": "nonsense"}, {"channel": "nonsense"}])
def test_what_is_not_there_is_not_found(browser: Client, given: dict[str, str]) -> None:
    assert browser.get("/reader/news/", given).status_code == 404


def test_a_post_shows_what_changed(browser: Client, home: Channel) -> None:
    item = ItemFactory()
    place = put(home, an_entry(item=item))
    assert "What changed" not in text(browser, f"/reader/post/{place.entry_id}/")
    for words in ("The bee sleeps.", "The bee <i>works</i> & rests."):
        entry = replace(a_feeds_entry(title="Bees"), content=f"<p>{escape(words)}</p>")
        item.versions.create(seen_at=minutes(0), entry=entry.to_json())
    page = text(browser, f"/reader/post/{place.entry_id}/")
    assert "<details><summary>What changed</summary>" in page
    assert "&lt;i&gt;works&lt;/i&gt;" in page
    assert "<i>works" not in page
