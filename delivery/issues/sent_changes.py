"""Edits and deletions of sent posts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from channels.rules.corrections import change_key, changed_post
from common.text import pluralize
from delivery.models import Correction, Delivery

State = Delivery.State
NOT_DONE_WORDS = {
    State.QUEUED: "waits",
    State.SENDING: "is under way",
    State.DEFERRED: "is tried again",
    State.FAILED: "failed",
    State.HELD: "is held",
    State.CANCELLED: "was left out",
    State.STORED: "was kept here",
}
TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class SentChanges:
    """Edits in order, and the deletion."""

    edits: tuple[Delivery, ...] = ()
    deletion: Delivery | None = None

    @property
    def every(self) -> tuple[Delivery, ...]:
        return (*self.edits, *((self.deletion,) if self.deletion else ()))

    @property
    def is_gone(self) -> bool:
        return self.deletion is not None and self.deletion.state == State.SENT

    @property
    def words(self) -> str:
        """Return words such as "edited twice" or "deleted", with errors."""
        if self.deletion is not None:
            return "deleted" if self.is_gone else _not_done(self.deletion, "deletion")
        done = sum(edit.state == State.SENT for edit in self.edits)
        said = [f"edited {TIMES.get(done) or pluralize(done, 'time')}"] if done else []
        if self.edits and self.edits[-1].state != State.SENT:
            said.append(_not_done(self.edits[-1], "latest edit" if len(self.edits) > 1 else "edit"))
        return ", ".join(said)


def changed_delivery(change: Delivery) -> Delivery | None:
    """Return the post that an edit or deletion changes, if it still exists."""
    if change.kind not in Delivery.CHANGES:
        return None
    rows = Delivery.objects.select_related("issue", "destination").defer("issue__html", "issue__text")
    return rows.filter(pk=changed_post(change.key)[0]).first()


def changes_of(posts: Iterable[Delivery]) -> Mapping[int, SentChanges]:
    """Return changes by delivery key. Two queries."""
    rows = [post for post in posts if post.kind not in Delivery.CHANGES]
    issues = {post.issue_id for post in rows if post.issue_id}
    numbers: dict[int, list[int]] = defaultdict(list)
    for issue, number in Correction.objects.filter(issue__in=issues).values_list("issue", "number"):
        numbers[issue].append(number)
    keys = [change_key(post.pk, number) for post in rows for number in {1, *numbers[post.issue_id or 0]}]
    found: dict[int, list[Delivery]] = defaultdict(list)
    changes = Delivery.objects.filter(kind__in=Delivery.CHANGES, key__in=keys, issue=None)
    for change in changes.defer("context"):
        found[changed_post(change.key)[0]].append(change)
    return {pk: _sorted(every) for pk, every in found.items()}


def _sorted(changes: Iterable[Delivery]) -> SentChanges:
    rows = sorted(changes, key=lambda row: changed_post(row.key)[1])
    deletions = [row for row in rows if row.kind == Delivery.Kind.DELETE]
    edits = tuple(row for row in rows if row.kind == Delivery.Kind.EDIT)
    return SentChanges(edits, deletions[0] if deletions else None)


def _not_done(change: Delivery, noun: str) -> str:
    said = f"its {noun} {NOT_DONE_WORDS[State(change.state)]}"
    return f"{said}: {change.last_error}" if change.last_error else said
