"""Discord messages of any post are within the limits, and mention nobody."""

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import LinkCard, Looks
from channels.discord.bot import DiscordBotBridge
from channels.discord.bridge import DiscordBridge
from channels.discord.message import CONTENT_LIMIT, Post
from channels.letter import Letter
from feeds.parsing.entry import Entry, Media
from tests.channels.discord.letters import bots_message
from tests.contracts.bridge import LINK, MARKUP, entry, letter
from tests.contracts.channel import NOW
from tests.servers.services.discord import Discord, is_plain

ROLE = "1400000000000000004"
HOSTILE = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="\\*_~|>[]()#-<:`@everyonhttps/. \n", max_size=3_000),
    st.just(MARKUP),
)
LINKS = st.text(alphabet="abz/?=&()[]<>@.,_*~|:%-\"' ü🦄", max_size=60).map(
    lambda end: f"https://e.example/{end}x"
)
AGE = f"<t:{int(NOW.timestamp())}:R>"
PICTURE = Media("https://blog.example/a.png", "image/png")
END = " The post \x1a appeared first on Bee Blog."
CARD = LinkCard(title="B_es", text="They do.", source="Bees", above="Ada", picture_below=True)


def body_of(of: Letter | None = None, **options: Any) -> Post:
    return bots_message(of, **options).body


def cards(body: Post) -> dict[str, Any]:
    [card] = body.full["embeds"]
    return dict(card)


def digest(count: int, title: str = "T") -> Letter:
    entries = tuple(entry(f"{title}{n}", link=f"https://blog.example/{n}") for n in range(count))
    return letter("T0, and more", entries=entries, is_digest=True, web_url="https://l.example/7/")


def is_taken(body: Any) -> bool:
    """Return whether the fake would accept it, without a request."""
    return Discord._refusal(UNSTARTED, dict(body)) is None


UNSTARTED = Discord.__new__(Discord)
UNSTARTED.takes_no_cards = False


@given(
    title=HOSTILE,
    author=HOSTILE,
    summary=HOSTILE,
    link=LINKS,
    style=st.sampled_from(["", "compact", "text", "link"]),
    template=st.sampled_from(
        ["", "{title}{link}{summary}", "x{link}.", "{authors}\n{hashtags} {title|None}"]
    ),
    role=st.sampled_from(["", ROLE]),
)
def test_any_post_is_within_the_limits_and_stays_words(
    title: str, author: str, summary: str, link: str, style: str, template: str, role: str
) -> None:
    post = entry(title, link=link, authors=(author,), summary=summary, categories=(title[:50],))
    given = {"style": style, "template": template, "role": role}
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    made = body_of(letter(entries=(post,)), **options)
    for body, bare in ((made.full, style in ("text", "link")), (made.plain, False)):
        assert is_taken(body)
        assert body["allowed_mentions"] == {"parse": [], **({"roles": [ROLE]} if role else {})}
        words = body["content"].removeprefix(f"<@&{ROLE}>").strip() if role else body["content"]
        assert is_plain(words, bare=bare)
        for card in body["embeds"]:
            assert all(is_plain(card.get(name, "")) for name in ("title", "description"))


@given(link=LINKS, style=st.sampled_from(["", "compact", "text"]))
def test_the_link_is_whole(link: str, style: str) -> None:
    made = body_of(letter(entries=(entry(link=link),)), style=style)
    content, embeds = made.full["content"], made.full["embeds"]
    if style == "text":
        [found] = re.findall(r"https?://[^\s<]+[^<.,:;\"'\]\s]", content)
        assert not re.search(r"[.,:;\"'\])]$", found)
    elif style == "compact":
        [found] = re.findall(r"\(<(\S+)>\)", content)
    else:
        found = embeds[0]["url"]
    assert found.endswith("x")
    assert made.plain["content"].endswith(">")


def test_a_card_shows_the_post() -> None:
    picture = Media("https://blog.example/a.png", "image/png")
    post = entry("Bees *hum*", summary="They do.", media=(picture,))
    assert cards(body_of(letter(entries=(post,), at=NOW + timedelta(hours=1)))) == {
        "title": r"Bees \*hum\*",
        "url": LINK,
        "description": "They do.",
        "timestamp": "2026-03-04T06:06:07+00:00",
        "author": {"name": "Ada"},
        "footer": {"text": "Bees"},
        "image": {"url": "https://blog.example/a.png"},
    }


def test_a_template_stands_above_the_card_and_its_link_has_no_preview() -> None:
    made = body_of(letter("Bees"), template="Read {title}: {link}")
    assert made.full["content"] == rf"Read Bees\: <{LINK}>"
    assert cards(made)["url"] == LINK


def test_own_words_stand_above_the_card() -> None:
    made = body_of(letter("Bees", text=f"Mine: {LINK} @everyone"))
    assert made.full["content"] == f"Mine\\: <{LINK}> @\u200beveryone"


def in_brief(post: Entry, **options: Any) -> str:
    content = body_of(letter(entries=(post,)), style="compact", **options).full["content"]
    return str(content).partition("\n")[2]


def test_in_brief_it_has_newsletter_title_and_age_and_a_quotation_beneath() -> None:
    post = entry("Queens", summary="They *rule*.", published=NOW)
    made = body_of(letter("Queens", entries=(post,)), style="compact")
    first, second = made.full["content"].splitlines()
    assert first == f"**Bees** · [Queens](<{LINK}>) · {AGE}"
    assert second == r"> They \*rule\*."
    assert made.full["flags"] == 4


def test_in_brief_a_quotation_has_three_hundred_letters() -> None:
    assert 280 < len(in_brief(entry(summary="word " * 100)).removeprefix("> ")) <= 300


def test_in_brief_a_picture_stands_where_there_are_few_words() -> None:
    post = entry(summary="A bee.", media=(PICTURE,))
    assert in_brief(post) == PICTURE.url
    assert "flags" not in body_of(letter(entries=(post,)), style="compact").full
    assert in_brief(post, image="none") == "> A bee."
    assert in_brief(entry(summary="a bee " * 20, media=(PICTURE,))).startswith("> a bee")


def test_in_brief_a_summary_that_is_the_title_is_not_repeated() -> None:
    assert in_brief(entry("Bees", summary="Bees")) == ""


@pytest.mark.parametrize(
    ("options", "is_left_out"), [({"style": "compact"}, True), ({}, False), ({"trim": "on"}, True)]
)
def test_what_all_posts_say_is_left_out(options: dict[str, Any], is_left_out: bool) -> None:
    post = entry("Queens", summary=f"They rule.{END.replace(chr(26), 'Queens')}", boilerplate=("", END))
    made = body_of(letter("Queens", entries=(post,)), **options)
    shown = made.full["content"] or cards(made)["description"]
    assert ("appeared first" in shown) != is_left_out
    assert "They rule." in shown


def test_a_link_alone_has_a_preview() -> None:
    made = body_of(style="link", role=ROLE)
    assert made.full["content"] == f"<@&{ROLE}> {LINK}"
    assert "flags" not in made.full


def test_a_card_looks_as_it_was_chosen() -> None:
    post = entry(media=(PICTURE,))
    options: dict[str, Any] = {"colour": "#f5a623", "image": "small", "author": "off", "footer": "Our bees"}
    card = cards(body_of(letter(entries=(post,)), **options))
    assert card["color"] == 0xF5A623
    assert card["thumbnail"] == {"url": PICTURE.url}
    assert card["footer"] == {"text": "Our bees"}
    assert not card.keys() & {"author", "image"}
    bare = cards(body_of(letter(entries=(post,)), image="none", footer="-", colour="#000000"))
    assert not bare.keys() & {"footer", "image", "thumbnail"}
    assert bare["color"] == 1


@pytest.mark.parametrize(
    ("words", "is_called"), [("queen", False), ("queens", True), ("bee*", True), ('"they rule"', True)]
)
def test_a_role_is_called_by_posts_with_its_words(words: str, is_called: bool) -> None:
    post = entry("On Queens", summary="They rule.", categories=("beekeepers",))
    made = body_of(letter(entries=(post,)), role=ROLE, role_words=words)
    for body in (made.full, made.plain):
        assert body["content"].startswith(f"<@&{ROLE}>") == is_called
        assert ("roles" in body["allowed_mentions"]) == is_called


def test_a_text_has_the_usual_words_and_a_preview() -> None:
    assert body_of(letter("T"), style="text").full["content"] == rf"\[bees\] New Post\: T, by Ada {LINK}"


def test_a_call_that_begins_in_the_template_is_broken() -> None:
    assert "@everyone" not in body_of(letter("everyone"), template="@{title}").full["content"]


def test_a_role_is_called_only_by_the_admin() -> None:
    made = body_of(letter(f"<@&{ROLE}> T"), role=ROLE)
    assert made.full["content"] == f"<@&{ROLE}>"
    assert made.full["allowed_mentions"] == {"parse": [], "roles": [ROLE]}


def test_silence_is_asked_for() -> None:
    assert body_of(silent="on").full["flags"] == 4096
    assert body_of(silent="on", style="compact").full["flags"] == 4096 | 4


def test_a_digest_lists_its_posts_with_links() -> None:
    first = cards(body_of(digest(2)))["description"].splitlines()
    assert first == [f"• [T{n}](<https://blog.example/{n}>)" for n in range(2)]
    assert body_of(digest(2), style="compact").full["content"].splitlines()[1:] == first


@pytest.mark.parametrize("style", ["", "compact"])
def test_a_long_digest_says_how_many_more_there_are(style: str) -> None:
    made = body_of(digest(50, "*" * 250), style=style)
    shown = made.full["content"] or cards(made)["description"]
    listed = [line for line in shown.splitlines() if line.startswith("• ")]
    assert shown.endswith(f"… [and {50 - len(listed)} more](<https://l.example/7/>)")
    assert 0 < len(listed) <= 10
    assert is_taken(made.full)


def test_an_untitled_post_has_a_card_with_words() -> None:
    assert cards(body_of(letter("")))["title"] == "New Untitled Post"


def test_a_picture_with_an_endless_address_is_left_out() -> None:
    picture = Media("https://blog.example/" + "a" * 3_000, "image/png")
    assert "image" not in cards(body_of(letter(entries=(entry(media=(picture,)),))))


@pytest.mark.parametrize("style", ["", "compact", "text"])
def test_a_link_that_is_too_long_is_said(style: str) -> None:
    made = bots_message(letter(entries=(entry(link="https://e.example/" + "x" * 2_100),)), style=style)
    assert "link" in made.refusal


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "Bees *hum*"),
        ({"thread_name": "{newsletter}: {title}"}, "Bees: Bees *hum*"),
        ({"thread_name": "{summary}"}, "New Untitled Post"),
        ({"thread_name": "x" * 300}, "x" * 99 + "…"),
    ],
)
def test_a_thread_has_a_plain_name(options: dict[str, Any], name: str) -> None:
    assert body_of(letter("Bees *hum*"), **options).thread_name == name


def test_a_plain_message_leaves_room() -> None:
    made = body_of(letter("Wörter " * 1_000))
    assert len(made.plain["content"]) <= CONTENT_LIMIT * 0.9
    assert made.plain["embeds"] == []


@pytest.mark.parametrize(
    ("options", "text", "length", "card"),
    [
        ({}, "", 0, CARD),
        ({"template": "New: {title} {link}"}, f"New: B_es {LINK}", 53, CARD),
        ({"style": "compact"}, "Bees · B_es · 2026-03-04\nThey do.", 91, None),
    ],
)
def test_it_is_shown_beforehand_without_markup(
    options: dict[str, Any], text: str, length: int, card: LinkCard | None
) -> None:
    made = bots_message(letter(entries=(entry("B_es", summary="They do.", published=NOW),)), **options)
    looks = DiscordBotBridge().preview(made)
    assert looks == Looks(text, length, 2_000 if length else 0, card=card)


def test_beforehand_it_is_said_that_nothing_is_posted() -> None:
    looks = DiscordBridge().preview(bots_message(letter("", entries=(entry("", link=""),))))
    assert "neither a link nor text" in looks.refusal
