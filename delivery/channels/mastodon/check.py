"""Asks an instance whether a token is good, before it is saved."""

import requests

from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.channels.base import Permanent, Sent
from delivery.channels.mastodon.client import Client, Failed
from delivery.channels.mastodon.transport import TIMEOUT_SECONDS, Transport, safe_session


def check_token(
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
        outcome = failed.outcome
        if isinstance(outcome, Permanent) and outcome.disables:
            sentence = (
                f"access_token: {client.host} does not accept it. Make one on the instance under Preferences,"
                " Development, with the scopes read and write:statuses."
            )
        elif isinstance(outcome, Permanent):
            sentence = f"instance_url: {client.host} does not look like a Mastodon instance."
        else:
            why = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
            sentence = f"instance_url: the access token could not be checked. {why}"
        raise InvalidDestination(sentence) from failed
    finally:
        transport.close()
