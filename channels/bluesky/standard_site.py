"""Records of site.standard: a newsletter as a publication, its issues as documents.

See https://standard.site/docs/. The limits are the smallest of several versions of the lexicons.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from channels.announcement import EPOCH, Announcement, announcement_of
from channels.base import CannotPost, CrashPolicy, LaneDefaults, Looks, Message, Outcome, Sent
from channels.bluesky.bridge import BlueskyBridge, BlueskySession, did, record_key
from channels.bluesky.client import BlueskyClient
from channels.bluesky.message import Record, timestamp
from channels.bridge import Companion
from channels.http.client import ApiClient, first_accepted
from channels.http.links import octets
from channels.http.session import EditingSession
from channels.letter import Letter
from common.html.plain_text import to_text
from common.ports.channels import Field, ParsedDestination
from common.truncation import cut_to, plain_line

PUBLICATION, DOCUMENT = "site.standard.publication", "site.standard.document"
LONGEST_TITLE = 500
LONGEST_DESCRIPTION = 3_000
LONGEST_ABOUT = 300
LONGEST_TAG, MOST_TAG_OCTETS = 50, 100
# Of its JSON: servers accept requests of 150 KiB.
LONGEST_TEXT = 100_000
# An edit changes neither these, nor fields that only others write.
KEPT = ("site", "coverImage", "bskyPostRef")
NO_PAGE = "Only issues that have a public page become records."


@dataclass(frozen=True, slots=True)
class Document:
    """Records of a newsletter and its issue, which don't depend on the time of an edit."""

    at: datetime
    publication: Record
    record: Record
    page: str
    picture: str = ""


class StandardSiteChannel(EditingSession, BlueskySession, Companion):
    """Destinations are accounts that a Bluesky bridge connects, whose app password it uses."""

    key = "standard_site"
    label = "Standard.site"
    sentence = "Writes each issue to an account of the AT Protocol, for its reading apps."
    borrows = BlueskyBridge.key
    # A repetition has the same record key.
    crash_policy = CrashPolicy.RESEND
    # A record costs three of 5,000 points an hour.
    lane = LaneDefaults(spacing_seconds=5.0)
    destination_fields: tuple[Field, ...] = (
        Field("did", "Account (DID)", "That of a Bluesky bridge.", required=True, clean=did),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        return ParsedDestination(core=given["did"], label=given["did"])

    @property
    def has_credentials(self) -> bool:
        return "app_password" in self.credentials

    def api(self, to: Any, now: datetime, **attempt: Any) -> ApiClient:
        password = {"app_password": self.credentials["app_password"]}
        return super().api(Message(None, self.credentials, password), now, **attempt)

    def hidden(self, to: Any) -> list[str]:
        return list(to.secrets.values())

    def written(self, letter: Letter) -> Document:
        return document_of(letter)

    def looks(self, message: Message[Document]) -> Looks:
        record = message.body.record
        return Looks(record.get("description", ""), title=record["title"])

    def post(self, api: ApiClient, body: Document) -> Outcome:
        """Write both records. The publication is a change only if its newsletter has changed."""
        client = BlueskyClient(api, self.state)
        publication = client.put(publication_key(body.publication["url"]), body.publication)
        record = {**body.record, "site": publication["uri"]}
        key = record_key(body.at, api.key)
        made = first_accepted(self._versions(client, record, body.picture), partial(client.put, key))
        return Sent(made["uri"], url=body.page)

    def change(self, api: ApiClient, body: Document, remote_id: str, parts: Sequence[str]) -> Outcome:
        """Replace the record, unless somebody deleted it."""
        client, key = BlueskyClient(api, self.state), key_of(remote_id)
        present, cid = client.get(key, DOCUMENT)
        present.pop("updatedAt", None)
        record = {**{name: present[name] for name in KEPT if name in present}, **body.record}
        # An attempt whose answer was lost may have written it.
        if record != present:
            client.put(key, {**record, "updatedAt": timestamp(api.now)}, swap=cid)
        return Sent(remote_id)

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        BlueskyClient(api, self.state).delete(key_of(remote_id), DOCUMENT)
        return Sent()

    def _versions(self, client: BlueskyClient, record: Record, picture: str) -> Iterator[Record]:
        """Yield ever plainer versions."""
        if cover := self.uploaded(client, picture):
            yield {**record, "coverImage": cover}
        yield record
        if "textContent" in record:
            yield {name: value for name, value in record.items() if name != "textContent"}


def publication_key(url: str) -> str:
    return record_key(EPOCH, url)


def publication_uri(account: str, page: str) -> str:
    """Return the address of a newsletter's record, by its page."""
    return f"at://{account}/{PUBLICATION}/{publication_key(page.rstrip('/'))}"


def key_of(uri: str) -> str:
    return uri.rpartition("/")[2]


def document_of(letter: Letter) -> Document:
    """Raises CannotPost."""
    if not letter.web_url or not letter.page_url:
        raise CannotPost(NO_PAGE)
    post, url = announcement_of(letter), letter.page_url.rstrip("/")
    publication = {"$type": PUBLICATION, "url": url, "name": post.newsletter_title}
    if about := cut_to(plain_line(letter.description), LONGEST_ABOUT):
        publication["description"] = about
    title = cut_to(post.title or post.newsletter_title, LONGEST_TITLE)
    titles = "; ".join(line.title for line in post.lines)
    fields = {
        "description": cut_to(post.warning or post.summary or titles, LONGEST_DESCRIPTION),
        "textContent": _text(post),
        "tags": [tag for tag in post.hashtags if len(tag) <= LONGEST_TAG and octets(tag) <= MOST_TAG_OCTETS],
    }
    record = {
        "$type": DOCUMENT,
        "path": letter.web_url.removeprefix(url),
        "title": title,
        "publishedAt": timestamp(post.at),
        **{name: value for name, value in fields.items() if value},
    }
    return Document(post.at, publication, record, letter.web_url, post.images[0].url if post.images else "")


def _text(post: Announcement) -> str:
    """Return the posts' text. Posts with a content warning have none."""
    parts = list[str]()
    for entry in post.posts:
        if post.is_digest:
            parts.append(entry.warning or entry.title)
        if not entry.warning:
            parts.append(to_text(entry.html, width=None).strip())
    text = "\n\n".join(filter(None, parts))[:LONGEST_TEXT].encode("utf-8", "ignore").decode()
    while (size := len(json.dumps(text))) > LONGEST_TEXT:
        text = text[: len(text) * LONGEST_TEXT // size]
    return text
