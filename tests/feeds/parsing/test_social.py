"""Post data that readers on this site see, and letters never show."""

import json

from feeds.parsing.document import parse
from feeds.parsing.entry import Citation, Entry, Person, Social, Spot
from feeds.parsing.identity import content_hash
from tests.feeds.parsing import test_h_feed as pages
from tests.feeds.parsing.test_json_feed import only as only_json

HOME = "https://ada.example"
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><title>T</title>
<author><name>Ada</name><uri>https://ada.example/</uri></author>
<entry><id>1</id><title>One</title><updated>2026-05-04T09:00:00Z</updated></entry>
<entry><id>2</id><title>Two</title><updated>2026-05-04T09:00:00Z</updated>
<author><name>Grace</name><uri>javascript:alert(1)</uri></author></entry></feed>"""


def test_atom_gives_authors_their_addresses() -> None:
    parsed = parse(ATOM, content_type="application/atom+xml", url=f"{HOME}/feed")
    people = [entry.social.people for entry in parsed.entries]
    assert people == [(Person("Ada", f"{HOME}/"),), (Person("Grace"),)]


def test_json_feed_gives_authors_addresses_and_pictures() -> None:
    author = {"name": "Ada", "url": "https://ada.example/", "avatar": "/ada.png"}
    people = (Person("Ada", "https://ada.example/", "https://blog.example/ada.png"),)
    assert only_json({"id": "1", "authors": [author]}).social.people == people
    assert only_json({"id": "1"}, authors=[author]).social.people == people, "else the feed's"


def test_a_reply_says_to_what_and_quotes_it() -> None:
    entry = pages.only("""<a class="u-url" href="/1"></a><p class="e-content">Yes!</p>
        <div class="u-in-reply-to h-cite"><a class="p-author h-card" href="https://bob.example/">Bob</a>
        <a class="u-url" href="https://bob.example/q">q</a><p class="p-name">Question</p>
        <p class="e-content">Is it?</p></div>
        <a class="u-syndication" href="https://social.example/1">elsewhere</a>""")
    assert entry.link == f"{HOME}/1"
    assert entry.social.relations == (("in-reply-to", "https://bob.example/q"),)
    assert entry.social.refs == (
        Citation("https://bob.example/q", "Question", "Is it?", Person("Bob", "https://bob.example/")),
    )
    assert entry.social.syndication == ("https://social.example/1",)


def test_an_event_and_a_visit_say_when_and_where() -> None:
    event = pages.only("""<a class="u-url p-name" href="/e">Party</a>
        <time class="dt-start" datetime="2026-06-01T18:00:00+02:00"></time>
        <time class="dt-end" datetime="2026-06-02"></time>
        <p class="p-location h-card"><span class="p-name">Park</span>
        <data class="p-latitude" value="52.5"></data>
        <data class="p-longitude" value="x"></data></p>""").social
    assert (event.kind, event.start, event.end) == ("event", "2026-06-01T16:00:00+00:00", "2026-06-02")
    assert event.place == Spot("Park", latitude="52.5")
    visit = pages.only("""<a class="u-url" href="/v"></a>
        <a class="u-checkin h-card" href="https://cafe.example/">Café</a><i class="p-rsvp">Yes</i>""").social
    assert (visit.checkin, visit.rsvp) == (Spot("Café", "https://cafe.example/"), "yes")


def test_an_author_who_is_an_address_is_found_on_the_page() -> None:
    card = '<p class="h-card"><a class="u-url p-name" href="/">Ada</a><img class="u-photo" src="/a.png"></p>'
    entry = '<div class="h-entry"><a class="u-url" href="/1">1</a><a class="u-author" href="/"></a></div>'
    (found,) = pages.read(pages.page(card + entry)).entries
    assert found.social.people == (Person("Ada", f"{HOME}/", f"{HOME}/a.png"),)


def test_what_a_post_is_for_letters_does_not_depend_on_it() -> None:
    liked = '<a href="https://bob.example/q" class="{}">I like this</a>'
    plain, social = (pages.only(liked.format(name)) for name in ("", "u-like-of"))
    assert social.social.relations == (("like-of", "https://bob.example/q"),)
    assert (plain.guid, plain.link, plain.title) == (social.guid, social.link, social.title)
    assert content_hash(plain) == content_hash(social)


def test_a_row_of_a_release_before_or_after_is_read() -> None:
    entry = Entry("1", social=Social(rsvp="yes"))
    row = json.loads(json.dumps(entry.to_json()))
    assert "social" not in row, "a worker of the release before reads it, too"
    assert Entry.from_json({**row, "of_a_later_release": 1}) == Entry("1")
