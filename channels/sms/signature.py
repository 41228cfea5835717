"""Whether what comes in is Twilio's: https://www.twilio.com/docs/usage/security#validating-requests. Pure."""

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha1
from urllib.parse import urlsplit, urlunsplit

from channels.http.links import DEFAULT_PORTS


def signature_of(token: str, url: str, form: Mapping[str, Sequence[str]]) -> str:
    """HMAC-SHA1, keyed with the account's token, of the address and the form's fields in their order.

    Of a field that comes several times each value counts once.
    """
    fields = (f"{name}{value}" for name in sorted(form) for value in sorted(set(form[name])))
    mac = hmac.new(token.encode(), (url + "".join(fields)).encode("utf-8", "replace"), sha1)
    return b64encode(mac.digest()).decode()


def is_signed(token: str, url: str, form: Mapping[str, Sequence[str]], given: str) -> bool:
    """Whether `given` is the signature; Twilio may have written the port into the address, or left it out."""
    octets = given.encode("utf-8", "replace")
    good = [
        hmac.compare_digest(octets, signature_of(token, one, form).encode()) for one in (url, _with_port(url))
    ]
    return bool(token) and any(good)


def _with_port(url: str) -> str:
    parts = urlsplit(url)
    port = DEFAULT_PORTS.get(parts.scheme)
    if parts.port is not None or port is None:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.netloc}:{port}"))
