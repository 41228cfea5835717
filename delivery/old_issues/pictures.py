"""Copies of the pictures of old issues, stored as uploaded pictures are."""

import hashlib
import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from django.db import transaction
from django.db.models import Sum

from common.body_limits import MEGABYTE
from common.html.tags import VALUES, attributes, written
from common.net.client import FetchError, client
from common.net.errors import host_of
from common.pictures.child import resized
from common.pictures.picture import MOST_BYTES, MOST_SIDE, BadPicture, CleanPicture
from delivery.models import IssueImport, IssueImportPicture
from subscriptions.branding.brands import kept_picture, picture_url

MOST_PICTURES = 3_000
MOST_KEPT_BYTES = 500 * MEGABYTE
MOST_IN_AN_ISSUE = 60
LARGEST_KEPT = 600_000
FETCH_SECONDS = 10.0
# For all pictures of an issue. A lease is longer.
ISSUE_SECONDS = 60.0
# After these failures in a pass a host isn't asked any more.
MOST_FAILURES_OF_HOST = 3
ACCEPTED = {"Accept": "image/webp,image/png,image/jpeg,image/gif"}
_IMG = re.compile(f"<img({VALUES})>")
_LINKED = re.compile(rf"<a({VALUES})>(\s*<img({VALUES})>\s*)</a>")
_FILE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|heic)\b", re.IGNORECASE)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptHtml:
    """`linked` counts the pictures that still are at their old addresses."""

    html: str
    linked: int


class PictureKeeper:
    """Fetches the pictures of one import. Each address is asked once, also by later workers."""

    def __init__(self, row: IssueImport, renew: Callable[[], object]) -> None:
        self._row, self._renew = row, renew
        self._failures: Counter[str] = Counter()
        kept = row.pictures_kept.exclude(picture=None).aggregate(size=Sum("size"))
        self._bytes_left = MOST_KEPT_BYTES - (kept["size"] or 0)
        self._left = MOST_PICTURES - row.pictures_kept.count()

    def kept(self, html: str) -> KeptHtml:
        """Replace the addresses in cleaned HTML. Uses the network."""
        addresses = dict.fromkeys(
            source
            for match in _IMG.finditer(html)
            if (source := attributes(match[1]).get("src", "")).startswith(("http://", "https://"))
        )
        end = time.monotonic() + ISSUE_SECONDS
        names: dict[str, str] = {}
        for address in list(addresses)[:MOST_IN_AN_ISSUE]:
            if name := self._name_of(address, end):
                names[address] = name

        def image(match: re.Match[str]) -> str:
            values = attributes(match[1])
            name = names.get(values.get("src", ""))
            return f"<img{written({**values, 'src': picture_url(name)})}>" if name else match[0]

        def link(match: re.Match[str]) -> str:
            # Programs link pictures to their large copies.
            values, source = attributes(match[1]), attributes(match[3]).get("src", "")
            if source in names and _FILE.search(values.get("href", "")):
                return f'<a href="{escape(picture_url(names[source]))}">{match[2]}</a>'
            return match[0]

        return KeptHtml(_IMG.sub(image, _LINKED.sub(link, html)), len(addresses) - len(names))

    def _name_of(self, address: str, end: float) -> str:
        """Return the name of its copy, or ""."""
        key = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._row.pictures_kept.filter(address_hash=key).first()
        if known is not None:
            return known.picture_id or ""
        if self._left <= 0 or self._bytes_left <= 0 or time.monotonic() > end:
            return ""
        if self._failures[host_of(address)] >= MOST_FAILURES_OF_HOST:
            return ""
        picture = self._fetched(address)
        self._renew()
        with transaction.atomic():
            name = kept_picture(picture)
            size = len(picture.data) if picture else 0
            values = {"picture_id": name, "size": size}
            IssueImportPicture.objects.get_or_create(upload=self._row, address_hash=key, defaults=values)
        self._left -= 1
        self._bytes_left -= size
        return name or ""

    def _fetched(self, address: str) -> CleanPicture | None:
        try:
            answer = client().get(address, headers=ACCEPTED, timeout=FETCH_SECONDS, max_bytes=MOST_BYTES)
        except FetchError as error:
            self._failures[host_of(address)] += 1
            log.info("could not fetch a picture of an old issue: %s", error)
            return None
        if answer.status != 200:
            return None
        try:
            return resized(answer.body, most_side=MOST_SIDE, most_bytes=LARGEST_KEPT)
        except BadPicture:
            return None
