"""Authors are named, each once, and without their mail addresses.

iffy:hint-announce, in RSS, Atom and JSON Feed.
Titles and names of every format keep all of their words.
Post data that readers on this site see, and letters never show.
Sensitive posts in the profile feeds of fediverse servers.
"""

import json
from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.html.titles import plain_title
from common.text import one_line
from feeds.parsing.document import parse
from feeds.parsing.entry import Citation, Entry, ParsedFeed, Person, Social, Spot
from feeds.parsing.identity import content_hash
from feeds.parsing.people import author_names, mailboxes
from tests.feeds.parsing import test_h_feed as pages
from tests.feeds.parsing.test_json_feed import only as only_json
from tests.servers.documents import atom, rss

SENSITIVE_RSS = (
    "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>t</title><item>"
    "<guid>1</guid><link>{link}</link><description>{text}</description>{media}</item></channel></rss>"
)
MEDIA = (
    "<media:content url='https://files.example/media_attachments/files/1/original/a.png' type='image/png'"
    " medium='image'><media:rating scheme='urn:simple'>{rating}</media:rating>"
    "<media:description type='plain'>A bee</media:description>"
    "<media:thumbnail url='https://files.example/media_attachments/files/1/small/a.png'/></media:content>"
)
HOME = "https://ada.example"
SOCIAL_ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><id>f</id><title>T</title>
<author><name>Ada</name><uri>https://ada.example/</uri></author>
<entry><id>1</id><title>One</title><updated>2026-05-04T09:00:00Z</updated></entry>
<entry><id>2</id><title>Two</title><updated>2026-05-04T09:00:00Z</updated>
<author><name>Grace</name><uri>javascript:alert(1)</uri></author></entry></feed>"""
URL = "https://blog.example/feed"
# feedparser repairs text that was encoded twice, which Latin-1 characters can look like.
TITLES = st.text(
    alphabet=st.characters(
        exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"], exclude_characters="\ufffe\uffff"
    ),
    min_size=1,
    max_size=40,
).filter(lambda text: not any("\x80" <= char <= "\xff" for char in text))
RSS = "<rss version='2.0'><channel><title>{0}</title><item><guid>1</guid>{1}</item></channel></rss>"
ATOM = (
    "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>f</title>"
    "<entry><id>1</id>{}<updated>2026-11-03T01:00:00Z</updated></entry></feed>"
)
NAMESPACE = "http://tech.interfluidity.com/xml/iffy/"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ada@example.com (Ada Lee)", ["Ada Lee"]),
        ("noreply@blogger.com (Ada Lee)", ["Ada Lee"]),
        ("Ada Lee <ada@example.com>", ["Ada Lee"]),
        ("Ada Lee &lt;ada@example.com&gt;", ["Ada Lee"]),
        ("Ada Lee (ada@example.com)", ["Ada Lee"]),
        ("Ada Lee, ada@example.com", ["Ada Lee"]),
        ("ada@example.com Ada Lee", ["Ada Lee"]),
        ("ada@example.com", []),
        ("<mailto:ada@example.com>", []),
        ("ada@example.com.", []),
        ("ada@bücher.example, root@localhost", []),
        ("ada@example.com (Ada Lee (she/her))", ["Ada Lee (she/her)"]),
        ("a@example.com (Ada), b@example.com (Bob)", ["Ada", "Bob"]),
        ('"Lee, Ada" <a@example.com> and Bob <b@example.com>; Cy', ["Lee, Ada", "Bob", "Cy"]),
        ("Ada Lee and Bob Roe", ["Ada Lee and Bob Roe"]),
        ("@ada@social.example", ["@ada@social.example"]),
        ("Team @ Work", ["Team @ Work"]),
        ("", []),
    ],
)
def test_an_author_is_a_name_without_an_address(text: str, names: list[str]) -> None:
    assert list(author_names([text])) == names
    assert all("@" in address for _, address in mailboxes(text) if address)


def test_one_person_is_named_once() -> None:
    assert author_names(["Ada Lee", "ada@example.com (Ada Lee)", "ADA LEE", "ada@example.com"]) == (
        "Ada Lee",
    )


def test_a_text_full_of_brackets_and_signs_costs_no_more_than_its_length() -> None:
    for text in ("a@" * 100_000, "(" * 100_000 + "@", "a@b.example(" * 10_000):
        mailboxes(text)


def entry_of(document: str) -> Entry:
    (entry,) = parse(document.encode(), content_type="", url="https://blog.example/feed").entries
    return entry


def test_no_format_prints_an_address() -> None:
    rss = (
        "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><title>t</title><item>"
        "<guid>1</guid>{}</item></channel></rss>"
    )
    twice = "<dc:creator>Ada Lee</dc:creator><author>ada@example.com</author>"
    assert entry_of(rss.format(twice)).authors == ("Ada Lee",)
    several = "<author>a@example.com (Ada), b@example.com (Bob)</author>"
    entry = entry_of(rss.format(several))
    assert entry.authors == ("Ada", "Bob")
    assert [person.name for person in entry.social.people] == ["Ada", "Bob"]
    atom = (
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>f</title><entry><id>1</id>"
        "<author><name>ada@example.com (Ada)</name><email>ada@example.com</email></author>"
        "<author><email>b@example.com</email></author></entry></feed>"
    )
    assert entry_of(atom).authors == ("Ada",)
    people = [{"name": "Ada <ada@example.com>"}, {"url": "mailto:b@example.com"}]
    items = [{"id": "1", "content_text": "x", "authors": people}]
    entry = entry_of(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}))
    assert entry.authors == ("Ada",)
    assert [person.name for person in entry.social.people] == ["Ada"]
    page = (
        '<div class="h-entry"><a class="u-url" href="/1">x</a><p class="p-name">T</p>'
        '<span class="p-author h-card">ada@example.com (Ada)</span></div>'
    )
    assert entry_of(page).authors == ("Ada",)


def hint(policy: str, restriction: str | None = None, *, prefix: str = "iffy") -> str:
    inside = f"<{prefix}:policy>{policy}</{prefix}:policy>"
    if restriction is not None:
        inside += f"<{prefix}:restriction>{restriction}</{prefix}:restriction>"
    return f"<{prefix}:hint-announce>{inside}</{prefix}:hint-announce>"


def read(*hints: str, uri: str = NAMESPACE, prefix: str = "iffy", write: Any = rss) -> ParsedFeed:
    body = write([{"guid": "1", "title": "One", "description": "x", "extra": "".join(hints)}, {"guid": "2"}])
    name = b"<feed" if write is atom else b"<rss"
    declared = f' xmlns:{prefix}="{uri}"'.encode()
    return parse(body.replace(name, name + declared, 1), content_type="", url="https://e.org/")


def announce(feed: ParsedFeed) -> str:
    first, second = feed.entries
    assert second.announce == ""
    assert (first.title, first.html) == ("One", "x")
    return first.announce


@pytest.mark.parametrize("write", [rss, atom])
@pytest.mark.parametrize(
    ("policy", "read_as"),
    [
        ("Always", ""),
        ("Never", "never"),
        ("NEVER", "never"),
        (" piggyback\n", "piggyback"),
        ("Piggyback", "piggyback"),
    ],
)
def test_a_policy_is_read_in_any_case(write: Any, policy: str, read_as: str) -> None:
    feed = read(hint(policy), write=write)
    assert (announce(feed), feed.warnings) == (read_as, ())


@pytest.mark.parametrize(
    "uri",
    [
        NAMESPACE,
        NAMESPACE.rstrip("/"),
        NAMESPACE.replace("http:", "https:"),
        "http://tech.interfluidity.com/xml/iffy/1.1",
    ],
)
@pytest.mark.parametrize("prefix", ["iffy", "i"])
def test_the_namespace_counts_and_not_its_prefix(uri: str, prefix: str) -> None:
    assert announce(read(hint("Never", prefix=prefix), uri=uri, prefix=prefix)) == "never"


def test_another_namespace_says_nothing() -> None:
    assert announce(read(hint("Never", prefix="other"), uri="http://other.example/", prefix="other")) == ""


def test_the_namespace_may_be_the_elements_own() -> None:
    own = f'<hint-announce xmlns="{NAMESPACE}"><policy>Never</policy></hint-announce>'
    assert announce(read(own)) == "never"


def test_only_the_first_unrestricted_hint_counts() -> None:
    assert announce(read(hint("Never", "mastodon"), hint("Piggyback"), hint("Never"))) == "piggyback"
    assert announce(read(hint("Never", ""))) == ""
    assert announce(read("<iffy:hint-announce/>", hint("Never"))) == "never"


def test_an_unknown_policy_is_always_and_said_of_the_feed() -> None:
    feed = read(hint("Sometimes"), hint("Never"))
    assert announce(feed) == ""
    assert len(feed.warnings) == 1
    assert "“sometimes”" in feed.warnings[0]


def test_the_patient_parser_reads_it_too() -> None:
    feed = read(hint("Never") + "<b>")
    assert feed.entries[0].announce == "never"
    assert "not well-formed" in feed.warnings[0]


def test_a_hint_of_the_channel_is_none_of_its_posts() -> None:
    body = rss([{"guid": "1"}], extra=hint("Never")).replace(
        b"<rss", f'<rss xmlns:iffy="{NAMESPACE}"'.encode(), 1
    )
    assert parse(body, content_type="", url="").entries[0].announce == ""


@pytest.mark.parametrize(
    ("extension", "read_as"),
    [
        ({"hint_announce": {"policy": "Never"}}, "never"),
        ({"hint_announce": [{"policy": "Never", "restriction": "x"}, {"policy": "PIGGYBACK"}]}, "piggyback"),
        ({"hint_announce": "Never"}, ""),
        ({"hint_announce": {"policy": 7}}, ""),
        ("Never", ""),
        (None, ""),
    ],
)
def test_json_feed_has_it_as_an_extension(extension: Any, read_as: str) -> None:
    item = {"id": "1", "_iffy": extension}
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "items": [item]}).encode()
    assert parse(body, content_type="", url="").entries[0].announce == read_as


def test_an_unknown_policy_in_json_is_said_too() -> None:
    item = {"id": "1", "_iffy": {"hint_announce": {"policy": "Sometimes"}}}
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "items": [item]}).encode()
    assert "“sometimes”" in parse(body, content_type="", url="").warnings[0]


def parsed(document: str) -> ParsedFeed:
    return parse(document.encode(), content_type="", url=URL)


def title_of(document: str) -> str:
    (entry,) = parsed(document).entries
    return entry.title


@given(TITLES)
def test_a_title_escaped_once_is_that_text(text: str) -> None:
    written = escape(text)
    literal = one_line(text)
    # In RSS "&lt;b&gt;" may be meant as markup, and "&amp;amp;" as an ampersand.
    assert title_of(RSS.format("f", f"<title>{written}</title>")) == plain_title(text)
    assert title_of(RSS.format("f", f"<title>{escape(written)}</title>")) == literal
    assert title_of(ATOM.format(f"<title>{written}</title>")) == literal
    assert title_of(ATOM.format(f"<title type='html'>{escape(written)}</title>")) == literal
    xhtml = f"<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>{written}</div></title>"
    assert title_of(ATOM.format(xhtml)) == literal
    items = [{"id": "1", "title": text, "content_text": "x"}]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "f", "items": items}
    assert title_of(json.dumps(feed)) == literal


@pytest.mark.parametrize("broken", ["", "<item><title>R&D</title>"])
def test_a_title_of_rss_keeps_what_is_no_markup(broken: str) -> None:
    """Also if the document is not well-formed, and another parser reads it."""
    titles = {
        "The &lt;dialog&gt; element": "The <dialog> element",
        "<![CDATA[Using List<String> in <i>Java</i>]]>": "Using List<String> in Java",
        "AT&amp;amp;T &amp;lt;video&amp;gt; twice": "AT&T <video> twice",
        "How <b>bold</b> is List&lt;String&gt;": "How bold is List<String>",
    }
    for written, title in titles.items():
        document = RSS.format("The &lt;nav&gt; blog", f"<title>{written}</title></item>{broken}<item>")
        feed = parsed(document)
        assert (feed.title, feed.entries[0].title) == ("The <nav> blog", title)


def test_html_titles_of_atom_are_html() -> None:
    assert title_of(ATOM.format("<title type='html'>&lt;p&gt;A &amp;amp; B&lt;/p&gt;</title>")) == "A & B"
    assert (
        title_of(ATOM.format("<title type='text'>&lt;b&gt;A&lt;/b&gt; &amp;amp;</title>")) == "<b>A</b> &amp;"
    )


def test_names_and_categories_keep_their_words() -> None:
    (entry,) = parsed(
        RSS.format("f", "<author>&lt;Ada&gt;</author><category>C++ &lt;vector&gt;</category>")
    ).entries
    assert (entry.authors, entry.categories) == (("<Ada>",), ("C++ <vector>",))


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("D&#39;accord &amp; plus", "D'accord & plus"),
        ("It&rsquo;s here", "It’s here"),
        ("a < b &amp; c", "a < b &amp; c"),
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("\u200b\u2060", ""),
    ],
)
@pytest.mark.parametrize("kind", ["text", "html"])
def test_a_title_of_atom_that_was_escaped_too_often_is_decoded(title: str, shown: str, kind: str) -> None:
    written = escape(escape(title) if kind == "html" else title)
    body = atom([{"guid": "1", "extra": f'<title type="{kind}">{written}</title>'}])
    (entry,) = parse(body, content_type="", url="https://e.example/").entries
    assert entry.title == shown


def test_atom_gives_authors_their_addresses() -> None:
    parsed = parse(SOCIAL_ATOM, content_type="application/atom+xml", url=f"{HOME}/feed")
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


def status(text: str, link: str = "https://social.example/@ada/1", media: str = "") -> Entry:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    document = SENSITIVE_RSS.format(link=link, text=escaped, media=media)
    (entry,) = parse(document.encode(), content_type="", url="https://social.example/@ada.rss").entries
    return entry


def test_a_picture_rated_for_adults_is_sensitive() -> None:
    assert status("<p>x</p>", media=MEDIA.format(rating="adult")).sensitive
    entry = status("<p>x</p>", media=MEDIA.format(rating="nonadult"))
    assert not entry.sensitive
    assert [medium.alt for medium in entry.media] == ["A bee"]
    # One of several is enough.
    assert status("x", media=MEDIA.format(rating="adult") + MEDIA.format(rating="nonadult")).sensitive


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("<p><strong>Avis :</strong>bees &amp; wasps</p><hr /><p>They sting.</p>", "Avis : bees & wasps"),
        ("<p><strong>Inhaltswarnung:</strong> Bienen</p><hr><p>Sie stechen.</p>", "Inhaltswarnung: Bienen"),
        ("<p>bees</p><hr/><p>They sting.</p>", "bees"),
        ("<p>They sting.</p><p>bees</p><hr>", ""),
        ("<p>They sting.</p>", ""),
    ],
)
def test_a_content_warning_ends_where_the_hidden_text_begins(text: str, warning: str) -> None:
    assert status(text).warning == warning


def test_the_line_below_a_blogs_first_paragraph_hides_nothing() -> None:
    assert status("<p>Hello.</p><hr><p>More.</p>", link="https://blog.example/1").warning == ""
