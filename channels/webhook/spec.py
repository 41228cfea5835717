import base64

from channels import fields
from channels.bridge import BridgeSpec
from channels.rules.webhooks import KEY_PREFIX, secret_of
from common.ports.channels import Field

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
    address_field = "webhook_url"
    destination_fields = (
        fields.name("shop"),
        fields.secret(
            "webhook_url",
            "Address",
            "The address of your program. Keep it secret: anyone who knows it may be able to post there.",
            fields.posting_url("shop.example"),
        ),
        fields.secret(
            "signing_secret",
            "Signing secret",
            "whsec_ and 24 to 64 bytes in base64. Create it with openssl rand -base64 32 and also "
            "give it to your program.",
            signing_secret,
        ),
    )
    own_options = (
        Field("content", "Full posts", choices=lambda: [("", "No"), ("html", "Yes, as cleaned HTML")]),
    )
