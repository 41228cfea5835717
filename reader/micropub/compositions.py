"""Changes of compositions, without network."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import BinaryIO

from django.db import transaction
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext

from common.body_limits import MEGABYTE
from common.db.leases import RELEASED
from common.pictures.child import resized
from common.pictures.picture import MOST_CODED_BYTES, BadPicture, CleanPicture
from common.refused import Refused
from common.text import one_line, shortened
from reader.models import Composition, Entry, Photo, Reader
from reader.rules.micropub import (
    BOOKMARK,
    LONGEST_ALT,
    LONGEST_CONTENT,
    LONGEST_NAME,
    MOST_PHOTOS,
    WORDLESS,
    Said,
    cleaned,
    fitting,
    lacks,
)

MOST_UNPOSTED = 200
LONGEST_FORM_KEY = 60
# As large as sites show them; photographs then need less.
MOST_SIDE = 2048
MOST_PICTURE_BYTES = 3_000_000

# By the field, as `lacks` names it.
MISSING = {
    "url": gettext_lazy("Enter the address of the post that you’re responding to. It starts with https://."),
    "rsvp": gettext_lazy("Choose whether you’re coming."),
    "name": gettext_lazy("An article needs a title."),
    "content": gettext_lazy("Write something first."),
}
RESTORED = gettext_noop("A backup was restored. This post may have been published before that.")

State = Composition.State
CHANGEABLE = (State.KEPT, State.REFUSED)
UNDER_WAY = (State.WAITING, State.SENDING)


class NoSuchComposition(Refused):
    pass


def composition_of(reader: Reader, pk: int) -> Composition:
    """Raises NoSuchComposition."""
    row = reader.compositions.filter(pk=pk).first()
    if row is None:
        raise NoSuchComposition("You have no post with that number.")
    return row


def clean_photo(file: BinaryIO) -> CleanPicture:
    """Resize a picture, and remove metadata such as its place. Raises BadPicture."""
    octets = file.read(MOST_CODED_BYTES + 1)
    if len(octets) > MOST_CODED_BYTES:
        words = gettext("A picture can have at most %(megabytes)s MB.")
        raise BadPicture(words % {"megabytes": MOST_CODED_BYTES // MEGABYTE}, "photo")
    try:
        return resized(octets, most_side=MOST_SIDE, most_bytes=MOST_PICTURE_BYTES)
    except BadPicture as error:
        words = gettext("This file isn’t a readable picture. Use JPEG, PNG, WebP or GIF.")
        raise BadPicture(words, "photo") from error


@transaction.atomic
def keep(
    *,
    reader: Reader,
    key: str,
    said: Said,
    now: datetime,
    entry: Entry | None = None,
    photos: Sequence[tuple[CleanPicture, str]] = (),
    removed: Collection[int] = (),
) -> Composition:
    """Store a form under its key. Raises Refused.

    Returns a sent composition unchanged. `photos` have an alternative text each; `removed` are keys.
    """
    key = one_line(key)
    if not 1 <= len(key) <= LONGEST_FORM_KEY:
        raise Refused(gettext("Reload the page and write the post there."))
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    row = Composition.objects.select_for_update().filter(reader=reader, key=key).first()
    if row is not None and row.state not in CHANGEABLE:
        return row
    said = cleaned(said)
    if len(said.content) > LONGEST_CONTENT:
        words = ngettext(
            "A post can have at most %(most)s character.",
            "A post can have at most %(most)s characters.",
            LONGEST_CONTENT,
        )
        raise Refused(words % {"most": f"{LONGEST_CONTENT:,}"}, "content")
    if row is None:
        if reader.compositions.exclude(state=State.POSTED).count() >= MOST_UNPOSTED:
            raise Refused(gettext("You have too many drafts. Delete some of them first."))
        row = Composition(reader=reader, key=key, entry=entry, made_at=now)
    row.said, row.state, row.problem = said.to_json(), State.KEPT, ""
    row.save()
    row.photos.filter(pk__in=removed).delete()
    _add_photos(row, photos)
    return row


def _add_photos(row: Composition, photos: Iterable[tuple[CleanPicture, str]]) -> None:
    there = list(row.photos.values_list("position", flat=True))
    room = MOST_PHOTOS - len(there)
    first = max(there, default=-1) + 1
    Photo.objects.bulk_create(
        Photo(
            composition=row,
            position=first + number,
            name=picture.name,
            media_type=picture.media_type,
            alt=shortened(one_line(alt), LONGEST_ALT),
            data=picture.data,
        )
        for number, (picture, alt) in enumerate(list(photos)[:room])
    )


@transaction.atomic
def hand_over(*, composition: Composition, now: datetime) -> Composition:
    """Queue it. Raises Refused with a missing field."""
    row = _locked(composition)
    if row.state not in CHANGEABLE:
        return row
    said = fitting(Said.from_json(row.said))
    if field := lacks(said, photos=row.photos.count()):
        raise Refused(str(MISSING[field]), field)
    row.become(said=said.to_json())
    return _waiting(row, now)


@transaction.atomic
def send_again(*, composition: Composition, now: datetime) -> Composition:
    """Send it again, after the person said that it did not arrive."""
    row = _locked(composition)
    if row.state not in (State.UNSURE, State.REFUSED):
        return row
    return _waiting(row, now)


@transaction.atomic
def call_posted(*, composition: Composition) -> None:
    """Believe the person that it arrived."""
    row = _locked(composition)
    if row.state == State.UNSURE:
        row.become(state=State.POSTED, due_at=None, problem="", **RELEASED)
        row.photos.update(data=b"")


@transaction.atomic
def recall(*, composition: Composition) -> None:
    """Make it a draft again. Raises Refused during sending."""
    row = _locked(composition)
    if row.state in UNDER_WAY and row.lease_token is not None:
        raise Refused(gettext("The post is being sent now."))
    if row.state == State.WAITING:
        row.become(state=State.KEPT, due_at=None, problem="")


@transaction.atomic
def throw_away(*, composition: Composition) -> None:
    """Delete it here only. Raises Refused during sending."""
    row = _locked(composition)
    if row.state in UNDER_WAY:
        raise Refused(gettext("The post is being sent now."))
    row.delete()


def doubt_unsent(now: datetime) -> None:
    """Look up, after a restore, posts that may have been sent since the backup."""
    unsent = Composition.objects.filter(state__in=UNDER_WAY)
    unsent.update(state=State.UNSURE, due_at=now, attempts=0, problem=RESTORED, **RELEASED)


def react(*, reader: Reader, entry: Entry, kind: str, now: datetime) -> Composition:
    """Like, repost or bookmark a post, once. Raises Refused."""
    jf2 = entry.jf2 or {}
    url, name = str(jf2.get("url", "")), str(jf2.get("name", ""))
    if kind not in WORDLESS or not url:
        raise Refused(gettext("That isn’t possible with this post."))
    said = Said(kind=kind, url=url, name=shortened(one_line(name), LONGEST_NAME) if kind == BOOKMARK else "")
    row = keep(reader=reader, key=f"{kind}-{entry.pk}", said=said, entry=entry, now=now)
    return hand_over(composition=row, now=now)


def reactions_to(reader: Reader, entries: Collection[int]) -> dict[int, list[Composition]]:
    """Return them oldest first, without drafts."""
    rows = Composition.objects.filter(reader=reader, entry__in=list(entries)).exclude(state=State.KEPT)
    reactions: dict[int, list[Composition]] = {}
    for row in rows.order_by("made_at", "pk"):
        reactions.setdefault(row.entry_id or 0, []).append(row)
    return reactions


def _locked(composition: Composition) -> Composition:
    row = Composition.objects.select_for_update().filter(pk=composition.pk).first()
    if row is None:
        raise NoSuchComposition("You have no post with that number.")
    return row


def _waiting(row: Composition, now: datetime) -> Composition:
    return row.become(state=State.WAITING, due_at=now, attempts=0, problem="", **RELEASED)
