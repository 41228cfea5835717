from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from channels.announcement import Announcement
from channels.base import (
    NO_POST,
    NOTHING,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Outcome,
    Permanent,
    Sent,
)
from channels.bridge import OldBridgeChannel
from channels.http.client import ApiSession, Failed, outcome_of, told_at_fields
from channels.http.links import StatusLimits, status_length
from channels.http.measures import graphemes
from channels.http.threads import carrying, not_looked_up, post_thread, still_unknown
from channels.http.uploads import Uploader, Uploads
from channels.letter import Recipient
from channels.mastodon.client import MASTODON, Client
from channels.mastodon.message import Instance, Message, instances, status_of
from channels.mastodon.spec import SCOPES
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import DoesNotFit
from common.ttl_cache import TtlCache

HOW = f"Create one on the instance under Preferences, Development, with the scopes {SCOPES}."
# Reading is needed for the look-up after a lost answer.
NEEDED = ({"write", "write:statuses"}, "post"), ({"read", "read:statuses"}, "read its own posts")


def check_token(destination: ParsedDestination, session: ApiSession | None = None) -> ParsedDestination:
    url, token = destination.config["instance_url"], destination.secrets["access_token"]
    with closing(session or ApiSession()) as opened:
        client = Client(opened, url, token, utcnow())
        refused = f"{client.host} doesn’t accept it. {HOW}"
        elsewhere = f"{client.host} doesn’t look like {MASTODON.name}."
        with told_at_fields("instance_url", credentials="access_token", refused=refused, elsewhere=elsewhere):
            (number, _), scopes = client.account(), client.scopes()
    for some, what in NEEDED:
        if scopes and not scopes & some:
            raise InvalidDestination(f"access_token: it isn’t allowed to {what}. {HOW}")
    return replace(destination, config={**destination.config, "account_id": number})


# Mastodon keeps an Idempotency-Key for an hour; ten minutes are for clocks and this request.
KEY_HOLDS = timedelta(minutes=50)
INSTANCES = instances()


class MastodonSession(ApiSession):
    """Each message has its account. Used by one thread at a time."""

    def __init__(self, *, known: TtlCache[Instance] = INSTANCES, **options: Any) -> None:
        super().__init__(**options)
        self._known = known

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Post once, continuing a thread.

        An unfinished attempt is repeated while its key is honoured, else looked up.
        """
        if message.refusal:
            return Permanent(message.refusal)
        client = Client(self, message.instance_url, message.access_token, now)
        key_holds = begun_at is not None and now - begun_at < KEY_HOLDS
        try:
            instance = self._known.get(message.instance_url, client.instance)
        except Failed as failed:
            return failed.outcome if begun_at is None else not_looked_up(failed.outcome, holds=not key_holds)
        repeats, uploads = key_holds and instance.honours_keys, Uploads(progress)
        by = Uploader(client.upload, client.is_ready, instance.pictures, instance.alt)

        def post(text: str, key: str, before: str) -> Sent:
            images = () if before or is_plain else message.images[: instance.images]
            media = uploads.ready(images, by, now) if images else ()
            return client.post(message, text, key, media=media, before=before)

        look_up = partial(client.find, message, since=begun_at) if begun_at and not repeats else None
        # With a reserve, as the instance may count differently; then without pictures.
        tried: list[tuple[list[str], bool]] = []
        smaller = instance.limits.smaller
        for limits, is_plain in ((instance.limits, False), (smaller, False), (smaller, True)):
            try:
                texts = message.texts(limits)
                if (texts, is_plain) in tried:
                    continue
                tried.append((texts, is_plain))
                return post_thread(texts, post, key=key, progress=progress, look_up=look_up)
            except DoesNotFit:
                return Permanent(f"The link alone is longer than {client.host} allows.")
            except Failed as failed:
                outcome = carrying(failed.outcome, uploads.progress)
                if not failed.is_about_message:
                    break
        if isinstance(outcome, Permanent):
            # The limits may have changed.
            self._known.forget(message.instance_url)
        return still_unknown(outcome) if repeats else outcome

    def edit(
        self,
        message: Message,
        *,
        remote_id: str,
        parts: Sequence[str],
        key: str,
        now: datetime,
    ) -> Outcome:
        """Pictures and number of statuses remain."""
        if message.refusal:
            return Permanent(message.refusal)
        client = Client(self, message.instance_url, message.access_token, now)

        def edit(limits: StatusLimits) -> Sent:
            statuses = zip((remote_id, *parts), message.texts(limits), strict=False)
            edited = [client.edit(status_id, message, text) for status_id, text in statuses]
            return replace(edited[0], parts=tuple(parts))

        try:
            usual = self._known.get(message.instance_url, client.instance).limits
        except Failed as failed:
            return failed.outcome
        for limits in (usual, usual.smaller):
            try:
                return edit(limits)
            except DoesNotFit:
                return Permanent(f"The link alone is longer than {client.host} allows.")
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        answer = self.transport.answer
        is_gone = isinstance(outcome, Permanent) and answer is not None and answer.status == 404
        return NO_POST if is_gone else outcome

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Delete from the end of the thread."""
        client = Client(self, message.instance_url, message.access_token, now)

        def delete() -> Outcome:
            for status_id in (*reversed(parts), remote_id):
                client.delete(status_id)
            return Sent(remote_id=remote_id)

        return outcome_of(delete)


class MastodonChannel(OldBridgeChannel):
    key = "mastodon"
    crash_policy = CrashPolicy.LOOK_UP
    # Well below 300 statuses in 3 hours, and easy on followers.
    lane = LaneDefaults(spacing_seconds=60.0)

    def domain(self, core: str) -> str:
        return urlsplit(f"//{core}").hostname or ""

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return status_of(said, options, recipient)

    def preview(self, message: Message) -> Looks:
        """Use the default limits; for a thread, measure the first status."""
        limits, warning = StatusLimits(), message.spoiler
        try:
            texts = message.texts(limits)
        except DoesNotFit:
            return Looks("", refusal="The link alone is longer than an instance allows.")
        length = status_length(texts[0], limits.per_url) + graphemes(warning)
        shown = "\n\n".join(filter(None, (warning, texts[0])))
        return Looks(
            shown,
            length,
            limits.characters,
            message.refusal,
            pictures=tuple(image.url for image in message.images),
            answers=tuple(texts[1:]),
            notes=("The pictures are hidden until someone reveals them.",) if message.sensitive else (),
        )

    def connect(self, lane: LaneFacts) -> MastodonSession:
        return MastodonSession()
