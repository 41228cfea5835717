"""An instance accepts the status of any post: by its own count, without mentions."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.http.links import StatusLimits, fits_status
from channels.mastodon.message import Status
from feeds.parsing.entry import Entry
from tests.channels.mastodon.letters import CHANNEL, letter, recipient
from tests.contracts.bridge import LINK

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
