from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from feeds.rules.facts import Delays, FeedRow, Insert, ItemRow, PollPlan
from feeds.rules.finality import LEFT_WHILE_HELD
from feeds.rules.item_status import ItemStatus, explain, settles_at
from feeds.rules.reposts import REPOST

EXCLUDED = "excluded"

EVENTS = {
    "new": "It is new: we wait until it stops changing.",
    "settled at once": "It is new, and this feed’s posts are sent as soon as they are seen.",
    "held": "It is new, but many more posts than usual arrived with it, so it is held.",
    "not taken": "It is new here, but isn’t sent.",
    "repost": "It repeats an earlier post under a new id, so it isn’t sent again.",
    "renamed": "It has a new id, and keeps waiting under it.",
    "changed": "It has changed: the new text is stored.",
    "settles": "It hasn’t changed for long enough: it is ready.",
    "settles, changed": "It keeps changing, but the longest delay is over: it is ready as it is now.",
    "withdrawn": "It was removed from the feed: older posts are still there.",
    "back": "It was removed and is back: we wait again until it stops changing.",
    "there again": "It was removed and is back: it is sent with its issue.",
    "rolled off": "Newer posts pushed it out of the feed: it keeps waiting as stored.",
    "dropped": "It left the feed while it was held, and too many posts are held, so it is dropped.",
    "unchanged": "Nothing changes.",
}


@dataclass(frozen=True, slots=True)
class Forecast:
    """`id`: digest of the guid. `event`: key of EVENTS.

    `fate`: whether and when it is sent, or why not. `settles`: when a reading finds it final.
    """

    id: str
    pk: int | None
    event: str
    fate: str
    settles: datetime | None = None

    @property
    def why(self) -> str:
        return EVENTS[self.event]

    @property
    def is_quiet(self) -> bool:
        return self.event == "unchanged"


def forecast(
    plan: PollPlan, known: Iterable[ItemRow], done: Iterable[ItemRow], feed: FeedRow, *, moment: datetime
) -> dict[str, Forecast]:
    forecasts = {}
    for row in done:
        status = ItemStatus(row.state, row.reason, row.first_seen, row.stable_since, final=False)
        forecasts[row.guid_hash] = _forecast(row.guid_hash, row.pk, "unchanged", status, feed, moment)
    for insert in plan.insert:
        forecasts[insert.id] = of_insert(insert, feed, moment=moment)
    for row in known:
        event, status = _after(plan, row, moment, watched=feed.status == "active")
        id_ = plan.rekey.get(row.pk, row.guid_hash)
        forecasts[id_] = _forecast(id_, row.pk, event, status, feed, moment)
    return forecasts


def of_insert(insert: Insert, feed: FeedRow, *, moment: datetime) -> Forecast:
    state = EXCLUDED if insert.excluded else "unassigned"
    watched = feed.status == "active"
    status = ItemStatus(
        state, insert.excluded, moment, moment, insert.final, watched=watched, held=insert.held
    )
    event = "held" if insert.held else "settled at once" if insert.final else "new"
    if insert.excluded:
        event = "repost" if insert.excluded == REPOST else "not taken"
    return _forecast(insert.id, None, event, status, feed, moment)


def _after(plan: PollPlan, row: ItemRow, moment: datetime, *, watched: bool) -> tuple[str, ItemStatus]:
    settles = row.pk in plan.finalise
    tests: Sequence[tuple[str, Collection[int] | Mapping[int, str]]] = (
        ("dropped", plan.drop),
        ("withdrawn", [*plan.vanish, *plan.set_aside]),
        ("back", plan.restart),
        ("there again", plan.take_back),
        ("settles, changed" if settles else "changed", plan.rewrite),
        ("settles", plan.finalise),
        ("renamed", plan.rekey),
        ("rolled off", plan.roll_off),
    )
    event = next((event for event, pks in tests if row.pk in pks), "unchanged")
    gone, anew = row.pk in plan.vanish, row.pk in plan.restart
    calm = anew or row.pk in plan.calm
    return event, ItemStatus(
        state=EXCLUDED if event == "dropped" else row.state,
        reason=LEFT_WHILE_HELD if event == "dropped" else "",
        first_seen=moment if anew and row.pk not in plan.flicker else row.first_seen,
        stable_since=moment if anew or row.pk in plan.unsettle else row.stable_since,
        final=(row.final_at is not None or settles) and not gone,
        vanished=(row.vanished_at is not None and not anew) or gone,
        rolled_off=row.pk in plan.roll_off
        or (row.rolled_off_at is not None and row.pk not in plan.roll_back and not anew),
        watched=watched,
        held=row.held_at is not None,
        changes=0 if calm else row.changes + (row.pk in plan.rewrite),
        set_aside=row.pk in plan.set_aside or (row.set_aside_at is not None and row.pk not in plan.take_back),
    )


def _forecast(
    id_: str, pk: int | None, event: str, status: ItemStatus, delays: Delays, moment: datetime
) -> Forecast:
    over = status.vanished or status.final or status.held
    waits = status.state == "unassigned" and not over
    settles = settles_at(status, delays) if waits else None
    return Forecast(id_, pk, event, explain(status, delays, moment), settles)
