"""An issue as an object: a Note if it is short, else an Article."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.activitypub.channel import ActivityPubChannel
from channels.activitypub.message import LONGEST_CONTENT, PUBLIC, deletion_of, issue_object
from channels.base import CannotPost
from channels.letter import Letter, Recipient
from feeds.parsing.entry import Entry, Media

PAGE = "https://letters.example/s/bees/"
AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
LONG = "<p>" + "Bees dance. " * 60 + "</p>"


def letter(*entries: Entry, **changes: Any) -> Letter:
    facts: dict[str, Any] = {
        "kind": "issue",
        "newsletter": "bees",
        "newsletter_title": "Bees",
        "title": "Bees",
        "subject": "",
        "html": "<p>mail</p>",
        "text": "A letter.\n\nIts end.",
        "token": "t",
        "from_email": "",
        "language": "en",
        "entries": entries,
        "web_url": f"{PAGE}archive/7/",
        "page_url": PAGE,
        "at": AT,
    }
    return Letter(**facts | changes)


def post(content: str = "<p>Short.</p>", **changes: Any) -> Entry:
    return Entry(guid="1", title="Swarms", link="https://blog.example/1", content=content, **changes)


def fields(*entries: Entry, **changes: Any) -> Any:
    return issue_object(letter(*entries, **changes)).fields


def test_a_short_post_is_a_note_with_its_words_pictures_and_tags() -> None:
    picture = Media(url="https://blog.example/b.jpg", type="image/jpeg", alt="A bee")
    content = '<p>They <b>swarm</b>.</p><figure><img src="https://blog.example/b.jpg" alt="A bee"></figure>'
    made = fields(post(content, media=(picture,), categories=("Honey bees",), language="de"))
    assert made == {
        "id": f"{PAGE}archive/7/object",
        "type": "Note",
        "attributedTo": f"{PAGE}actor",
        "to": [PUBLIC],
        "cc": [f"{PAGE}followers"],
        "published": "2026-03-02T12:00:00Z",
        "url": f"{PAGE}archive/7/",
        "content": made["content"],
        "contentMap": {"de": made["content"]},
        "attachment": [
            {"type": "Image", "url": "https://blog.example/b.jpg", "name": "A bee", "mediaType": "image/jpeg"}
        ],
        "tag": [{"type": "Hashtag", "name": "#HoneyBees", "href": PAGE}],
    }
    assert made["content"] == (
        "<p><strong>Swarms</strong></p><p>They <b>swarm</b>.</p>"
        '<p><a href="https://blog.example/1">https://blog.example/1</a></p>'
    )


def test_a_long_post_is_an_article_with_title_and_summary() -> None:
    made = fields(post(LONG, summary="On <i>dances</i> & more."))
    assert (made["type"], made["name"], made["summary"]) == ("Article", "Swarms", "On dances &amp; more.")
    assert "Bees dance." in made["content"]


def test_a_digest_is_one_article() -> None:
    made = fields(post(), post("<p>Second.</p>"), is_digest=True)
    assert (made["type"], made["name"]) == ("Article", "Bees")
    assert made["content"].count('<h2><a href="https://blog.example/1">Swarms</a></h2>') == 2


def test_an_email_of_an_editor_has_its_text() -> None:
    assert fields(is_digest=True)["content"] == "<p>A letter.</p><p>Its end.</p>"


def test_a_warning_hides_a_note_and_its_pictures() -> None:
    media = (Media(url="https://blog.example/b.jpg", type="image/jpeg"),)
    made = fields(post(warning="Spiders", media=media, sensitive=True))
    assert (made["summary"], made["sensitive"], len(made["attachment"])) == ("Spiders", True, 1)


def test_without_a_page_there_is_nothing_to_follow() -> None:
    for missing in ({"web_url": ""}, {"page_url": ""}):
        with pytest.raises(CannotPost):
            issue_object(letter(post(), **missing))
    channel = ActivityPubChannel()
    message = channel.compose(letter(post(), web_url=""), Recipient(1, "", ""))
    assert channel.preview(message).refusal


@given(st.lists(st.text(max_size=3_000).map(lambda text: f"<p>{text}</p>" * 30), max_size=5), st.booleans())
def test_content_is_bounded_and_clean(texts: list[str], is_digest: bool) -> None:
    content = fields(*map(post, texts or [""]), is_digest=is_digest)["content"]
    assert len(content) <= LONGEST_CONTENT
    assert "<script" not in content.lower()


def test_a_deletion_needs_only_the_address() -> None:
    made = deletion_of(f"{PAGE}archive/7/object")
    assert (made["actor"], made["object"]["type"]) == (f"{PAGE}actor", "Tombstone")
