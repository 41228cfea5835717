"""JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeGuard

from common.formats.written_dates import parsed_moment, slack_of
from common.html.clean import bounded
from common.html.titles import decoded_again
from common.text import one_line, shortened, without_controls
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError, Person, Social
from feeds.parsing.fields import MAX_CONTENT, MAX_DESCRIPTION, MAX_ENTRY_TITLE, identity, is_empty, language
from feeds.parsing.hints import announced, unknown_policy
from feeds.parsing.media import MAX_ALT, Rendition, absolute, length_of, medium, one_of_each
from feeds.parsing.people import MAX_LISTED, author_names, listed
from feeds.parsing.posts import PostReader, counted_posts, hub_addresses, markup, paragraphs, read_posts

Json = Mapping[str, Any]

VERSION_PREFIX = "jsonfeed.org/version/"
NOT_JSON = (
    "The JSON at this address breaks off or is not well-formed, so nothing can be read. Ask its publisher to"
    " check it with a JSON validator."
)
NO_JSON_FEED = (
    "This address answers JSON that is no JSON Feed: it has no version and no items with content. Use the"
    " address of the site's feed; it is often called RSS, Atom or feed.json."
)
TRAILING = "There is something after the end of the feed; it was passed over."
UNNAMED = "The feed does not say which version of JSON Feed it is; it was read all the same."
BAD_BYTES = "The feed is not in UTF-8, as JSON has to be; some characters may be wrong."
EXPIRED = "The feed says that it has ended: there will be no more posts."
ACTIVITYSTREAMS = "www.w3.org/ns/activitystreams"
ACTORS = frozenset({"Person", "Service", "Group", "Organization", "Application"})
MAX_PROFILE_SHOWN = 200
MESSAGE = (
    "This address answers ActivityPub JSON ({}), which is no feed. Use the address of the profile's RSS feed:"
    " on Mastodon it is the profile's address with “.rss” at its end, for example {}."
)


class Number(str):
    __slots__ = ()


def read_json_feed(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    document, warnings = _loaded(body)
    if is_activitypub(document):
        raise ParseError(activitypub_refusal(document))
    if not isinstance(document, dict):
        raise ParseError(NO_JSON_FEED)
    items = [item for item in _list(document, "items") if isinstance(item, dict)]
    if VERSION_PREFIX not in _text(document, "version"):
        if not any("content_html" in item or "content_text" in item for item in items):
            raise ParseError(NO_JSON_FEED)
        warnings.append(UNNAMED)
    if document.get("expired") is True:
        warnings.append(EXPIRED)
    if strange := len(_list(document, "items")) - len(items):
        warnings.append(
            f"{counted_posts(strange)} could not be read, being no JSON object{'s' * (strange > 1)}."
        )
    site = absolute(_text(document, "home_page_url"), url)
    tongue = language(_text(document, "language"))
    owners = Social(people=_people(document, site or url))
    shared = Entry("", authors=author_names(_authors(document)), language=tongue, social=owners)
    posts = read_posts(items, JsonReader(site or url, shared), limit=limit)
    policies = (announced(_hints(item))[1] for item in items if "_iffy" in item)
    hubs = [hub for hub in _list(document, "hubs") if isinstance(hub, dict)]
    return replace(
        posts,
        title=_line(document, "title", MAX_ENTRY_TITLE),
        link=site,
        description=_line(document, "description", MAX_DESCRIPTION),
        language=tongue,
        warnings=(*warnings, *posts.warnings, *unknown_policy(policies)),
        channel=Channel(
            hubs=hub_addresses(
                (hub.get("url") for hub in hubs if _text(hub, "type").lower() == "websub"), url
            ),
            topic=absolute(_text(document, "feed_url"), url),
            image=absolute(_text(document, "icon"), url) or absolute(_text(document, "favicon"), url),
        ),
    )


def _loaded(body: bytes) -> tuple[Any, list[str]]:
    """Accept UTF-16 and UTF-32 beyond RFC 8259 §8.1."""
    warnings = []
    encoding = json.detect_encoding(body)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        text = body.decode("cp1252" if encoding.startswith("utf-8") else encoding, "replace")
        warnings.append(BAD_BYTES)
    text = text.lstrip("\ufeff").lstrip()
    decoder = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)
    try:
        document, end = decoder.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(NOT_JSON) from error
    if text[end:].strip("\0 \t\r\n"):
        warnings.append(TRAILING)
    return document, warnings


@dataclass(frozen=True, slots=True)
class JsonReader(PostReader[Json]):
    base: str
    shared: Entry

    def guid(self, post: Json) -> str:
        link = _text(post, "url") or _text(post, "external_url")
        date = _text(post, "date_published") or _text(post, "date_modified")
        return identity(
            {"id": _number(post, "id"), "link": link, "title": _text(post, "title"), "published": date}
        )

    def words(self, post: Json) -> str:
        keys = ("title", "content_html", "content_text", "url", "external_url")
        return next(filter(None, (_text(post, key).strip() for key in keys)), "")

    def date(self, post: Json) -> datetime | None:
        return parsed_moment(post.get("date_published")) or parsed_moment(post.get("date_modified"))

    def entry(self, post: Json, guid: str) -> Entry:
        published, updated = (parsed_moment(post.get(key)) for key in ("date_published", "date_modified"))
        image = absolute(_text(post, "image"), self.base) or absolute(_text(post, "banner_image"), self.base)
        # §Attachments: equal titles mark one thing.
        files = one_of_each(
            Rendition(one, group="" if one.is_image else one.alt)
            for one in map(self._file, _list(post, "attachments"))
        )
        media = tuple(one.medium for one in files)
        # The page that it is about comes second.
        links = (absolute(_text(post, key), self.base) for key in ("url", "external_url"))
        id_ = _text(post, "id")
        own = absolute(id_, "") if id_.startswith(("http://", "https://")) else ""
        content = markup(_html(post, "content_html"), is_guess=False)
        return Entry(
            guid=guid,
            title=_line(post, "title", MAX_ENTRY_TITLE),
            link=next(filter(None, links), own),
            authors=author_names(_authors(post)) or self.shared.authors,
            content=paragraphs(_html(post, "content_text")) if is_empty(content) else content,
            summary=paragraphs(_html(post, "summary")),
            published=published or updated,
            updated=updated,
            categories=listed(tag for tag in _list(post, "tags") if _is_text(tag)),
            media=media,
            language=language(_text(post, "language")) or self.shared.language,
            image=image or next((one.url for one in media if one.is_image), ""),
            announce=announced(_hints(post))[0],
            slack=slack_of(_text(post, "date_published" if published else "date_modified")),
            social=Social(people=_people(post, self.base) or self.shared.social.people),
        )

    def _file(self, attachment: object) -> Media:
        if not isinstance(attachment, dict):
            return Media("")
        return medium(
            absolute(_text(attachment, "url"), self.base),
            _text(attachment, "mime_type"),
            length=length_of(_number(attachment, "size_in_bytes")),
            alt=shortened(one_line(_text(attachment, "title")), MAX_ALT),
        )


def _line(item: Json, key: str, limit: int) -> str:
    return shortened(decoded_again(one_line(_text(item, key)[: 10 * limit])), limit)


def _html(item: Json, key: str) -> str:
    return bounded(without_controls(_text(item, key)), MAX_CONTENT).strip()


def _said_authors(item: Json) -> list[Any]:
    """1.1 has a list, 1.0 one; some are names."""
    authors = item.get("authors") or item.get("author")
    return authors if isinstance(authors, list) else [authors]


def _people(item: Json, base: str) -> tuple[Person, ...]:
    people = (
        Person(
            ", ".join(author_names([_text(author, "name")])),
            absolute(_text(author, "url"), base),
            absolute(_text(author, "avatar"), base),
        )
        for author in _said_authors(item)[:MAX_LISTED]
        if isinstance(author, dict)
    )
    return tuple(person for person in people if person != Person())


def _authors(item: Json) -> Iterator[str]:
    for author in _said_authors(item):
        if isinstance(author, dict):
            yield _text(author, "name") or _text(author, "url")
        elif _is_text(author):
            yield author


def _hints(item: Json) -> Iterator[str]:
    """{"_iffy": {"hint_announce": {"policy": …, "restriction": …}}}"""
    extension = item.get("_iffy")
    hints = extension.get("hint_announce") if isinstance(extension, dict) else None
    for hint in hints if isinstance(hints, list) else [hints]:
        if isinstance(hint, dict) and "restriction" not in hint:
            yield _text(hint, "policy")


def _text(values: Json, key: str) -> str:
    value = values.get(key)
    return value if _is_text(value) else ""


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not isinstance(value, Number)


def _number(values: Json, key: str) -> str:
    """§Items allows numbers as id."""
    value = values.get(key)
    return str(value) if isinstance(value, str) else ""


def _list(values: Json, key: str) -> list[Any]:
    value = values.get(key)
    return value if isinstance(value, list) else []


def is_activitypub(document: Any) -> bool:
    """W3C ActivityPub §3."""
    context = document.get("@context") if isinstance(document, dict) else None
    return any(
        isinstance(one, str) and ACTIVITYSTREAMS in one
        for one in (context if isinstance(context, list) else [context])
    )


def activitypub_refusal(document: Mapping[str, Any]) -> str:
    is_actor = document.get("type") in ACTORS if isinstance(document.get("type"), str) else False
    url = document.get("url")
    first = url[0] if isinstance(url, list) and url else url
    href = first.get("href") if isinstance(first, dict) else first
    address = shortened(href, 2 * MAX_PROFILE_SHOWN) if isinstance(href, str) else ""
    profile = absolute(address, "") if is_actor else ""
    shown = (
        f"{profile}.rss"
        if profile and len(profile) <= MAX_PROFILE_SHOWN
        else "https://mastodon.example/@ada.rss"
    )
    return MESSAGE.format("a profile, called an actor" if is_actor else "an object, such as a post", shown)
