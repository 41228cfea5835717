"""One service of Apprise's, made anew for each message: it sleeps between those of one object."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from common.net.addresses import Network, NotAllowed, callable_addresses
from common.transactions import forbid_open_transaction
from delivery.channels.apprise.services import ServiceAddress, service_address


class CannotUse(Exception):
    """Nothing was sent. The message is a sentence for people, without secrets."""


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """Whether a service took a message, and else what Apprise logged of it."""

    taken: bool
    words: str = ""


class ApprisedService:
    """Raises CannotUse for a URL that Apprise cannot read, or that has another number of targets than one."""

    def __init__(self, url: str, *, timeout: float) -> None:
        # It is large, and most processes never need it.
        import apprise

        self._asset = apprise.AppriseAsset(
            async_mode=False,
            http_redirects=False,
            interpret_emojis=False,
            app_id="Feedletter",
            app_desc="Feedletter",
            app_url="",
            image_url_mask="",
            image_url_logo="",
        )
        self._service: Any = apprise.Apprise.instantiate(url, asset=self._asset)
        if self._service is None:
            raise CannotUse("Apprise cannot read this URL.")
        if len(self._service) != 1:
            raise CannotUse("The URL has to have one target: make a destination for each.")
        self._service.socket_connect_timeout = self._service.socket_read_timeout = timeout

    @property
    def most_characters(self) -> int:
        return int(self._service.body_maxlen)

    def send(self, text: str) -> ServiceReply:
        """Sends the text (network)."""
        import apprise

        forbid_open_transaction()
        sender = apprise.Apprise(asset=self._asset)
        sender.add(self._service)
        result = sender.notify(body=text, body_format=apprise.NotifyFormat.TEXT)
        return ServiceReply(bool(result), " ".join(str(entry.message) for entry in result.logs()))


def reach(url: str, *, allow: Sequence[Network] | None, timeout: float) -> ServiceAddress:
    """Sees that the server may be called, and listens (network). Raises CannotUse.

    Apprise would call any address, and tells a refused connection no otherwise than a lost answer. The name
    is looked up here and once more by Apprise: who runs a name's DNS may give another answer then.
    """
    forbid_open_transaction()
    place = service_address(url)
    if not place.host:
        return place
    try:
        found = callable_addresses(
            place.host, place.port, allow=settings.ALLOW_PRIVATE_NETWORKS if allow is None else allow
        )
        socket.create_connection((found[0], place.port), timeout=timeout).close()
    except NotAllowed:
        raise CannotUse(
            f"{place.host} has a private address, which ALLOW_PRIVATE_NETWORKS does not name."
        ) from None
    except OSError:
        raise CannotUse(f"{place.host} cannot be reached.") from None
    return place
