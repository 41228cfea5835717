"""Notifications on devices."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from common.net.addresses import may_be_called
from common.ports.channels import ChannelSpec, Field, ParsedDestination, read_fields
from subscriptions.rules.schedule import ARRANGEMENTS

LONGEST_ENDPOINT = 1_000
LOCAL_ENDINGS = (".localhost", ".local", ".internal")
NO_ADDRESS = "this isn’t the https address of a push service."


def push_endpoint(typed: str) -> str:
    """Check the URL of a push service. Raises ValueError.

    Names are resolved at each call. Addresses must be public or allowed; https is optional only for loopback,
    where nobody can listen.
    """
    try:
        parts = urlsplit(typed)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError(NO_ADDRESS) from None
    usable = typed.isascii() and typed.isprintable() and len(typed) <= LONGEST_ENDPOINT and " " not in typed
    if not usable or parts.username is not None or parts.fragment:
        raise ValueError(NO_ADDRESS)
    try:
        address = ip_address(host)
    except ValueError:
        is_loopback, is_public = False, "." in host and not host.endswith(LOCAL_ENDINGS)
    else:
        is_loopback = address.is_loopback
        is_public = may_be_called(address, settings.ALLOW_PRIVATE_NETWORKS)
    if not is_public:
        raise ValueError("its host isn’t public.")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        raise ValueError(NO_ADDRESS)
    return typed


def _point(typed: str) -> str:
    # Imported late: commands and forms load the specs at each start.
    from channels.webpush.keys import public_key_of

    try:
        public_key_of(typed)
    except ValueError:
        raise ValueError("that is no key of a browser.") from None
    return typed


def _secret(typed: str) -> str:
    from channels.webpush.keys import AUTH_OCTETS, from_base64url

    try:
        from_base64url(typed, AUTH_OCTETS)
    except ValueError:
        raise ValueError("that is no secret of a browser.") from None
    return typed


class WebPushSpec(ChannelSpec):
    """The browser's permission prompt is the consent; only a push can test a push service."""

    key = "webpush"
    label = "Notifications on devices"
    sentence = "Notifies the phones and desktops of subscribers who turned it on at a newsletter’s page."
    public_sign_up = True
    is_companion = True
    arrangements = frozenset(ARRANGEMENTS)
    option_fields: tuple[Field, ...] = ()
    # From a PushSubscription of the Push API.
    destination_fields: tuple[Field, ...] = (
        Field("endpoint", "Endpoint", required=True, secret=True, clean=push_endpoint),
        Field("p256dh", "Public key", required=True, secret=True, clean=_point),
        Field("auth", "Secret", required=True, secret=True, clean=_secret),
    )

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        """The `core` is hash@host: knowing the endpoint is enough to push. Raises InvalidDestination."""
        given = read_fields(self.destination_fields, data, owner=self.label)
        host = (urlsplit(given["endpoint"]).hostname or "").lower()
        digest = sha256(given["endpoint"].encode()).digest()[:18]
        name = urlsafe_b64encode(digest).decode()
        return ParsedDestination(
            core=f"{name}@{host}", label=f"device {name[:6]} ({host})", secrets={**given}
        )
