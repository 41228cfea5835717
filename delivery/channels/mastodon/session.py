"""Posts statuses, with Mastodon.py over the safe client."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import requests

from common.truncation import DoesNotFit, fit_parts
from delivery.channels.base import NOTHING, Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.channels.http.client import Failed
from delivery.channels.http.transport import TIMEOUT_SECONDS, Transport
from delivery.channels.mastodon.client import Client
from delivery.channels.mastodon.compose import Message
from delivery.channels.mastodon.instance import Instance, InstanceCache
from delivery.channels.mastodon.length import StatusLimits, fits_status

# Mastodon keeps an Idempotency-Key up to an hour; ten minutes are for clocks and for this request.
KEY_HOLDS = timedelta(minutes=50)
INSTANCES = InstanceCache()


class MastodonSession:
    """Posts for whatever account a message names. Used by one thread at a time."""

    def __init__(
        self,
        *,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
        instances: InstanceCache = INSTANCES,
    ) -> None:
        self._session, self._timeout, self._instances = session, timeout, instances
        self._transport: Transport | None = None

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
        looked up."""
        if message.refusal:
            return Permanent(message.refusal)
        url = message.instance_url
        client = Client(self._opened(), url, message.access_token, self._timeout, now)
        key_holds = begun_at is not None and now - begun_at < KEY_HOLDS
        try:
            instance = self._instances.get(url, now)
            if instance is None:
                instance = client.instance()
                self._instances.put(url, instance, now)
        except Failed as failed:
            return failed.outcome if begun_at is None else _unknown(failed, holds=not key_holds)
        if begun_at is None:
            return self._post(client, message, key, instance)
        if instance.honours_keys and key_holds:
            outcome = self._post(client, message, key, instance)
            # A repetition that must wait says nothing of the first attempt, whose time has to be kept.
            return Ambiguous(outcome.text) if isinstance(outcome, Temporary) else outcome
        try:
            found = client.find(message.link, beginning=message.beginning, since=begun_at)
        except Failed as failed:
            return _unknown(failed, holds=True)
        return Sent(remote_id=found) if found else self._post(client, message, key, instance)

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """As Deletes has it."""
        transport = self._opened()
        client = Client(transport, message.instance_url, message.access_token, self._timeout, now)
        try:
            for status in (*reversed(parts), remote_id):
                client.delete(status)
        except Failed as failed:
            return failed.outcome
        return Sent(remote_id=remote_id)

    def _opened(self) -> Transport:
        if self._transport is None:
            self._transport = Transport(self._session)
        return self._transport

    def close(self) -> None:
        if self._transport:
            self._transport.close()
            self._transport = None

    def _post(self, client: Client, message: Message, key: str, instance: Instance) -> Outcome:
        limits = instance.limits
        # Once more with room to spare, where the instance counts otherwise than it says.
        for most in (limits.characters, limits.characters * 9 // 10):
            try:
                fits = fits_status(StatusLimits(most, limits.per_url), warning=message.spoiler)
                return client.post(message, fit_parts(message.parts, fits), key)
            except DoesNotFit:
                return Permanent(f"The link alone is longer than what {client.host} takes.")
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        if isinstance(outcome, Permanent):
            # The limits may have changed since they were read.
            self._instances.forget(message.instance_url)
        return outcome


def _unknown(failed: Failed, *, holds: bool) -> Ambiguous:
    why = "" if isinstance(failed.outcome, Sent) else failed.outcome.text
    return Ambiguous(f"Whether the post went out could not be looked up. {why}", holds=holds)
