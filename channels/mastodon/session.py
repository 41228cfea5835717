"""Posts, changes and deletes statuses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from channels.base import NO_POST, NOTHING, Outcome, Permanent, Sent
from channels.http.client import Failed
from channels.http.priced_links import StatusLimits
from channels.http.session import ApiSession, outcome_of
from channels.http.threads import carrying, not_looked_up, post_thread, still_unknown
from channels.http.uploads import Uploader, Uploads
from channels.mastodon.client import Client
from channels.mastodon.compose import Message
from channels.mastodon.instance import Instance, instances
from common.truncation import DoesNotFit
from common.ttl_cache import TtlCache

# Mastodon keeps an Idempotency-Key up to an hour; ten minutes are for clocks and for this request.
KEY_HOLDS = timedelta(minutes=50)
INSTANCES = instances()


class MastodonSession(ApiSession):
    """Posts for whatever account a message names. Used by one thread at a time."""

    def __init__(self, *, known: TtlCache[Instance] = INSTANCES, **options: Any) -> None:
        """Takes what ApiSession takes, too."""
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
        """Posts once: an unfinished earlier attempt is repeated while the instance honours its key, else
        looked up. A thread goes on where it ended."""
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
        # Again with room to spare, where the instance counts otherwise than it says; then without pictures.
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
                return Permanent(f"The link alone is longer than what {client.host} takes.")
            except Failed as failed:
                outcome = carrying(failed.outcome, uploads.progress)
                if not failed.is_about_message:
                    break
        if isinstance(outcome, Permanent):
            # The limits may have changed since they were read.
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
        """Changes the words of each status that is there; pictures, and how many statuses, stay."""
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
                return Permanent(f"The link alone is longer than what {client.host} takes.")
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        answer = self.transport.answer
        is_gone = isinstance(outcome, Permanent) and answer is not None and answer.status == 404
        return NO_POST if is_gone else outcome

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Deletes the last status of a thread first."""
        client = Client(self, message.instance_url, message.access_token, now)

        def delete() -> Outcome:
            for status_id in (*reversed(parts), remote_id):
                client.delete(status_id)
            return Sent(remote_id=remote_id)

        return outcome_of(delete)
