"""What a lane's sessions are given of its account."""

from collections.abc import Mapping

from channels.account import EMAIL
from channels.base import LaneFacts
from common.secrets import Sealed, opened
from delivery.accounts.accounts import url_of
from delivery.lanes.lanes import is_of_destination
from delivery.models import Account, Lane


def facts_of(lane: Lane) -> LaneFacts:
    """The lane with its account's credentials and its state; empty where they cannot be read any more."""
    credentials: Mapping[str, str] = {}
    if lane.kind == EMAIL:
        credentials = {"url": url_of(lane)}
    elif lane.parent is not None or not is_of_destination(lane):
        # A lane is its account's, or a part of it.
        name = (lane.parent or lane).account
        account = Account.objects.filter(kind=lane.kind, name=name).first()
        credentials = _read(account.secrets) if account else {}
    return LaneFacts(
        lane.kind, lane.account, credentials, lane.messages_per_connection, state=_read(lane.state)
    )


def _read(secrets: Sealed | dict[str, str]) -> dict[str, str]:
    try:
        return opened(secrets)
    except ValueError:
        return {}
