"""The frame of all services: refusals, secrets, failures and the look-up are handled here.

Threads of posts, each made once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

import requests

from channels.base import (
    NO_POST,
    NOTHING,
    TOO_LONG,
    Ambiguous,
    LaneFacts,
    Message,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.http.client import ApiClient, Failed, Target, secrets_in, told_at_fields
from channels.http.outcomes import ApiService
from channels.http.transport import TIMEOUT_SECONDS, Transport
from common.clock import utcnow
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.truncation import DoesNotFit

# Text, key, previous id ("" for the first) → post. Raises Failed.
PostReply = Callable[[str, str, str], Sent]
# Text, previous id → an earlier attempt's post. Raises Failed.
LookUp = Callable[[str, str], Sent | None]
NO_LANE = LaneFacts("", "")
NO_CREDENTIALS = "the account has no token. Save it again."


class ServiceSession(ABC):
    """Session of a service (see Session). Used by one thread at a time.

    `session` replaces that of the safe client. `timeout` is in seconds per request.
    `post`, `find`, `checked` and the like raise Failed. `state` is kept for the lane's next sessions.
    """

    service: ApiService
    # Fields that a failed check concerns: the address, and a refused token.
    address_field, token_field = "server_url", "access_token"
    # How to get another token; without it, the service's words are shown.
    token_help = ""
    # Values of a shared account.
    account_fields: tuple[Field, ...] = ()
    # Whether posts can be changed: see EditingSession and DeletingSession.
    edits = deletes = False

    def __init__(
        self,
        lane: LaneFacts = NO_LANE,
        *,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._session, self.timeout = session, timeout
        self.credentials, self.state = lane.credentials, dict(lane.state)
        self._kept = dict(lane.state)

    @cached_property
    def transport(self) -> Transport:
        return Transport(self._session)

    def new_refusals(self) -> int:
        """Return and reset the number."""
        if "transport" not in self.__dict__:
            return 0
        refusals, self.transport.refusals = self.transport.refusals, 0
        return refusals

    def close(self) -> None:
        if "transport" in self.__dict__:
            self.transport.close()
            del self.transport

    def address(self, to: Target) -> str:
        return {**to.config, **to.secrets}[self.address_field]

    def headers(self, to: Target) -> Mapping[str, str]:
        token = to.secrets.get("access_token")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def hidden(self, to: Target) -> list[str]:
        """Return texts that no outcome may contain."""
        values = (*self.credentials.values(), *to.secrets.values())
        return [part for value in values for part in (secrets_in(value) if "://" in value else (value,))]

    def api(self, to: Target, now: datetime, **attempt: Any) -> ApiClient:
        return ApiClient(
            self.transport,
            self.address(to),
            self.service,
            now,
            secrets=self.hidden(to),
            timeout=self.timeout,
            headers=self.headers(to),
            to=to,
            **attempt,
        )

    def send(
        self,
        message: Message[Any],
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        return self.outcome(message, now, self._send, key=key, begun_at=begun_at, progress=progress)

    def outcome(
        self, message: Message[Any], now: datetime, act: Callable[[ApiClient, Any], Outcome], **attempt: Any
    ) -> Outcome:
        if message.refusal:
            return Permanent(message.refusal)
        if not self.has_credentials:
            return Temporary(f"Nothing was posted: {NO_CREDENTIALS}", stops_account=True)
        try:
            return act(self.api(message, now, **attempt), message.body)
        except DoesNotFit:
            return Permanent(TOO_LONG)
        except Failed as failed:
            return failed.outcome

    def _send(self, api: ApiClient, body: Any) -> Outcome:
        if api.begun_at is not None:
            try:
                found = self.find(api, body, api.begun_at)
            except Failed as failed:
                return not_looked_up(failed.outcome, holds=True)
            if found is not None:
                return found
        return self.post(api, body)

    def find(self, api: ApiClient, body: Any, begun_at: datetime) -> Sent | None:
        """Return the post of an unfinished attempt, if the service can be asked."""
        return None

    @abstractmethod
    def post(self, api: ApiClient, body: Any) -> Outcome: ...

    @property
    def has_credentials(self) -> bool:
        return all(self.credentials.get(field.name) for field in self.account_fields)

    def check_destination(self, destination: ParsedDestination) -> ParsedDestination:
        """Check a destination and add the service's names (network). Raises InvalidDestination."""
        if not self.has_credentials:
            raise InvalidDestination(f"account: {NO_CREDENTIALS}")
        api = self.api(destination, utcnow())
        # Only a server that somebody typed can be another one.
        is_typed = "://" in destination.config.get(self.address_field, "")
        errors = told_at_fields(
            self.address_field,
            credentials=self.token_field,
            account="account",
            refused=f"{api.host} doesn’t accept it. {self.token_help}" if self.token_help else "",
            elsewhere=f"{api.host} doesn’t look like {self.service.name}." if is_typed else "",
        )
        with closing(self), errors:
            return self.checked(api, destination)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Without a way to ask, only a post can test it."""
        return destination

    def check_credentials(self) -> str:
        """Return the name of the shared account (network). Raises InvalidDestination."""
        field = next(field.name for field in self.account_fields if field.secret)
        if not self.has_credentials:
            raise InvalidDestination(f"{field}: {NO_CREDENTIALS}")
        with closing(self), told_at_fields(field, account=field):
            return self.account_name(self.api(Message(None), utcnow()))

    def account_name(self, api: ApiClient) -> str:
        raise NotImplementedError

    def new_state(self) -> Mapping[str, str] | None:
        """See StatefulSession."""
        if self.state == self._kept:
            return None
        self._kept = dict(self.state)
        return dict(self.state)


class EditingSession(ServiceSession):
    edits = True

    def edit(
        self, message: Message[Any], *, remote_id: str, parts: Sequence[str], key: str, now: datetime
    ) -> Outcome:
        """See Edits."""
        return self.outcome(message, now, lambda api, body: self.change(api, body, remote_id, parts), key=key)

    @abstractmethod
    def change(self, api: ApiClient, body: Any, remote_id: str, parts: Sequence[str]) -> Outcome: ...


class DeletingSession(ServiceSession):
    deletes = True

    def delete(
        self, message: Message[Any], *, remote_id: str, parts: Sequence[str], now: datetime
    ) -> Outcome:
        """See Deletes. Without a body: there is no post to compose."""
        place = replace(message, body=None, refusal="")
        outcome = self.outcome(place, now, lambda api, _: self.remove(api, remote_id, parts))
        return Sent(remote_id) if outcome == NO_POST else outcome

    @abstractmethod
    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Outcome: ...


def post_thread(
    texts: Sequence[str],
    post: PostReply,
    *,
    key: str,
    progress: Mapping[str, Any],
    look_up: LookUp | None = None,
) -> Sent:
    """Post the missing texts; the n-th has the key `<key>-n`. Raises Failed.

    A text that is refused after the first ends the thread; posted texts remain.
    """
    posted, remark = [Sent(*one) for one in progress.get("posted", ())], ""
    for count, text in enumerate(texts[len(posted) :], len(posted) + 1):
        before = posted[-1].remote_id if posted else ""
        try:
            try:
                found = look_up(text, before) if look_up else None
            except Failed as failed:
                # Only a person can decide.
                raise Failed(not_looked_up(failed.outcome, holds=True)) from None
            posted.append(found or post(text, key if count == 1 else f"{key}-{count}", before))
        except Failed as failed:
            if posted and isinstance(failed.outcome, Permanent):
                remark = cut_short(len(posted), len(texts), failed.outcome)
                break
            done = {"posted": [[one.remote_id, None, one.url] for one in posted]} if posted else {}
            raise Failed(carrying(failed.outcome, done)) from None
    return replace(posted[0], parts=tuple(one.remote_id for one in posted[1:]), remark=remark)


def cut_short(posted: int, of: int, why: Permanent) -> str:
    return f"The thread ends after {posted} of {of} posts. {why.text}"


def not_looked_up(outcome: Outcome, *, holds: bool) -> Ambiguous:
    why = "" if isinstance(outcome, Sent) else outcome.text
    return Ambiguous(f"Couldn’t check whether it arrived. {why}", holds=holds)


def carrying(outcome: Outcome, done: Mapping[str, Any]) -> Outcome:
    """Add earlier progress to an outcome that is not final."""
    if not done or not isinstance(outcome, Temporary | Ambiguous):
        return outcome
    return replace(outcome, progress={**done, **(outcome.progress or {})})
