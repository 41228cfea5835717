"""A picture for link previews of issues without one."""

import hashlib
from functools import partial

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from common.ttl_cache import TtlCache
from delivery.views.issues import issue_or_404
from delivery.views.preview import accent_of
from subscriptions.rules.colours import as_hex, on_colour
from subscriptions.views.newsletters import HEADERS

# Has Latin, Greek and Cyrillic letters. Unfold is shipped with it.
FONT = "unfold/fonts/inter/Inter-{}.woff2"
# Increase when the same words are drawn differently.
CARD_VERSION = "1"
_cards: TtlCache[bytes] = TtlCache(room=8_000_000, seconds=86_400, size=len)


@require_safe
def issue_picture(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Draw an issue's title in its newsletter's colour."""
    issue = issue_or_404(name, pk)
    colour = as_hex(accent_of(issue.subscribable))
    words = (issue.title, str(issue.subscribable), settings.SITE_HOST, colour)
    key = hashlib.sha256(repr((CARD_VERSION, words)).encode()).hexdigest()[:32]
    response = get_conditional_response(request, quote_etag(key), None)
    if response is None:
        response = HttpResponse(_cards.get(key, partial(_drawn, *words)), content_type="image/png")
    for header, value in HEADERS.items():
        response.headers[header] = value
    response.headers["ETag"], response.headers["Cache-Control"] = quote_etag(key), "public, max-age=86400"
    return response


def _drawn(title: str, name: str, host: str, colour: str) -> bytes:
    from common.pictures.card import card  # large

    bold, medium = (str(finders.find(FONT.format(weight))) for weight in ("Bold", "Medium"))
    ink = on_colour(colour)
    return card(title=title, name=name, host=host, ground=colour, ink=ink, bold=bold, medium=medium)
