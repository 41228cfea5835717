"""Checks of a destination before it is saved, whose failures are told at the field they are about."""

from collections.abc import Iterator
from contextlib import contextmanager

from common.ports.channels import InvalidDestination
from delivery.channels.base import Permanent, Sent
from delivery.channels.http.client import Failed


@contextmanager
def told_at_fields(host: str, *, secret: str, address: str, how: str, service: str) -> Iterator[None]:
    """Turns Failed into InvalidDestination. `secret` and `address` are fields' names, `how` says how to get a
    good secret, `service` completes “does not look like ...”."""
    try:
        yield
    except Failed as failed:
        outcome = failed.outcome
        if isinstance(outcome, Permanent) and outcome.disables:
            sentence = f"{secret}: {host} does not accept it. {how}"
        elif isinstance(outcome, Permanent):
            sentence = f"{address}: {host} does not look like {service}."
        else:
            why = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
            sentence = f"{address}: the {secret.replace('_', ' ')} could not be checked. {why}"
        raise InvalidDestination(sentence) from failed
