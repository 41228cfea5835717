"""Undoing the import of a list, as far as people did nothing since."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common.db.bulk import update_rows
from common.text import pluralize
from common.uploads import NotPossible
from subscriptions.lists.reading import ImportReport, Terms
from subscriptions.lists.store import IMPORTED_AS_SUPPRESSED
from subscriptions.models import (
    Consent,
    FrequencyChange,
    ListChange,
    ListImport,
    Subscribable,
    Subscription,
    Suppression,
    Tagging,
)
from subscriptions.subscribers.leave import drop_unused

State = ListImport.State


def record_import(*, subscribable: Subscribable, terms: Terms, name: str, now: datetime) -> ListImport:
    """Record a command's import, so that it can be undone even if it is killed."""
    return ListImport.objects.create(
        subscribable=subscribable,
        file_name=Path(name).name[:200],
        by="import_subscribers",
        state=State.DONE,
        status=terms.status,
        words=terms.words,
        meanings=dict(terms.meanings),
        statuses=dict(terms.statuses),
        dates=terms.dates,
        created_at=now,
        begun_at=now,
        ended_at=now,
    )


def end_record(row: ListImport, report: ImportReport, *, now: datetime) -> None:
    for name in ("added", "updated", "unchanged", "repeated"):
        setattr(row, name, getattr(report, name))
    row.refused, row.lines = report.refused_count, sum(report.outcomes.values())
    row.names, row.ended_at = list(report.names), now
    row.findings = {"outcomes": dict(report.outcomes), "lost_dates": report.lost_dates}
    row.save()


def is_undoable(row: ListImport, now: datetime) -> bool:
    is_ended = row.state in (State.DONE, State.STOPPED) and row.ended_at is not None
    return is_ended and now < row.ended_at + row.UNDONE_FOR and row.changes.exists()  # type: ignore[operator]


def undo_import(list_import: ListImport, *, now: datetime) -> Counter[str]:
    """Undo it batch by batch, the last one first; return counts of people by what was done.

    People who acted since, such as by leaving or confirming, stay as they are ("kept"). Raises NotPossible.
    """
    if not is_undoable(list_import, now):
        raise NotPossible(
            f"“{list_import.file_name}” can’t be undone: only imports of the last"
            f" {list_import.UNDONE_FOR.days} days can."
        )
    done: Counter[str] = Counter()
    while True:
        with transaction.atomic():
            row = list_import.locked(State.DONE, State.STOPPED, State.UNDONE)
            batch = row.changes.select_for_update().order_by("-pk").first()
            if batch is None:
                row.state, row.findings = State.UNDONE, {**(row.findings or {}), "undone": done}
                row.save(update_fields=["state", "findings"])
                return done
            done += _undo(batch.changes, row)
            batch.delete()


def _undo(changes: Mapping[str, Sequence[Sequence[Any]]], row: ListImport) -> Counter[str]:
    done: Counter[str] = Counter()
    added, changed = (
        {entry[0]: list(entry[1:]) for entry in changes.get(name, ())} for name in ("added", "changed")
    )
    untouched = _untouched({**added, **changed}, row)
    gone = [one for one in untouched if one.pk in added]
    back = [one for one in untouched if one.pk not in added]
    for one in back:
        _, one.status, *times = changed[one.pk]
        one.confirmed_at, one.left_at = (time and datetime.fromisoformat(time) for time in times)
    update_rows(back, ("status", "confirmed_at", "left_at"))
    Consent.objects.filter(
        subscription__pk__any_of=frozenset(one.pk for one in back), act=Consent.Act.IMPORTED
    ).filter(at__gte=row.created_at).delete()
    Subscription.objects.filter(pk__any_of=frozenset(one.pk for one in gone)).delete()
    for tag in {tag for _, tag in changes.get("tagged", ())}:
        people = frozenset(person for person, given in changes["tagged"] if given == tag)
        Tagging.objects.filter(tag=tag, destination__pk__any_of=people).delete()
    listed = Suppression.objects.filter(
        kind=row.subscribable.channel,
        core__in=changes.get("suppressed", ()),
        reason=IMPORTED_AS_SUPPRESSED,
        created_at__gte=row.created_at,
    )
    done["unsuppressed"] += listed.delete()[0]
    drop_unused({one.destination_id for one in gone})
    done.update(removed=len(gone), restored=len(back), kept=len(added) + len(changed) - len(untouched))
    return done


def _untouched(entries: Mapping[int, Sequence[Any]], row: ListImport) -> list[Subscription]:
    """Lock and return the subscriptions that are as the import left them."""
    acts = Consent.objects.filter(subscription=OuterRef("pk"), at__gte=row.created_at)
    switches = FrequencyChange.objects.filter(Q(old=OuterRef("pk")) | Q(new=OuterRef("pk")))
    rows = Subscription.objects.filter(
        ~Exists(acts.exclude(act=Consent.Act.IMPORTED)),
        ~Exists(switches.filter(made_at__gte=row.created_at)),
        pk__any_of=frozenset(entries),
        left_why="",
        paused_until=None,
        confirm_nonce="",
    )
    locked = rows.select_for_update(of=("self",), no_key=True).order_by("pk")
    return [one for one in locked if one.status == entries[one.pk][0]]


def undone_words(done: Mapping[str, int]) -> str:
    parts = [
        f"{pluralize(done.get('removed', 0), 'subscriber')} removed",
        f"{done.get('restored', 0):,} as they were before",
    ]
    if count := done.get("unsuppressed", 0):
        parts.append(f"{count:,} may be emailed again")
    if count := done.get("kept", 0):
        parts.append(f"{count:,} stay, because they acted since, or an admin did")
    return f"{', '.join(parts)}."


def forget_import_changes(now: datetime) -> None:
    """Delete what is needed only to undo old imports."""
    ListChange.objects.filter(list_import__ended_at__lt=now - ListImport.UNDONE_FOR).delete()
