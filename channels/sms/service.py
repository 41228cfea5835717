"""Twilio's error codes: https://www.twilio.com/docs/api/errors"""

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha1
from urllib.parse import urlsplit, urlunsplit

from channels.http.links import DEFAULT_PORTS
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse

TWILIO_API = "https://api.twilio.com"
SAID_STOP = 21610
_GONE = (
    21211,  # invalid number
    21214,  # cannot be reached
    21408,  # a country that the account may not write to
    SAID_STOP,  # its owner answered STOP
    21612,  # no route from the sender
    21614,  # not a mobile phone
    21635,  # a landline
)
_ACCOUNT = (
    20003,  # the token
    20005,  # not active
    20404,  # no such account
    21603, 21606, 21659, 21660,  # the sender
    21703, 21704, 21705,  # the messaging service
    30002,  # suspended
)  # fmt: skip
# The queue is full; too many requests.
_BUSY = (20429, 21611, 30001)
# Unreachable; unknown reason.
_AGAIN = (30003, 30008)


def signature_of(token: str, url: str, form: Mapping[str, Sequence[str]]) -> str:
    """Return HMAC-SHA1 of URL and sorted fields. Repeated values count once."""
    fields = (f"{name}{value}" for name in sorted(form) for value in sorted(set(form[name])))
    mac = hmac.new(token.encode(), (url + "".join(fields)).encode("utf-8", "replace"), sha1)
    return b64encode(mac.digest()).decode()


def is_signed(token: str, url: str, form: Mapping[str, Sequence[str]], given: str) -> bool:
    """Twilio may sign the URL with or without the port."""
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


def said_in(answer: ApiResponse) -> str:
    words, code = answer.at("message"), answer.at("code")
    if not isinstance(words, str):
        return ""
    return f"{words} ({code})" if isinstance(code, int) and str(code) not in words else words


TWILIO = ApiService(
    name="Twilio",
    words=said_in,
    # Some answers for a missing account have no code.
    code=lambda answer: 20003 if answer.status == 401 else answer.at("code"),
    verdicts={
        **dict.fromkeys(_GONE, Verdict.DESTINATION),
        **dict.fromkeys(_ACCOUNT, Verdict.SHARED),
        **dict.fromkeys(_BUSY, Verdict.STOPS),
        **dict.fromkeys(_AGAIN, Verdict.TRY_AGAIN),
        21617: Verdict.MESSAGE,
    },
    advice="Look up the code at twilio.com/docs/api/errors.",
)
