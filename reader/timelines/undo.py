import json
import secrets
import zlib
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from common.refused import Refused
from feeds.polling.known_items import chunks
from reader.entries.visibility import delete_unread
from reader.models import Marking, Reader, Unread
from reader.timelines.marks import key_in, mark_unread
from reader.timelines.pages import Timeline, from_here_down, from_here_up


class NothingToUndo(Refused):
    pass


def all_below(timeline: Timeline, place: int) -> Q:
    """Raises NoSuchPost."""
    return from_here_down(key_in(timeline, place), "place_id")


def all_between(timeline: Timeline, top: int, place: int) -> Q:
    """Accept any order. Raises NoSuchPost."""
    low, high = sorted((key_in(timeline, top), key_in(timeline, place)))
    return from_here_down(high, "place_id") & from_here_up(low, "place_id")


@transaction.atomic
def mark_read_undoably(timeline: Timeline, wanted: Q, *, now: datetime, onto: str = "") -> Marking | None:
    """Mark and remember the posts; return None if none was unread.

    `onto` names the last marking, to be undone with this one.
    """
    Reader.objects.select_for_update(no_key=True).get(pk=timeline.reader.pk)
    unread = timeline.unread().filter(wanted)
    places = list(unread.order_by("place").select_for_update(of=("self",)).values_list("place_id", flat=True))
    if not places:
        return None
    for pks in chunks(places):
        delete_unread(Unread.objects.filter(place__in=pks, reader=timeline.reader))
    if onto and (last := Marking.objects.filter(reader=timeline.reader, name=onto).first()):
        places = sorted({*places, *_unpacked(bytes(last.places))})
    packed = {"places": _packed(places), "count": len(places), "name": secrets.token_hex(8), "at": now}
    return Marking.objects.update_or_create(reader=timeline.reader, defaults=packed)[0]


@transaction.atomic
def undo(*, reader: Reader, name: str) -> int:
    """Raises NothingToUndo."""
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    marking = Marking.objects.filter(reader=reader, name=name).first()
    if marking is None:
        raise NothingToUndo("That was already undone, or something else was marked since.", "name")
    done = mark_unread(Timeline(reader), _unpacked(bytes(marking.places)))
    marking.delete()
    return done


def _packed(places: list[int]) -> bytes:
    """As differences 200,000 keys take some 10 kB."""
    steps = [here - before for before, here in zip([0, *places], places, strict=False)]
    return zlib.compress(json.dumps(steps, separators=(",", ":")).encode())


def _unpacked(packed: bytes) -> list[int]:
    places, key = [], 0
    for step in json.loads(zlib.decompress(packed)):
        key += step
        places.append(key)
    return places
