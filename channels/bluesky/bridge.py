import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from channels import fields
from channels.announcement import Announcement, PostImage
from channels.base import CrashPolicy, LaneDefaults, LinkCard, Looks, Outcome, Permanent, Sent
from channels.bluesky.client import BLUESKY, DID, BlueskyClient
from channels.bluesky.message import (
    COLLECTION,
    MOST_GRAPHEMES,
    MOST_OCTETS,
    BlueskyPost,
    Record,
    Thread,
    bluesky_thread,
)
from channels.bridge import WARNING, Bridge
from channels.http.client import ApiClient, Failed, first_accepted
from channels.http.links import graphemes, octets
from channels.http.session import DeletingSession, carrying, cut_short
from channels.http.transport import server_url
from channels.pictures import PictureBounds, fetched_picture
from common.pictures.picture import CleanPicture
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.truncation import plain_line

ENTRYWAY = "https://bsky.social"
PROFILES = "https://bsky.app/profile"
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# https://atproto.com/specs/handle
HANDLE = re.compile(rf"(?=.{{1,253}}\Z)(?:{LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
LABELS = {
    "": "None",
    "sexual": "Suggestive",
    "nudity": "Nudity",
    "porn": "Adult",
    "graphic-media": "Graphic media",
}
# https://atproto.com/specs/tid
_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
_LENGTH = 13
_CLOCK_BITS = 10
_MOST_MICROSECONDS = 2**53 - 1
# Posts of one moment differ by a hash, within a second.
_SPREAD = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OWN_LOGIN = (
    "This is the account’s main password, which gives full access. Create an app password in "
    "Bluesky (Settings, Privacy and security) and reconnect with it."
)
# app.bsky.embed.external: limits for a card's picture.
THUMB = PictureBounds(most_side=1_200, most_bytes=1_000_000)


def handle(typed: str) -> str:
    """Check a handle or DID. Raises ValueError."""
    # Handles copied from the app contain direction marks.
    name = plain_line(typed).removeprefix("@")
    if DID.fullmatch(name):
        return name
    if not HANDLE.fullmatch(name.lower()):
        raise ValueError("enter the full handle, such as bees.bsky.social.")
    return name.lower()


did = fields.matching(DID.pattern, "this isn’t the DID of an account.")


def app_password(typed: str) -> str:
    if len(typed) > 256 or not typed.isprintable():
        raise ValueError("an app password has no such characters, or is shorter.")
    return typed


class BlueskySession(DeletingSession):
    """Session with an account's server. `state` has its tokens."""

    service = BLUESKY
    address_field, token_field = "service_url", "app_password"

    def uploaded(self, client: BlueskyClient, url: str) -> Record | None:
        """Return the picture as a blob, if there is one. Failures don't stop the post."""
        picture = self.picture_of(url) if url else None
        if picture is None or len(picture.data) > THUMB.most_bytes:
            return None
        try:
            return client.upload(picture.data, picture.media_type)
        except Failed:
            return None

    def picture_of(self, url: str) -> CleanPicture | None:
        return fetched_picture(PostImage(url), THUMB)


class BlueskyBridge(BlueskySession, Bridge):
    """Posts.

    No edits: Bluesky's app shows the first version, and a replaced record loses its likes.
    """

    key = "bluesky"
    label = "Bluesky"
    sentence = "Posts to your Bluesky account, with a link card."
    # A repetition has the same record key.
    crash_policy = CrashPolicy.LOOK_UP
    # Well below 5,000 points an hour (a post costs two), and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)
    announcement_hook = "bluesky_announcement"
    destination_fields = (
        fields.needed("handle", "Handle", "For example bees.bsky.social.", handle),
        fields.secret(
            "app_password",
            "App password",
            "Create it in Bluesky under Settings, Privacy and security, App passwords. Don’t use the "
            "account’s main password.",
            app_password,
        ),
        Field(
            "service_url",
            "Service",
            "The server where the account signs in. Default: https://bsky.social. Change it only if "
            "you use another server.",
            clean=partial(server_url, example="bsky.social"),
        ),
    )
    own_options = (
        fields.choice(
            "card",
            "Link",
            "A card shows the post’s title, summary and picture. Digests put the link in the text instead.",
            {"": "As a card", "no": "In the words"},
        ),
        fields.choice(
            "tags",
            "Categories",
            "Tags help people find posts by topic.",
            {"": "As tags that are not shown", "no": "Leave them out"},
        ),
        fields.choice(
            "thread",
            "Posts of a digest",
            "",
            {"": "One link to all of them", "yes": "A thread, with one reply per post"},
        ),
        fields.choice("content_label", "Content warning", "", LABELS),
        fields.LANGUAGE,
    )
    plc = "https://plc.directory"

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """`check` replaces the `core` with the DID, which is permanent."""
        name, service = given["handle"], given["service_url"] or ENTRYWAY
        return ParsedDestination(
            core=name,
            label=name if name.startswith("did:") else f"@{name}",
            config={"handle": name, "service_url": service},
            secrets={"app_password": given["app_password"]},
        )

    def public_page(self, config: Mapping[str, str]) -> str:
        return f"{PROFILES}/{config['handle']}"

    def body(self, post: Announcement, options: Mapping[str, str]) -> Thread:
        return bluesky_thread(post, options)

    def looks(self, body: Thread) -> Looks:
        first, *others = body.posts
        text, embed = first.record["text"], first.record.get("embed")
        measures = ((graphemes, MOST_GRAPHEMES, ""), (octets, MOST_OCTETS, "bytes"))
        measure, most, unit = max(measures, key=lambda limit: limit[0](text) / limit[1])
        return Looks(
            text,
            measure(text),
            most,
            unit=unit,
            card=_card(embed["external"], first.picture) if embed else None,
            answers=tuple(post.record["text"] for post in others),
            notes=tuple(_notes(first.record)),
        )

    def post(self, api: ApiClient, body: Thread) -> Outcome:
        """Post, and reply with the thread. The key makes repetitions harmless.

        `progress` has existing posts, and the uploaded picture.
        """
        client = BlueskyClient(api, self.state)
        done, remark = {**api.progress}, ""
        posted = list(done.get("posted", ()))
        try:
            for number, post in enumerate(body.posts[len(posted) :], start=len(posted)):
                rkey = record_key(body.at, f"{api.key}-{number}" if number else api.key)
                if posted:
                    answer = {**post.record, "reply": {"root": posted[0], "parent": posted[-1]}}
                    post = BlueskyPost(answer, answer)
                versions = self._versions(client, post, done)
                posted.append(first_accepted(versions, partial(client.put, rkey)))
                done = {"posted": posted}
        except Failed as failed:
            if not posted or not isinstance(failed.outcome, Permanent):
                return carrying(failed.outcome, done)
            remark = cut_short(len(posted), len(body.posts), failed.outcome)
        root, *answers = (str(post["uri"]) for post in posted)
        place = root.removeprefix("at://").replace(f"/{COLLECTION}/", "/post/")
        url = f"https://bsky.app/profile/{place}"
        return Sent(root, url=url, parts=tuple(answers), remark=remark)

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        """Delete from the end of the thread; repeatable."""
        client = BlueskyClient(api, self.state)
        for uri in (*reversed(parts), remote_id):
            client.delete(uri.rpartition("/")[2])
        return Sent()

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Add DID and server."""
        client = BlueskyClient(api, {})
        account = client.sign_in()
        pds = account.pds or client.pds_in(self.plc, account.did) or api.url
        if not account.is_active:
            raise InvalidDestination(f"handle: {api.host} reports that this account isn’t active.")
        kept = {name: value for name, value in destination.config.items() if name != WARNING}
        if account.is_main_password:
            kept[WARNING] = OWN_LOGIN
        return replace(
            destination,
            core=account.did,
            label=f"@{account.handle}",
            config={**kept, "did": account.did, "pds": pds, "handle": account.handle},
        )

    def _versions(self, client: BlueskyClient, post: BlueskyPost, done: dict[str, Any]) -> Iterator[Record]:
        """Yield ever plainer versions."""
        had = done.get("thumb")
        if had or self._uploaded(client, post, done):
            yield _with_thumb(post.record, done["thumb"])
            # A picture without a post is deleted after a while.
            if had and client.code == "BlobNotFound" and self._uploaded(client, post, done):
                yield _with_thumb(post.record, done["thumb"])
            done.pop("thumb")
        yield post.record
        if post.plain != post.record:
            yield post.plain

    def _uploaded(self, client: BlueskyClient, post: BlueskyPost, done: dict[str, Any]) -> bool:
        """Return whether the card has a picture."""
        if blob := self.uploaded(client, post.picture):
            done["thumb"] = blob
        return blob is not None


def record_key(at: datetime, key: str) -> str:
    spread, clock = divmod(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]), 2**_CLOCK_BITS)
    return tid((at - _EPOCH) // timedelta(microseconds=1) + spread % _SPREAD, clock)


def tid(microseconds: int, clock: int) -> str:
    """Return 13 letters: microseconds since 1970 and ten clock bits."""
    number = min(max(microseconds, 0), _MOST_MICROSECONDS) << _CLOCK_BITS | clock
    return "".join(_LETTERS[number >> 5 * place & 31] for place in reversed(range(_LENGTH)))


def _with_thumb(record: Record, thumb: Record) -> Record:
    embed = record["embed"]
    return {**record, "embed": {**embed, "external": {**embed["external"], "thumb": thumb}}}


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    if tags := record.get("tags"):
        yield "Found by " + " ".join(f"#{tag}" for tag in tags)
    if labels := record.get("labels"):
        yield "Warning: " + ", ".join(label["val"] for label in labels["values"])


def _card(external: Mapping[str, Any], picture: str) -> LinkCard:
    host = urlsplit(external["uri"]).hostname or ""
    return LinkCard(external["title"], external["description"], host, picture)
