"""What the sessions of bridges have in common: a transport for all their messages, opened at the first."""

from collections.abc import Collection
from datetime import datetime

import requests

from common.ports.channels import InvalidDestination
from delivery.channels.base import Permanent, Sent
from delivery.channels.http.client import ApiClient, Failed, host_of
from delivery.channels.http.outcomes import ApiService
from delivery.channels.http.transport import TIMEOUT_SECONDS, Transport


class ApiSession:
    """Used by one thread at a time, for whatever destination a message names.

    `session` stands in for the safe client's, `timeout` is in seconds for each request.
    """

    def __init__(self, *, session: requests.Session | None = None, timeout: float = TIMEOUT_SECONDS) -> None:
        self._session, self._timeout = session, timeout
        self._transport: Transport | None = None

    def client(self, url: str, service: ApiService, now: datetime, *, secrets: Collection[str]) -> ApiClient:
        """What asks the service at `url` for one message."""
        if self._transport is None:
            self._transport = Transport(self._session)
        return ApiClient(self._transport, host_of(url), service, now, secrets=secrets, timeout=self._timeout)

    def close(self) -> None:
        if self._transport:
            self._transport.close()
            self._transport = None


def invalid(failed: Failed, secret: str, place: str) -> InvalidDestination:
    """What to tell who saves a destination that its service did not accept.

    `secret` and `place` are the names of the fields that hold the credentials and the address.
    """
    outcome = failed.outcome
    why = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
    field = secret if isinstance(outcome, Permanent) and outcome.disables else place
    return InvalidDestination(f"{field}: {why}")
