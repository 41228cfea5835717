import base64
from collections.abc import Mapping
from urllib.parse import urlsplit

from channels.bridge import BridgeSpec
from channels.fields import posting_url, short_name
from channels.rules.webhooks import KEY_PREFIX, secret_of
from common.ports.channels import Field, InvalidDestination, ParsedDestination

# "Between 24 bytes (192 bits) and 64 bytes (512 bits)."
SHORTEST_KEY, LONGEST_KEY = 24, 64


def signing_secret(typed: str) -> str:
    try:
        key = base64.b64decode(typed.removeprefix(KEY_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise ValueError("enter whsec_ and 24 to 64 bytes in base64, as made by openssl rand -base64 32.")
    return secret_of(key)


class WebhookSpec(BridgeSpec):
    """Announces each post to another program."""

    key = "webhook"
    label = "Webhook"
    sentence = "A signed request to your program."
    edits = True
    destination_fields = (
        Field("account", "Name", "A short name, such as shop.", required=True, clean=short_name),
        Field(
            "webhook_url",
            "Address",
            "The address of your program. Keep it secret: anyone who knows it may be able to post there.",
            required=True,
            secret=True,
            clean=posting_url("shop.example"),
        ),
        Field(
            "signing_secret",
            "Signing secret",
            "whsec_ and 24 to 64 bytes in base64. Create it with openssl rand -base64 32 and also "
            "give it to your program.",
            required=True,
            secret=True,
            clean=signing_secret,
        ),
    )
    own_options = (
        Field("content", "Full posts", choices=lambda: [("", "No"), ("html", "Yes, as cleaned HTML")]),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is name@host."""
        host = urlsplit(given["webhook_url"]).netloc
        if not host:
            raise InvalidDestination("webhook_url: the host is missing.")
        return ParsedDestination(
            core=f"{given['account']}@{host}",
            label=f"{given['account']} at {host}",
            config={"account": given["account"], "host": host},
            secrets={name: given[name] for name in ("webhook_url", "signing_secret")},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """The other program would mistake a test for a post."""
        return destination
