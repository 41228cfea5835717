"""A session with a service's API, which opens its connection at the first message."""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import cached_property

import requests

from channels.base import Outcome, Permanent
from channels.http.client import ApiClient, Failed, host_of
from channels.http.outcomes import ApiService
from channels.http.transport import TIMEOUT_SECONDS, Transport
from common.truncation import DoesNotFit


class ApiSession:
    """What a channel's own session builds upon. Used by one thread at a time.

    `session` stands in for the safe client's, `timeout` is in seconds for each request.
    """

    def __init__(self, *, session: requests.Session | None = None, timeout: float = TIMEOUT_SECONDS) -> None:
        self._session, self.timeout = session, timeout

    @cached_property
    def transport(self) -> Transport:
        return Transport(self._session)

    def client(self, url: str, service: ApiService, now: datetime, *, secrets: Collection[str]) -> ApiClient:
        """What asks the service at `url` for one message."""
        return ApiClient(self.transport, host_of(url), service, now, secrets=secrets, timeout=self.timeout)

    def new_refusals(self) -> int:
        """As CountsRefusals has it."""
        if "transport" not in self.__dict__:
            return 0
        refusals, self.transport.refusals = self.transport.refusals, 0
        return refusals

    def close(self) -> None:
        if "transport" in self.__dict__:
            self.transport.close()
            del self.transport


def outcome_of(act: Callable[[], Outcome]) -> Outcome:
    """What it returns, or what its failure means."""
    try:
        return act()
    except DoesNotFit:
        return Permanent("The link alone is longer than what the service takes.")
    except Failed as failed:
        return failed.outcome
