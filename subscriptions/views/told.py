"""What a page says after a form was taken, carried along to the address that the browser is sent to.

So a reload or Back sends no form again. It is encrypted: addresses of people stand in no log of a proxy.
"""

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlencode

from django.http import HttpRequest

from common.secrets import decrypt, encrypt

PARAMETER, PURPOSE = "told", "told"
LONGEST = 4000


def told_url(path: str, values: Mapping[str, str]) -> str:
    """The address that says these values; the path may have parameters of its own."""
    said = urlencode({PARAMETER: encrypt({**values, "": PURPOSE})})
    return f"{path}{'&' if '?' in path else '?'}{said}"


def read_told(request: HttpRequest) -> dict[str, str] | None:
    """The values. None where the address says none, or what we never said."""
    token = request.GET.get(PARAMETER, "")
    if not token or len(token) > LONGEST:
        return None
    with suppress(ValueError, TypeError):
        values = decrypt(token)
        if values.pop("", "") == PURPOSE:
            return values
    return None
