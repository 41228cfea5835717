"""Under which addresses this site signs people in, and by which it is known as a client."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from common.net.addresses import read_address
from reader.models import Reader

# Where other sites may lead back to after somebody said yes there. Whatever asks them adds its own.
RETURNS: tuple[str, ...] = ("reader:site_back", "reader_sign_in_back", "reader:connected")


def site_url(name: str, *args: object) -> str:
    """The whole address of a page of ours."""
    return settings.SITE_URL + reverse(name, args=args)


def issuer() -> str:
    """What this site calls itself where it signs people in (RFC 9207)."""
    return f"{settings.SITE_URL}/"


def profile_of(reader: Reader) -> str:
    """The address that stands for a reader, where they sign in by this site."""
    return site_url("reader:profile", reader.slug)


def our_client_id() -> str:
    """The address that stands for this site, where it asks others to sign somebody in."""
    return site_url("reader:client_document")


def is_trial() -> bool:
    """Whether this site is only reached from its own machine."""
    host = urlsplit(settings.SITE_URL).hostname or ""
    address = read_address(host)
    return host == "localhost" or bool(address and address.is_loopback)
