"""Looks at an Apprise URL before it is saved."""

from collections.abc import Sequence

from channels.apprise.service import ApprisedService, CannotUse
from channels.http.transport import TIMEOUT_SECONDS
from common.net.addresses import Network
from common.ports.channels import InvalidDestination, ParsedDestination


def check_url(
    destination: ParsedDestination,
    *,
    allow: Sequence[Network] | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> None:
    """Raises InvalidDestination. Nothing is posted, so whether a token is good remains to be seen."""
    url = destination.secrets["apprise_url"]
    try:
        ApprisedService(url, timeout=timeout, allow=allow).reach()
    except CannotUse as error:
        raise InvalidDestination(f"apprise_url: {error}") from None
