"""The texts of statuses.

The length of statuses as instances count it, and never less.
"""

import re
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from channels.http.links import (
    StatusLimits,
    fits_status,
    graphemes,
    holds,
    normalised,
    postable,
    status_length,
    unmentioned,
)
from channels.mastodon.message import Status
from common.truncation import FittingPart, fit_parts, plain_line
from feeds.parsing.entry import Entry
from tests.channels.mastodon.letters import CHANNEL, letter, recipient
from tests.contracts.bridge import LINK

FAMILY = "👩‍👩‍👧"
LONG_LINK = "https://blog.example.org/a/very/long/path/that/would/not/fit/otherwise?with=query&and=more"
# twitter-text's rule for links, with few top-level domains: the preceding character, the end of the path.
_INSTANCE_LINK = re.compile(
    r"(?<![A-Za-z0-9@＠$#＃\u202a-\u202e])https?://(?:[\w-]+\.)+(?:com|org|example|co\.uk)(?![\w-])(?::[0-9]+)?"
    r"(?:/(?:(?:[\w!*';:=+,./$%\[\]~&|@–-]*(?:\([\w.]*\))?)*[\w=#/+-])?)?(?:\?[\w!?*'(();:&=+$/%#\[\]~,.@|-]*[\w=#/])?"
)
PLACES = st.sampled_from(
    ["blog.example", "a.co.uk", "müller.com", "intranet", "x.org:80", "a.museum", "b.com"]
)
PATHS = st.text(st.sampled_from("ab1/().,;:=?&#%~_-!ü"), max_size=60)
LINKS = st.builds(lambda place, path: f"https://{place}/{path}", PLACES, PATHS)
LINKED_WORDS = st.lists(LINKS | st.text("ab #_.()", max_size=6), max_size=12).map("".join)
JOINED = "@\u2060"
FITS = fits_status(StatusLimits())
LIMITS = StatusLimits()
# Mastodon's rule for mentions: not after a word character, a slash or an equals sign.
MENTION = re.compile(r"(?<![=/\w])@[a-zA-Z0-9_]")
WORDS = st.text(max_size=300) | st.text("ab @#é👩‍👧/:.\n", max_size=900)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "summary": st.just("on"),
        "hashtags": st.just("on"),
        "thread": st.just("on"),
        "spoiler": st.text("ab @é", max_size=200),
        "template": st.sampled_from(
            ["{title|None} {link}", "{link} {summary} {hashtags}", "{link}\n{posts}"]
        ),
        "quotes": st.sampled_from(["public", "followers", "nobody"]),
        "images": st.sampled_from(["0", "1", "4"]),
    },
)


def plain(words: str) -> str:
    return unmentioned(plain_line(words))


def text(**fields: Any) -> str:
    return "".join(part.text for part in CHANNEL.compose(letter(**fields), recipient()).body.parts)


def announcement(**fields: Any) -> str:
    return text(entries=(Entry(guid="1", **fields),))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": "T", "authors": ("Ada",), "link": LINK}, f"[bees] New Post: T, by Ada {LINK}"),
        ({"title": "T", "authors": ("Ada", "Bo"), "link": LINK}, f"[bees] New Post: T, by Ada, Bo {LINK}"),
        ({"title": "T", "link": LINK}, f"[bees] New Post: T {LINK}"),
        ({"authors": ("Ada",), "link": LINK}, f"[bees] New Untitled Post, by Ada {LINK}"),
        ({"title": "  ", "authors": (" ",), "link": LINK}, f"[bees] New Untitled Post at {LINK}"),
        ({"link": LINK}, f"[bees] New Untitled Post at {LINK}"),
    ],
)
def test_an_announcement_has_the_usual_text(fields: dict[str, Any], expected: str) -> None:
    assert announcement(**fields) == expected


@pytest.mark.parametrize("link", ["", "javascript:alert(1)", "ftp://x.example/a", "https://", "http://[bad"])
def test_a_post_without_a_web_link_is_announced_without_one(link: str) -> None:
    message = CHANNEL.compose(letter(entries=(Entry(guid="1", title="T", link=link),)), recipient())
    assert message.refusal == ""
    assert message.body.link == ""


def test_a_digest_has_its_title_which_counts_the_archive_and_its_titles() -> None:
    entries = tuple(Entry(guid=str(n), title=f"T{n}", link=LINK) for n in range(3))
    archive = "https://letters.example/s/bees/archive/7/"
    made = text(title="T0, and 2 more", entries=entries, is_digest=True, archive_url=archive)
    assert made == f"[bees] T0, and 2 more {archive}\n• T0\n• T1\n• T2"


def test_a_digest_without_an_archive_has_its_title_and_its_titles() -> None:
    entries = tuple(Entry(guid=str(n), title=f"T{n}", link=LINK) for n in range(2))
    assert text(title="T0, and T1", entries=entries, is_digest=True) == "[bees] T0, and T1\n• T0\n• T1"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Ask @someone@host.example", f"Ask {JOINED}someone@host.example"),
        ("@a,@b", f"{JOINED}a,{JOINED}b"),
        ("²@a", f"²{JOINED}a"),
        ("See https://medium.example/@a/x", "See https://medium.example/@a/x"),
        ("5 @ 3", "5 @ 3"),
        ("one\r\ntwo\x00\x1b[0m", "one two[0m"),
        ("safe\u202etxt.exe\ud800", "safetxt.exe"),
        ("👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"),
    ],
)
def test_a_title_mentions_nobody_and_stays_on_its_line(title: str, expected: str) -> None:
    assert plain(title) == expected


@given(st.text(st.sampled_from("@aé²_=/ .\u0301\u2060")))
def test_no_title_mentions_anybody(title: str) -> None:
    # Mastodon's rule for mentions: not after a word character, a slash or an equals sign.
    mention = re.compile(r"(?<![=/a-zA-Z0-9_])@[a-zA-Z0-9_]")
    assert not mention.search(plain(title))


@given(st.text())
def test_plain_text_can_always_be_sent(title: str) -> None:
    made = plain(title)
    made.encode()
    assert made == " ".join(made.split())


def test_a_long_name_leaves_the_title_its_room() -> None:
    made = announcement(title="T", authors=("A" * 5000,), link=LINK)
    assert len(made) < 200


@pytest.mark.parametrize(
    ("tags", "expected"),
    [(("", "de-AT", "en"), "de"), (("fr", "de", "en"), "fr"), (("", "x-klingon!", ""), "")],
)
def test_the_language_is_the_options_then_the_posts_then_the_newsletters(
    tags: tuple[str, str, str], expected: str
) -> None:
    entry = Entry(guid="1", title="T", link=LINK, language=tags[1])
    made = letter(entries=(entry,), options={"language": tags[0]}, language=tags[2])
    assert CHANNEL.compose(made, recipient()).body.language == expected


class TestLinks:
    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            (" https://x.example/a b ", "https://x.example/a%20b"),
            ("https://x.example/a\nb<c>", "https://x.example/a%0Ab%3Cc%3E"),
            ("https://x.example/ü?q=1#f", "https://x.example/ü?q=1#f"),
            ("https://x.example/half-\ud800", "https://x.example/half-%3F"),
            ("\u200ehttps://x.example/a\u200f\u2069", "https://x.example/a"),
            ("https://x.example/\u202egnp.exe", "https://x.example/%E2%80%AEgnp.exe"),
            ("https://x.example/a\u200b\u061cb", "https://x.example/a%E2%80%8B%D8%9Cb"),
        ],
    )
    def test_a_link_is_one_word(self, link: str, expected: str) -> None:
        assert postable(link) == expected

    @pytest.mark.parametrize(
        ("link", "expected"),
        [
            ("https://x.example/p,@victim@m.example/more", "https://x.example/p,%40victim@m.example/more"),
            ("https://x.example/?a&@victim#-@victim", "https://x.example/?a&%40victim#-%40victim"),
            ("https://x.example/ü@victim", "https://x.example/ü%40victim"),
            ("https://x,@victim@m.example/a", "https://m.example/a"),
            ("https://name:secret@x.example/", "https://x.example/"),
            ("https://m.example/@ada/1", "https://m.example/@ada/1"),
            ("https://x.example/?by=@ada", "https://x.example/?by=@ada"),
        ],
    )
    def test_a_link_mentions_nobody(self, link: str, expected: str) -> None:
        assert postable(link) == expected
        assert holds(f'<a href="{expected}">x</a>', postable(link))

    @given(st.text(alphabet="@,;&=/?#.:aö_-", max_size=30))
    def test_no_link_mentions_anyone_by_mastodons_own_rule(self, rest: str) -> None:
        """Account::MENTION_RE, whose [:word:] is Ruby's: letters, digits and _ of all scripts."""
        for made in (postable(f"https://x.example/{rest}"), postable(f"https://{rest}x.example/")):
            assert not re.search(r"(?<![=/\w])@[a-z0-9_]", made, re.IGNORECASE)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("HTTPS://X.example", "https://x.example/"),
            ("https://x.example:443/a", "https://x.example/a"),
            ("https://x.example/ü", "https://x.example/%c3%bc"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://x.example/%7Eada", "https://x.example/~ada"),
        ],
    )
    def test_spellings_of_a_link_are_one(self, one: str, other: str) -> None:
        assert normalised(one) == normalised(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("https://x.example/a", "https://x.example/a/"),
            ("https://x.example/a", "http://x.example/a"),
            ("https://x.example/a%2Fb", "https://x.example/a/b"),
            ("https://x.example/?a=1", "https://x.example/?a=2"),
        ],
    )
    def test_different_links_stay_different(self, one: str, other: str) -> None:
        assert normalised(one) != normalised(other)

    def test_a_status_holds_its_link_by_href_or_by_text(self) -> None:
        assert holds(
            '<p>x <a class="u" href="https://x.example/?a=1&amp;b=2">…</a></p>', "https://x.example/?a=1&b=2"
        )
        assert holds("<p>New: <span>https://</span><span>x.example/(a)</span></p>", "https://x.example/(a)")
        assert not holds('<p><a href="https://x.example/other">x</a></p>', "https://x.example/")

    @given(st.text())
    def test_normalising_never_fails_and_is_stable(self, url: str) -> None:
        once = normalised(f"https://x.example/{url}")
        assert normalised(once) == once
        assert holds(f'<a href="{url}">', url) in (True, False)


def message(text: str, **fields: Any) -> Status:
    of = letter(html="", text=text, **fields)
    made: Status = CHANNEL.composer(of)(recipient()).body
    return made


def status(text: str, **fields: Any) -> str:
    return fit_parts(message(text, **fields).parts, FITS)


def test_lines_stay_and_the_link_stands_where_it_was_put() -> None:
    assert status(f"New:\n\n{LINK}\n#bees") == f"New:\n\n{LINK}\n#bees"


def test_a_text_without_the_link_gets_it_at_the_end() -> None:
    assert status("New today") == f"New today {LINK}"


def test_nobody_is_mentioned() -> None:
    assert "@ada" not in status(f"Thanks to @ada {LINK}")


def test_what_is_too_long_is_cut_outside_the_link() -> None:
    text = status(f"{'before ' * 100}{LINK} {'after ' * 100}")
    assert LINK in text
    assert FITS(text)


@given(st.text(max_size=2000), st.text(max_size=2000))
def test_it_fits_and_the_link_is_whole(before: str, after: str) -> None:
    assert LINK in status(f"x {before} {LINK} {after}")


def test_a_letter_with_html_has_the_usual_words() -> None:
    made = CHANNEL.compose(letter("T", html="<p>x</p>", text="x"), recipient())
    assert fit_parts(made.body.parts, FITS) == f"[bees] New Post: T, by Ada {LINK}"


def test_a_digest_and_a_letter_whose_texts_were_forgotten_have_the_usual_words() -> None:
    assert status("", title="T").startswith("[bees] New Post: T")
    assert status("Mine", title="All posts", is_digest=True, web_url=LINK).startswith("[bees] All posts")


def made(options: dict[str, str], *entries: Entry, **fields: Any) -> Status:
    of = letter(entries=entries, options=options, **fields)
    status: Status = CHANNEL.composer(of)(recipient()).body
    return status


def is_taken(text: str, message: Status) -> bool:
    return fits_status(LIMITS, warning=message.spoiler)(text) and not MENTION.search(text)


@given(WORDS, WORDS, st.lists(WORDS, max_size=5), WORDS, OPTIONS)
def test_a_post_fits_with_its_link(
    title: str, summary: str, categories: list[str], author: str, options: dict[str, str]
) -> None:
    entry = Entry(
        guid="1", title=title, link=LINK, summary=summary, categories=tuple(categories), authors=(author,)
    )
    message = made({key: value for key, value in options.items() if "posts" not in value}, entry)
    [text] = message.texts(LIMITS)
    assert is_taken(text, message)
    assert LINK in text


@given(st.lists(WORDS, max_size=12), WORDS, OPTIONS)
def test_a_digest_fits_with_the_link_to_all(titles: list[str], title: str, options: dict[str, str]) -> None:
    options.pop("template", None)
    entries = [Entry(guid=str(n), title=said, link=f"https://x.example/{n}") for n, said in enumerate(titles)]
    message = made(options, *entries, title=title, is_digest=True, web_url=LINK)
    texts = message.texts(LIMITS)
    assert all(is_taken(text, message) for text in texts)
    assert LINK in texts[0]
    if options.get("thread"):
        assert sum(text.count("https://x.example/") for text in texts) == len(titles)


class TestExtras:
    ENTRY = Entry(
        guid="1",
        title="T",
        link=LINK,
        authors=("Ada",),
        summary="All of it.",
        categories=("Bees", "urban life"),
    )

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, ""),
            ({"hashtags": "on"}, "\n\n#Bees #UrbanLife"),
            ({"summary": "on"}, "\n\nAll of it."),
            ({"summary": "on", "hashtags": "on"}, "\n\nAll of it.\n\n#Bees #UrbanLife"),
            ({"summary": "on", "template": "{title} {link}"}, None),
        ],
    )
    def test_they_follow_the_usual_words(self, options: dict[str, str], expected: str | None) -> None:
        [text] = made(options, self.ENTRY).texts(LIMITS)
        usual = f"[bees] New Post: T, by Ada {LINK}"
        assert text == (f"T {LINK}" if expected is None else f"{usual}{expected}")

    def test_a_long_summary_leaves_room_for_hashtags(self) -> None:
        entry = Entry(guid="1", title="T", link=LINK, summary="many words " * 90, categories=("Bees",))
        [text] = made({"summary": "on", "hashtags": "on"}, entry).texts(LIMITS)
        assert text.endswith("…\n\n#Bees")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", 3),
        (FAMILY * 2, 2),
        (LONG_LINK, 23),
        ("http://a.io", 23),
        ("@ada@host.example hi", 7),
        ("@ada hi", 7),
    ],
)
def test_graphemes_links_and_mentions_have_their_prices(text: str, expected: int) -> None:
    assert status_length(text, 23) == expected


@pytest.mark.parametrize(
    "link",
    [
        "https://wiki.intranet/a/page/with/a/longer/address",
        "https://blog.example.org#a-long-fragment-right-after-the-host",
        "https://blog.example.org/a/page_(disambiguation",
        "https://blog.example.org/a/page/that/ends/with/an/equals=",
        "https://müller.example/a/page/of/a/host/with/an/umlaut",
    ],
)
def test_what_an_instance_may_take_in_part_costs_a_link_and_all_its_characters(link: str) -> None:
    assert status_length(link, 23) == 23 + len(link)


@example("https://a.co.uk/https://blog.example/ https://b.com/)https://b.com/)https://b.com/", 30)
@given(LINKED_WORDS, st.sampled_from([17, 23, 30]))
def test_no_instance_counts_more_than_we_do(text: str, per_url: int) -> None:
    assert graphemes(_INSTANCE_LINK.sub("x" * per_url, text)) <= status_length(text, per_url)


def test_a_link_in_the_warning_counts_in_full() -> None:
    assert not fits_status(StatusLimits(100), warning=LONG_LINK)("x" * 20)
    assert fits_status(StatusLimits(100), warning=LONG_LINK)("x" * (100 - len(LONG_LINK)))


def test_a_huge_title_takes_no_long_time() -> None:
    zalgo, begun = "a" + "\u0301" * 500_000, time.process_time()
    fits = fits_status(StatusLimits())
    made = fit_parts([FittingPart(zalgo, cuttable=True), FittingPart("b" * 1_000_000, cuttable=True)], fits)
    assert fits(made)
    assert time.process_time() - begun < 5
