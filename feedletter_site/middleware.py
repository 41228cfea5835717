"""What a trusted proxy says about the client, and what nobody else may say."""

import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from feedletter_site.env import Network


def client_address(remote: str, forwarded_for: str, trusted: list[Network]) -> str:
    """The nearest address that is not a trusted proxy, reading X-Forwarded-For from the right."""
    address = remote
    for hop in reversed([part.strip() for part in forwarded_for.split(",") if part.strip()]):
        if not is_trusted(address, trusted):
            break
        address = hop
    return address


def is_trusted(address: str, trusted: list[Network]) -> bool:
    try:
        return any(ipaddress.ip_address(address) in network for network in trusted)
    except ValueError:
        return False


class ProxyMiddleware:
    """Applies X-Forwarded-For and -Proto from TRUSTED_PROXIES; drops them from anyone else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        forwarded_for = request.META.pop("HTTP_X_FORWARDED_FOR", "")
        proto = request.META.pop("HTTP_X_FORWARDED_PROTO", "")
        remote = request.META.get("REMOTE_ADDR", "")
        if is_trusted(remote, settings.TRUSTED_PROXIES):
            request.META["REMOTE_ADDR"] = client_address(remote, forwarded_for, settings.TRUSTED_PROXIES)
            if proto in {"http", "https"}:
                request.META["wsgi.url_scheme"] = proto
        return self.get_response(request)
