"""Asks an instance whether a token is good, before it is saved."""

from contextlib import closing
from dataclasses import replace

from channels.http.checking import told_at_fields
from channels.http.session import ApiSession
from channels.mastodon.client import MASTODON, Client
from channels.mastodon.spec import SCOPES
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination

HOW = f"Make one on the instance under Preferences, Development, with the scopes {SCOPES}."
# Without reading, what became of a post whose answer was lost could not be looked up.
NEEDED = ({"write", "write:statuses"}, "post"), ({"read", "read:statuses"}, "read its own posts")


def check_token(destination: ParsedDestination, session: ApiSession | None = None) -> ParsedDestination:
    """The destination with the id of the token's account. Raises InvalidDestination with what the instance
    said, or with what the token may not do."""
    url, token = destination.config["instance_url"], destination.secrets["access_token"]
    with closing(session or ApiSession()) as opened:
        client = Client(opened, url, token, utcnow())
        refused = f"{client.host} does not accept it. {HOW}"
        elsewhere = f"{client.host} does not look like {MASTODON.name}."
        with told_at_fields("instance_url", credentials="access_token", refused=refused, elsewhere=elsewhere):
            (number, _), scopes = client.account(), client.scopes()
    for some, what in NEEDED:
        if scopes and not scopes & some:
            raise InvalidDestination(f"access_token: it may not {what}. {HOW}")
    return replace(destination, config={**destination.config, "account_id": number})
