"""Asks an instance whether a token is good, before it is saved."""

import requests

from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.channels.base import Permanent, Sent
from delivery.channels.mastodon.client import Client, Failed
from delivery.channels.mastodon.transport import TIMEOUT_SECONDS, Transport, safe_session


def check(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> str:
    """The account the token is for. Raises InvalidDestination with what the instance said."""
    transport = Transport(session or safe_session())
    url, token = destination.config["instance_url"], destination.secrets["access_token"]
    client = Client(transport, url, token, timeout, utcnow())
    try:
        return client.account()
    except Failed as failed:
        raise InvalidDestination(_sentence(failed, client.host)) from failed
    finally:
        transport.close()


def _sentence(failed: Failed, host: str) -> str:
    outcome = failed.outcome
    if isinstance(outcome, Permanent) and outcome.disables:
        return (
            f"access_token: {host} does not accept it. Make one on the instance under Preferences,"
            " Development, with the scopes read and write:statuses."
        )
    if isinstance(outcome, Permanent):
        return f"instance_url: {host} does not look like a Mastodon instance."
    why = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
    return f"instance_url: the access token could not be checked. {why}"
