"""Posts messages by webhooks, and what a bot's session has in common with that."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import requests

from channels.base import (
    NO_POST,
    NOTHING,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.discord.message import Message
from channels.discord.service import (
    NEEDS_THREAD,
    OF_ANOTHER,
    UNKNOWN_MESSAGE,
    UNKNOWN_WEBHOOK,
    WEBHOOK,
    agent,
    code_of,
    sent,
    snowflake,
)
from channels.http.client import ApiClient, ApiSession, Failed
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse


class DiscordSession(ApiSession, ABC):
    """What both ways to post have in common: once more plain, edits, deletions."""

    @abstractmethod
    def api(self, message: Message, now: datetime) -> ApiClient: ...

    @abstractmethod
    def place(self, message: Message, remote_id: str) -> tuple[str, dict[str, str]]:
        """Where a message that was posted stands: its address at the API, and the query."""

    @abstractmethod
    def posted(
        self, client: ApiClient, message: Message, body: Mapping[str, Any], key: str, *, in_thread: bool
    ) -> Sent:
        """Posts a body. Raises Failed."""

    def place_of_another(
        self, client: ApiClient, message: Message, remote_id: str
    ) -> tuple[str, dict[str, str]] | None:
        """Return where a message of another author can be changed; None if it cannot. Raises Failed."""
        return None

    def headers(self) -> dict[str, str]:
        return agent()

    def begins_thread(self, message: Message) -> bool:
        """Whether the message is to be the first of a thread of its own."""
        return message.wants_thread and not message.thread_id

    def post(self, client: ApiClient, message: Message, key: str) -> Outcome:
        """In full, else plain; in a thread of its own where a forum wants that."""
        in_thread = self.begins_thread(message)
        bodies = [message.full, message.plain]
        while True:
            try:
                return self.posted(client, message, bodies[0], key, in_thread=in_thread)
            except Failed as failed:
                answer = client.transport.answer
                if answer and not answer.ok and code_of(answer) == NEEDS_THREAD and not in_thread:
                    in_thread = True
                elif failed.is_about_message and len(bodies) > 1:
                    del bodies[0]
                else:
                    return failed.outcome

    def edit(
        self, message: Message, *, remote_id: str, parts: Sequence[str], key: str, now: datetime
    ) -> Outcome:
        """Writes the message that was posted anew. It calls nobody again."""
        if message.refusal:
            return Permanent(message.refusal)
        client, bodies = self.api(message, now), [message.full, message.plain]
        while True:
            body = bodies.pop(0)
            # An edit may not change whether a message makes a sound.
            new = {"content": body["content"], "embeds": body["embeds"], "allowed_mentions": {"parse": []}}
            try:
                self._change(client, message, remote_id, "PATCH", json=new)
                return sent(message.config.get("guild_id", ""), *remote_id.split("/"))
            except Failed as failed:
                if _is_gone(client):
                    return NO_POST
                if not bodies or not failed.is_about_message:
                    return of_one_post(failed.outcome)

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Deletes it; Sent too if it is gone already."""
        client = self.api(message, now)
        try:
            self._change(client, message, remote_id, "DELETE")
        except Failed as failed:
            if not _is_gone(client):
                return of_one_post(failed.outcome)
        return Sent(remote_id=remote_id)

    def _change(
        self, client: ApiClient, message: Message, remote_id: str, method: str, **options: Any
    ) -> None:
        """Edit or delete a message. Raises Failed."""
        options = {**options, "headers": self.headers(), "read": _any}
        url, query = self.place(message, remote_id)
        try:
            client.call(method, url, params=query, **options)
        except Failed as failed:
            other = None
            if last_code(client) in OF_ANOTHER:
                other = self.place_of_another(client, message, remote_id)
            if other is None:
                raise
            try:
                client.call(method, other[0], params=other[1], **options)
            except Failed:
                # The webhook is gone, not the channel.
                if last_code(client) == UNKNOWN_WEBHOOK:
                    raise failed from None
                raise


def of_one_post(outcome: Outcome) -> Outcome:
    """Keep the lane open: a right that is missing for one post may be its thread's, not the channel's."""
    if isinstance(outcome, Temporary) and outcome.forbidden:
        return replace(outcome, stops_lane=False, forbidden=False)
    return outcome


class WebhookSession(DiscordSession):
    """Posts to whatever webhook a message names; `base` is the API's address. Used by one thread at a
    time."""

    def __init__(
        self, *, base: str, session: requests.Session | None = None, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._base = base

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Posts; nobody can tell what became of an unfinished earlier attempt."""
        if message.refusal:
            return Permanent(message.refusal)
        return self.post(self.api(message, now), message, key)

    def api(self, message: Message, now: datetime) -> ApiClient:
        return self.client(self._base, WEBHOOK, now, secrets=webhook_secrets(message.webhook_url))

    def place(self, message: Message, remote_id: str) -> tuple[str, dict[str, str]]:
        channel, _, number = remote_id.partition("/")
        elsewhere = channel != message.config.get("channel_id")
        url = webhook_at(self._base, message.webhook_url)
        return f"{url}/messages/{number}", {"thread_id": channel} if elsewhere else {}

    def posted(
        self, client: ApiClient, message: Message, body: Mapping[str, Any], key: str, *, in_thread: bool
    ) -> Sent:
        url = webhook_at(self._base, message.webhook_url)
        return post_by_webhook(client, url, message, body, in_thread=in_thread, thread_id=message.thread_id)


def post_by_webhook(
    client: ApiClient, url: str, message: Message, body: Mapping[str, Any], *, in_thread: bool, thread_id: str
) -> Sent:
    """Post a body under the name and the picture of the message. Raises Failed."""
    # Without `wait`, Discord says yes to all.
    query = {"wait": "true", **({"thread_id": thread_id} if thread_id else {})}
    new = {**message.look, **body}
    if body is message.plain:
        new.pop("avatar_url", None)
    if in_thread:
        new["thread_name"] = message.thread_name
        if message.applied_tags:
            new["applied_tags"] = list(message.applied_tags)

    def read(answer: ApiResponse) -> Sent:
        guild = message.config.get("guild_id", "")
        return sent(guild, snowflake(answer.at("channel_id")), snowflake(answer.at("id")))

    return client.call("POST", url, params=query, json=new, headers=agent(), read=read, posting=True)


def webhook_at(base: str, url: str) -> str:
    """A webhook's address at the API. As it is kept, its last two parts are its id and its token."""
    return f"{base}/webhooks/{'/'.join(url.split('/')[-2:])}"


def webhook_secrets(url: str) -> tuple[str, ...]:
    """What no text may show of a webhook's address."""
    return (url, url.rpartition("/")[2])


def last_code(client: ApiClient) -> Any:
    """Return Discord's code for the last answer, or its status; None if it did not answer."""
    answer = client.transport.answer
    return None if answer is None else code_of(answer)


def _is_gone(client: ApiClient) -> bool:
    answer = client.transport.answer
    return answer is not None and answer.status == 404 and code_of(answer) == UNKNOWN_MESSAGE


def _any(answer: ApiResponse) -> None:
    """That it was a success is all that has to be read."""
