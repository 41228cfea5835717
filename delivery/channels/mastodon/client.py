"""One account's API: Mastodon.py over the safe transport, with every failure turned into an Outcome."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import cast

import requests
from mastodon import Mastodon, MastodonAPIError, MastodonNotFoundError

from delivery.channels.base import Sent
from delivery.channels.http.client import ApiClient, an_id, host_of
from delivery.channels.http.links import holds, shown_text
from delivery.channels.http.outcomes import ApiService, Verdict
from delivery.channels.http.transport import ApiResponse, Transport
from delivery.channels.mastodon.compose import Message
from delivery.channels.mastodon.instance import Instance, ask

STATUSES_LOOKED_AT = 40
CLOCKS_DIFFER = timedelta(minutes=10)
# So much of a status has to be alike for it to be ours; what follows may have been shortened otherwise.
BEGINNING = 40
POSTS, READS = frozenset({"write", "write:statuses"}), frozenset({"read", "read:statuses"})


def _words(answer: ApiResponse) -> str:
    said = answer.at("error")
    return said if isinstance(said, str) else ""


def _code(answer: ApiResponse) -> str:
    """A 403 is about the token's scopes, or about the account, which may come back."""
    if answer.status == 403 and (words := _words(answer)):
        return "scope" if "scope" in words.lower() else "account"
    return ""


MASTODON = ApiService(
    name="a Mastodon instance",
    words=_words,
    code=_code,
    verdicts={"account": Verdict.STOPS},
    advice=(
        "Save a new access token: the old one is no longer good, or lacks the scopes read and write:statuses."
    ),
)


class Client:
    """Each method makes one request or two. Raises Failed."""

    def __init__(self, transport: Transport, url: str, token: str, timeout: float, now: datetime) -> None:
        self.host = host_of(url)
        self._client = ApiClient(transport, self.host, MASTODON, now, secrets=(token,), timeout=timeout)
        self._api = Mastodon(
            api_base_url=url,
            session=cast(requests.Session, transport),
            request_timeout=timeout,
            ratelimit_method="throw",
            version_check_mode="none",
            user_agent="",  # the session has its own
        )
        # Not by the constructor, which reads a file where the token names one.
        self._api.access_token = token

    def instance(self) -> Instance:
        """The limits of the instance."""
        return self._client.ask(lambda: ask(self._api))

    def account(self) -> str:
        """The account the token is for, such as bot."""
        return self._client.ask(lambda: an_id(self._api.account_verify_credentials()["acct"]))

    def scopes(self) -> frozenset[str] | None:
        """What the token may do; None where the server does not say (Mastodon 4.3 and later do)."""

        def listed() -> frozenset[str] | None:
            try:
                said = self._api.app_verify_credentials().get("scopes")
            except MastodonAPIError:
                return None
            return frozenset(map(str, said)) if isinstance(said, Iterable) and said else None

        return self._client.ask(listed)

    def post(self, message: Message, text: str, key: str) -> Sent:
        """Posts the text as a status."""

        def posted() -> Sent:
            status = self._api.status_post(
                text,
                visibility=message.visibility,
                spoiler_text=message.spoiler or None,
                language=message.language or None,
                idempotency_key=key,
            )
            return Sent(remote_id=an_id(status["id"]), url=str(status.get("url") or ""))

        return self._client.ask(posted, posting=True)

    def delete(self, status_id: str) -> None:
        """Deletes a status; one that is gone already is deleted, too."""

        def deleted() -> None:
            with suppress(MastodonNotFoundError):
                self._api.status_delete(status_id)

        self._client.ask(deleted)

    def find(self, link: str, *, beginning: str, since: datetime) -> str:
        """The id of the account's own status with that link that begins so, among its last 40 and since then;
        else "". Several newsletters may post one link."""
        return self._client.ask(lambda: self._find(link, _unspaced(beginning), since - CLOCKS_DIFFER))

    def _find(self, link: str, beginning: str, since: datetime) -> str:
        me = self._api.account_verify_credentials()["id"]
        statuses = self._api.account_statuses(me, limit=STATUSES_LOOKED_AT, exclude_reblogs=True)
        for status in statuses:
            created = status.get("created_at")
            if isinstance(created, datetime) and not created.tzinfo:
                created = created.replace(tzinfo=UTC)
            # A status without a readable date counts: better looked at than posted twice.
            if isinstance(created, datetime) and created < since:
                continue
            content = str(status.get("content", ""))
            if holds(content, link) and _unspaced(shown_text(content)) == beginning:
                return an_id(status["id"])
        return ""


def _unspaced(text: str) -> str:
    """The beginning of a text without its spaces and lines, which an instance may write otherwise."""
    return "".join(text.split())[:BEGINNING]
