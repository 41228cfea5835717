"""Ways to get a newsletter besides its form: RSS, and accounts and rooms that bridges post to."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from channels.bridge import Bridge
from common.ports import channels as kinds
from common.ports.ways import Way
from subscriptions.links import page_url
from subscriptions.models import Subscribable, Subscription

DRAWINGS = ("services.svg", "ways.svg")
MOST_BRIDGES = 8
FIRST, LAST = 10, 90
_SYMBOL = re.compile(r'<symbol id="([a-z_]+)" (viewBox="[0-9 ]+")>(.*?)</symbol>', re.DOTALL)
_STATIC = Path(__file__).parents[1] / "static/feedletter"


def icon(key: str) -> SafeString:
    return _icons().get(key, SafeString())


@cache
def _icons() -> dict[str, SafeString]:
    """Read our drawings. In the page itself: not every browser loads parts of a file under our policy."""
    drawn = (found for name in DRAWINGS for found in _SYMBOL.findall((_STATIC / name).read_text()))
    svg = '<svg class="icon" {} aria-hidden="true">{}</svg>'
    return {key: format_html(svg, mark_safe(box), mark_safe(lines)) for key, box, lines in drawn}  # noqa: S308


def rss_way(newsletter: Subscribable) -> Iterator[Way]:
    url = f"{page_url(newsletter)}feed.xml"
    sentence = gettext("Add this link to your feed reader.")
    yield Way(icon="rss", title="RSS", sentence=sentence, url=url, rank=FIRST)


def bridge_ways(newsletter: Subscribable) -> Iterator[Way]:
    """Offer bridges that post the same feeds, if anybody can follow or join there."""
    bridges: Any = Subscribable.objects.listed().with_feeds_of(newsletter)
    channels = [kind.key for kind in kinds.bridge_kinds()]
    rows = Subscription.objects.filter(
        subscribable__in=bridges.filter(theirs__gt=0, channel__in=channels).values("pk"),
        status=Subscription.Status.CONFIRMED,
        ended_at=None,
        destination__disabled_at=None,
    )
    for row in rows.select_related("subscribable", "destination").order_by("pk")[:MOST_BRIDGES]:
        kind = kinds.get(row.subscribable.channel)
        account = kind.public_page(row.destination.config) if isinstance(kind, Bridge) else ""
        if url := row.subscribable.options.get("invitation") or account:
            yield Way(
                icon=kind.key,
                title=kind.label,
                sentence=gettext("New posts appear there, too."),
                url=url,
                account=account,
                rank=LAST,
            )
