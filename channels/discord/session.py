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
    """Plain fallback, edits and deletions."""

    @abstractmethod
    def api(self, message: Message, now: datetime) -> ApiClient: ...

    @abstractmethod
    def place(self, message: Message, remote_id: str) -> tuple[str, dict[str, str]]:
        """Return the API URL and the query of a posted message."""

    @abstractmethod
    def posted(
        self, client: ApiClient, message: Message, body: Mapping[str, Any], key: str, *, in_thread: bool
    ) -> Sent:
        """Post a body. Raises Failed."""

    def place_of_another(
        self, client: ApiClient, message: Message, remote_id: str
    ) -> tuple[str, dict[str, str]] | None:
        """Return where another author's message can be changed, or None. Raises Failed."""
        return None

    def headers(self) -> dict[str, str]:
        return agent()

    def begins_thread(self, message: Message) -> bool:
        return message.wants_thread and not message.thread_id

    def post(self, client: ApiClient, message: Message, key: str) -> Outcome:
        """Post in full, else plain; in a new thread if a forum requires it."""
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
        """Mention nobody."""
        if message.refusal:
            return Permanent(message.refusal)
        client, bodies = self.api(message, now), [message.full, message.plain]
        while True:
            body = bodies.pop(0)
            # An edit cannot change whether a message is silent.
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
        """Return Sent if it is already gone."""
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
    """Keep the lane open: the thread may lack the permission, not the channel."""
    if isinstance(outcome, Temporary) and outcome.forbidden:
        return replace(outcome, stops_lane=False, forbidden=False)
    return outcome


class WebhookSession(DiscordSession):
    """Each message has its webhook. Used by one thread at a time."""

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
        """Unfinished attempts cannot be looked up."""
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
    """Use the message's name and picture. Raises Failed."""
    # Without `wait`, Discord always reports success.
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
    """The stored URL ends with id and token."""
    return f"{base}/webhooks/{'/'.join(url.split('/')[-2:])}"


def webhook_secrets(url: str) -> tuple[str, ...]:
    return (url, url.rpartition("/")[2])


def last_code(client: ApiClient) -> Any:
    answer = client.transport.answer
    return None if answer is None else code_of(answer)


def _is_gone(client: ApiClient) -> bool:
    answer = client.transport.answer
    return answer is not None and answer.status == 404 and code_of(answer) == UNKNOWN_MESSAGE


def _any(answer: ApiResponse) -> None:
    """Any success will do."""
