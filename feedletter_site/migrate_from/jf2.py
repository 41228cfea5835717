"""JF2 of another program’s post, as ours (https://jf2.spec.indieweb.org)."""

from collections.abc import Iterator, Mapping
from typing import Any

from common.formats.written_dates import parsed_moment
from common.html.titles import plain_title
from common.text import shortened
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Media, Person, Social
from feeds.parsing.fields import MAX_CONTENT, MAX_ENTRY_TITLE
from feeds.parsing.media import MAX_MEDIA, absolute, distinct
from feeds.parsing.people import author_names, listed
from feeds.parsing.posts import paragraphs
from migrate_from.records import text_at

RELATIONS = {
    "likeOf": "like-of",
    "repostOf": "repost-of",
    "bookmarkOf": "bookmark-of",
    "inReplyTo": "in-reply-to",
}


def post_of(document: Mapping[str, Any], guid: str) -> Post:
    link = absolute(text_at(document, "url").strip(), "")
    content = document.get("content")
    html, text = (
        (text_at(content, "html"), text_at(content, "text"))
        if isinstance(content, dict)
        else ("", _flat(content))
    )
    person = author_of(document, link)
    pictures = [
        Media(url, kind, alt=shortened(plain_title(alt), 1_000))
        for name, kind in (("photo", "image"), ("video", "video"), ("audio", "audio"))
        for url, alt in _files(document.get(name), link)
    ]
    relations = tuple(
        (ours, url)
        for theirs, ours in RELATIONS.items()
        for url in (absolute(text, link) for text in _texts(document.get(theirs)))
        if url
    )
    summary = text_at(document, "summary")[:MAX_CONTENT]
    return Post(
        guid=guid,
        title=shortened(plain_title(text_at(document, "name")), MAX_ENTRY_TITLE),
        link=link,
        content=html[:MAX_CONTENT] or paragraphs(text[:MAX_CONTENT]),
        summary=paragraphs(summary),
        published=parsed_moment(document.get("published")),
        updated=parsed_moment(document.get("updated")),
        categories=listed(_texts(document.get("category"))),
        media=distinct(pictures),
        social=Social(people=(person,) if person.name or person.url else (), relations=relations),
    )


def author_of(document: Mapping[str, Any], base: str = "") -> Person:
    value = document.get("author")
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        value = {"url": value} if value.startswith(("http://", "https://")) else {"name": value}
    if not isinstance(value, dict):
        return Person()
    name = plain_title(text_at(value, "name"), is_html=True)
    names = author_names([name]) if name else ()
    url = absolute(text_at(value, "url"), base)
    return Person(names[0] if names else "", url, absolute(text_at(value, "photo"), base))


def _files(value: Any, base: str) -> Iterator[tuple[str, str]]:
    for one in (value if isinstance(value, list) else [value])[:MAX_MEDIA]:
        given = one if isinstance(one, dict) else {"url": one}
        url = absolute(text_at(given, "url") or text_at(given, "value"), base)
        if url:
            yield url, text_at(given, "alt")


def _texts(value: Any, most: int = 50) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in map(_flat, values[:most]) if text]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("url") or value.get("value")
    return value[:MAX_CONTENT] if isinstance(value, str) else ""
