"""What became of a post: looked up in issues, in open collections, and among what was left out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from django.db.models import QuerySet

from delivery.issues.progress import counts_of, issue_state
from delivery.issues.sent_changes import changes_of
from delivery.models import Issue
from delivery.rules.item_fate import (
    CANCELLED,
    FAILED,
    KEPT,
    LEFT_OUT,
    NOBODY,
    REACHING,
    SENDING,
    SENT,
    WAITS,
    ItemPlace,
    fate_sentence,
    until_words,
    waits_in_collection,
)
from delivery.rules.progress import arrived, total
from feeds.items.standing import standing
from feeds.models import Item
from feeds.rules.item_status import WITHDRAWN_SINCE
from subscriptions.collections.post_rules import left_out_words
from subscriptions.collections.readiness import collection_facts
from subscriptions.models import LeftOut, Stuck, Subscribable

BY_EDITOR = "an editor did not want it"


def fate_of(item: Item, now: datetime) -> str:
    """The whole answer: a sentence, and after it what else there is to say."""
    places = places_of(item, now)
    is_through = item.state in (Item.State.ASSIGNED, Item.State.CLEARED)
    reaches = any(place.state in REACHING for place in places)
    if is_through or reaches:
        said = [fate_sentence(places, _otherwise(item, now))]
    else:
        # Newsletters had no say in it yet; an editor may have.
        said = [_otherwise(item, now), *([fate_sentence(places, "")] if places else [])]
    if reaches and item.state == Item.State.EXCLUDED:
        said.append(standing(item, now).replace("Not sent", "Nowhere else"))
    if places and is_through:
        said += [_reason_besides(item), *_since_it_was_sent(item)]
    stuck = Stuck.objects.filter(item=item).first()
    said.append(f"It could not be taken in and is tried again: {stuck.last_error}" if stuck else "")
    return " ".join(filter(None, said))


def places_of(item: Item, now: datetime, *, only: Subscribable | None = None) -> list[ItemPlace]:
    """The newsletters that had to do with it: those that sent it, that hold it, and that left it out.

    `only`: of that newsletter alone.
    """
    newsletters = Subscribable.objects.filter(pk=only.pk) if only else Subscribable.objects.all()
    places = [*_in_issues(item, now, newsletters), *_in_collections(item, now, newsletters)]
    there = {place.newsletter for place in places}
    rows = LeftOut.objects.filter(item=item, subscribable__in=newsletters).select_related("subscribable")
    for row in rows.order_by("pk"):
        name = str(row.subscribable)
        if name not in there:
            places.append(ItemPlace(name, LEFT_OUT, BY_EDITOR if row.by_hand else row.reason))
    return places


def _since_it_was_sent(item: Item) -> Iterator[str]:
    """What bridges did about it when it was corrected or withdrawn."""
    issues = Issue.objects.filter(issue_items__item=item, corrections__isnull=False).distinct()
    for issue in issues.select_related("subscribable").defer("html", "text", "holes").order_by("pk"):
        changes = changes_of(issue.deliveries.filter(state="sent"))
        words = dict.fromkeys(change.words for change in changes.values())
        if words:
            yield f"Since then, in {issue.subscribable}: {'; '.join(words).rstrip('.')}."


def _reason_besides(item: Item) -> str:
    """What its row says of newsletters that did not take it, without those that the sentence names."""
    rest = item.reason
    for row in LeftOut.objects.filter(item=item).select_related("subscribable"):
        rest = rest.replace(left_out_words(row.subscribable, row.reason), "")
    return " ".join(rest.split())


def _otherwise(item: Item, now: datetime) -> str:
    """Of a post that is in no newsletter."""
    readers = list(item.feed.subscribables.values_list("stopped", flat=True))
    is_ready = item.state == Item.State.UNASSIGNED and item.final_at is not None
    if item.state != Item.State.CLEARED and not (is_ready and not item.vanished_at and not item.held_at):
        return standing(item, now)
    if readers and not all(readers):
        return standing(item, now)
    why = "every newsletter of its feed is stopped" if readers else "no newsletter reads its feed"
    if readers or not is_ready:
        return " ".join(filter(None, (f"Not sent: {why}.", item.reason)))
    return f"Settled, and kept for a while: {why} so far."


def _in_issues(item: Item, now: datetime, newsletters: "QuerySet[Subscribable]") -> Iterator[ItemPlace]:
    issues = Issue.objects.filter(issue_items__item=item, subscribable__in=newsletters)
    issues = issues.select_related("subscribable")
    rows = list(issues.defer("html", "text", "holes").order_by("pk"))
    counts = counts_of(row.pk for row in rows)
    for row in rows:
        yield replace(_in_issue(row, counts[row.pk], now), newsletter=str(row.subscribable), issue=row.pk)


def _in_issue(issue: Issue, counts: Counter[str], now: datetime) -> ItemPlace:
    state = issue_state(issue, counts)
    if arrived(counts):
        # What the mailbox keeps has reached nobody.
        return ItemPlace("", SENT if counts["sent"] else KEPT)
    if state == "cancelled":
        return ItemPlace("", CANCELLED)
    if state == "waiting":
        return ItemPlace("", WAITS, "for its first reader")
    if state == "draft" and issue.release_at is None:
        return ItemPlace("", WAITS, "for your approval")
    if state == "draft" and issue.release_at is not None:
        words = until_words(issue.release_at, now, issue.subscribable.zone)
        return ItemPlace("", WAITS, words, issue.release_at)
    if state == "paused":
        return ItemPlace("", WAITS, "because it is paused")
    if state == "sending":
        return ItemPlace("", SENDING)
    return ItemPlace("", FAILED if total(counts) else NOBODY)


def _in_collections(item: Item, now: datetime, newsletters: "QuerySet[Subscribable]") -> Iterator[ItemPlace]:
    rows = item.assignments.filter(assignable__subscribable__in=newsletters)
    rows = rows.select_related("item", "assignable__subscribable").order_by("pk")
    for row in rows:
        held = row.assignable
        name = str(held.subscribable)
        if row.left_out_at is not None:
            yield ItemPlace(name, LEFT_OUT, BY_EDITOR)
        elif row.is_withdrawn:
            yield ItemPlace(name, LEFT_OUT, WITHDRAWN_SINCE)
        elif held.last_error:
            yield ItemPlace(name, WAITS, f"and is tried again: {held.last_error}")
        else:
            found = waits_in_collection(collection_facts(held), now, held.subscribable.zone)
            if held.waits:
                found = replace(found, words=f"{found.words}, then for your approval")
            yield replace(found, newsletter=name)
