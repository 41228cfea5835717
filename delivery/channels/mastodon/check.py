"""Asks an instance whether a token is good, before it is saved."""

import requests

from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.channels.base import Permanent, Sent
from delivery.channels.http.client import Failed
from delivery.channels.http.transport import TIMEOUT_SECONDS, Transport
from delivery.channels.mastodon.client import POSTS, READS, Client

HOW = "Make one on the instance under Preferences, Development, with the scopes read and write:statuses."


def check_token(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> str:
    """The account the token is for. Raises InvalidDestination with what the instance said, or with what the
    token may not do."""
    transport = Transport(session)
    url, token = destination.config["instance_url"], destination.secrets["access_token"]
    client = Client(transport, url, token, timeout, utcnow())
    try:
        account, scopes = client.account(), client.scopes()
    except Failed as failed:
        outcome = failed.outcome
        if isinstance(outcome, Permanent) and outcome.disables:
            sentence = f"access_token: {client.host} does not accept it. {HOW}"
        elif isinstance(outcome, Permanent):
            sentence = f"instance_url: {client.host} does not look like a Mastodon instance."
        else:
            why = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
            sentence = f"instance_url: the access token could not be checked. {why}"
        raise InvalidDestination(sentence) from failed
    finally:
        transport.close()
    # Without reading, what became of a post whose answer was lost could not be looked up.
    for needed, what in ((POSTS, "post"), (READS, "read its own posts")):
        if scopes is not None and not scopes & needed:
            raise InvalidDestination(f"access_token: it may not {what}. {HOW}")
    return account
