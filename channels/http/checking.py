"""Checks of a destination before it is saved, whose failures are told at the field they are about."""

from collections.abc import Iterator
from contextlib import contextmanager

from channels.base import Permanent, Sent, Temporary
from channels.http.client import Failed
from common.ports.channels import InvalidDestination


@contextmanager
def told_at_fields(
    address: str, *, credentials: str = "", account: str = "", refused: str = "", elsewhere: str = ""
) -> Iterator[None]:
    """Turns Failed into InvalidDestination, at one of the fields named.

    `address` says where; `credentials` has the destination's own, and `account` those that it shares, where
    other fields have them. Two sentences may say it better than the service's own words: `refused` when
    the credentials are not good, `elsewhere` when what answers is not the service.
    """
    try:
        yield
    except Failed as failed:
        outcome = failed.outcome
        text = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
        if isinstance(outcome, Temporary) and outcome.stops_account:
            field = account or address
        elif isinstance(outcome, Permanent) and outcome.disables:
            field, text = credentials or address, refused or text
        elif isinstance(outcome, Permanent):
            field, text = address, elsewhere or text
        else:
            field, text = address, f"it could not be checked. {text}"
        raise InvalidDestination(f"{field}: {text}") from None
