import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

import requests

from channels.announcement import Announcement, PostImage
from channels.base import (
    NOTHING,
    Ambiguous,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    LinkCard,
    Looks,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.bluesky.client import BLUESKY, BlueskyClient, pds_of
from channels.bluesky.message import (
    COLLECTION,
    MOST_GRAPHEMES,
    MOST_OCTETS,
    BlueskyAccount,
    BlueskyPost,
    Message,
    Record,
    message_of,
)
from channels.bridge import WARNING, OldBridgeChannel
from channels.http.client import ApiClient, ApiSession, Failed, host_of, told_at_fields
from channels.http.measures import graphemes, octets
from channels.http.threads import cut_short
from channels.http.transport import TIMEOUT_SECONDS, Transport
from channels.letter import Recipient
from channels.pictures import PictureBounds, fetched_picture
from common.clock import utcnow
from common.pictures.picture import CleanPicture
from common.ports.channels import InvalidDestination, ParsedDestination

# https://atproto.com/specs/tid
_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
_LENGTH = 13
_CLOCK_BITS = 10
_MOST_MICROSECONDS = 2**53 - 1
# Posts of one moment differ by a hash, within a second.
_SPREAD = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def record_key(at: datetime, key: str) -> str:
    spread, clock = divmod(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]), 2**_CLOCK_BITS)
    return tid((at - _EPOCH) // timedelta(microseconds=1) + spread % _SPREAD, clock)


def tid(microseconds: int, clock: int) -> str:
    """Return 13 letters: microseconds since 1970 and ten clock bits."""
    number = min(max(microseconds, 0), _MOST_MICROSECONDS) << _CLOCK_BITS | clock
    return "".join(_LETTERS[number >> 5 * place & 31] for place in reversed(range(_LENGTH)))


OWN_LOGIN = (
    "This is the account’s main password, which gives full access. Create an app password in "
    "Bluesky (Settings, Privacy and security) and reconnect with it."
)
PLC = "https://plc.directory"


def check_account(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
    plc: str = PLC,
) -> ParsedDestination:
    """Add DID and server. Raises InvalidDestination."""
    transport = Transport(session)
    config, service = destination.config, destination.config["service_url"]
    account = BlueskyAccount(config["handle"], service, "", destination.secrets["app_password"])
    client = BlueskyClient(transport, account, utcnow(), timeout=timeout)
    elsewhere = f"{host_of(service)} doesn’t look like {BLUESKY.name}."
    with closing(transport), told_at_fields("service_url", credentials="app_password", elsewhere=elsewhere):
        signed_in = client.sign_in()
        pds = signed_in.pds or _pds(transport, signed_in.did, plc, timeout) or service
    if not signed_in.is_active:
        raise InvalidDestination(f"handle: {host_of(service)} reports that this account isn’t active.")
    handle = signed_in.handle
    kept = {name: value for name, value in config.items() if name != WARNING}
    if signed_in.is_main_password:
        kept[WARNING] = OWN_LOGIN
    return replace(
        destination,
        core=signed_in.did,
        label=f"@{handle}",
        config={**kept, "did": signed_in.did, "pds": pds, "handle": handle},
    )


def _pds(transport: Transport, did: str, plc: str, timeout: float) -> str:
    """Return the PDS from the DID's document, or "": then the service forwards posts."""
    _, method, name = did.split(":", 2)
    url = f"{plc}/{did}" if method == "plc" else f"https://{unquote(name)}/.well-known/did.json"
    client = ApiClient(transport, url, BLUESKY, utcnow(), timeout=timeout)
    try:
        return client.call("GET", url, read=lambda answer: pds_of(answer.json))
    except Failed:
        return ""


# app.bsky.embed.external: limits for a card's picture.
THUMB = PictureBounds(most_side=1_200, most_bytes=1_000_000)


def thumb_of(url: str) -> CleanPicture | None:
    return fetched_picture(PostImage(url), THUMB)


class BlueskySession(ApiSession):
    """Tokens are its state. Used by one thread at a time."""

    def __init__(
        self,
        state: Mapping[str, str] = NOTHING,
        *,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
        picture_of: Callable[[str], CleanPicture | None] = thumb_of,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._tokens, self._kept, self._picture_of = state, state, picture_of

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Post, and reply with the thread. The key makes repetitions harmless.

        `progress` has existing posts, and the uploaded picture.
        """
        if message.refusal:
            return Permanent(message.refusal)
        client = self._client(message.account, now)
        done, remark = {**progress}, ""
        posted = list(done.get("posted", ()))
        try:
            for number, post in enumerate(message.posts[len(posted) :], start=len(posted)):
                rkey = record_key(message.at, f"{key}-{number}" if number else key)
                if posted:
                    answer = {**post.record, "reply": {"root": posted[0], "parent": posted[-1]}}
                    post = BlueskyPost(answer, answer)
                posted.append(self._put(client, rkey, post, done))
                done = {"posted": posted}
        except Failed as failed:
            outcome = failed.outcome
            if isinstance(outcome, Temporary | Ambiguous):
                return replace(outcome, progress=done or None)
            if not posted:
                return outcome
            if isinstance(outcome, Permanent):
                remark = cut_short(len(posted), len(message.posts), outcome)
        finally:
            self._tokens = client.tokens
        root, *answers = (str(one["uri"]) for one in posted)
        place = root.removeprefix("at://").replace(f"/{COLLECTION}/", "/post/")
        url = f"https://bsky.app/profile/{place}"
        return Sent(root, url=url, parts=tuple(answers), remark=remark)

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Delete from the end of the thread; repeatable."""
        client = self._client(message.account, now)
        try:
            for uri in (*reversed(parts), remote_id):
                client.delete(uri.rpartition("/")[2])
        except Failed as failed:
            return failed.outcome
        finally:
            self._tokens = client.tokens
        return Sent()

    def new_state(self) -> Mapping[str, str] | None:
        if self._tokens == self._kept:
            return None
        self._kept = self._tokens
        return dict(self._tokens)

    def _client(self, account: BlueskyAccount, now: datetime) -> BlueskyClient:
        return BlueskyClient(self.transport, account, now, tokens=self._tokens, timeout=self.timeout)

    def _put(self, client: BlueskyClient, rkey: str, post: BlueskyPost, done: dict[str, Any]) -> Record:
        refused: Failed | None = None
        for record in self._versions(client, post, done):
            try:
                return client.put(rkey, record)
            except Failed as failed:
                if not failed.is_about_message:
                    raise
                refused = failed
        assert refused is not None  # noqa: S101 - for the type checker: there is at least one version
        raise refused

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
        """Return whether the card has a picture. Failures don't stop the post."""
        picture = self._picture_of(post.picture) if post.picture else None
        if picture is None or len(picture.data) > THUMB.most_bytes:
            return False
        try:
            done["thumb"] = client.upload(picture.data, picture.media_type)
        except Failed:
            return False
        return True


def _with_thumb(record: Record, thumb: Record) -> Record:
    embed = record["embed"]
    return {**record, "embed": {**embed, "external": {**embed["external"], "thumb": thumb}}}


class BlueskyChannel(OldBridgeChannel):
    key = "bluesky"
    # A repetition has the same record key.
    crash_policy = CrashPolicy.LOOK_UP
    # Well below 5,000 points an hour (a post costs two), and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return message_of(said, options, recipient)

    def preview(self, message: Message) -> Looks:
        if message.refusal:
            return Looks("", refusal=message.refusal)
        first, *others = message.posts
        text, embed = first.record["text"], first.record.get("embed")
        measures = ((graphemes, MOST_GRAPHEMES, ""), (octets, MOST_OCTETS, "bytes"))
        measure, most, unit = max(measures, key=lambda one: one[0](text) / one[1])
        return Looks(
            text,
            measure(text),
            most,
            unit=unit,
            card=_card(embed["external"], first.picture) if embed else None,
            answers=tuple(post.record["text"] for post in others),
            notes=tuple(_notes(first.record)),
        )

    def connect(self, lane: LaneFacts) -> BlueskySession:
        return BlueskySession(lane.state)


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    if tags := record.get("tags"):
        yield "Found by " + " ".join(f"#{tag}" for tag in tags)
    if labels := record.get("labels"):
        yield "Warning: " + ", ".join(label["val"] for label in labels["values"])


def _card(external: Mapping[str, Any], picture: str) -> LinkCard:
    host = urlsplit(external["uri"]).hostname or ""
    return LinkCard(external["title"], external["description"], host, picture)
