"""Edits of an issue: leave posts out, put them back, move them, change words.

Each edit renders the letter outside of any transaction. If the issue has changed meanwhile, it starts again.
After publication an edit makes a new version: for the issue's page, and for the rest of a paused issue.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat, Replace, Trim

from channels.letter import LetterError
from common.ports.panels import CannotAct
from common.text import one_line, shortened
from delivery.issues.audience import named_now
from delivery.issues.broadcasts import (
    LetterText,
    checked_text,
    letter_guid,
    letter_text,
    make_letter,
    refuse_changed,
)
from delivery.issues.complete import complete_collection
from delivery.issues.contents import Collected, card_of, collected, rendered_issue
from delivery.issues.corrected import with_corrections
from delivery.issues.pause import change_at_companions, locked_issue, take_newest_version
from delivery.issues.publish import locked_draft
from delivery.models import Broadcast, Issue, IssueCard, IssueItem, IssueVersion, SetAside
from delivery.models.delivery import NOT_FINISHED
from delivery.rendering.errors import Rendered
from delivery.rules.audience import SERIES
from delivery.rules.posts import Post
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions.collections.edits import BY_HAND, forget_by_hand, note_by_hand, reorder, send_now, tidied
from subscriptions.collections.post_rules import left_out_words
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules import edits
from subscriptions.rules.edits import (
    MOST_STEP_TITLE,
    CannotEdit,
    Step,
    Wording,
    check_latest,
    merge_wording,
    moved,
    with_step,
)

TRIES = 3
MOST_VERSIONS = 100
MEANWHILE = "Somebody else changes it at this moment: nothing was changed. Look at it again."
NOT_THERE = "That post is no longer in this issue, so nothing was changed. Reload the page."


@dataclass(frozen=True, slots=True)
class DraftPost:
    """Post in a draft. `item_id` is None if its feed was deleted."""

    item_id: int | None
    entry: Mapping[str, Any]

    @property
    def title(self) -> str:
        named = str(self.entry.get("title") or self.entry.get("link") or "Untitled")
        return shortened(one_line(named), MOST_STEP_TITLE)


@dataclass(frozen=True, slots=True)
class Draft:
    """Posts in order, posts left out (`aside`), and the editor's words."""

    posts: tuple[DraftPost, ...]
    aside: tuple[DraftPost, ...]
    wording: Wording
    steps: tuple[Step, ...] = ()

    @property
    def order(self) -> list[int]:
        return [post.item_id or 0 for post in self.posts]

    def noting(self, sort: str, said: str, was: Mapping[str, Any]) -> "Draft":
        return replace(self, steps=tuple(with_step(self.steps, sort, said, was)))


def leave_out_of_draft(*, issue_id: int, item_id: int, now: datetime) -> None:
    def change(draft: Draft) -> Draft:
        title = _named(draft.posts, item_id)
        was = {"item": item_id, "at": draft.order.index(item_id)}
        return _without(draft, item_id).noting(edits.OUT, f"leaving out “{title}”", was)

    _edit(issue_id, change, now)


def put_back_in_draft(*, issue_id: int, item_id: int, now: datetime) -> None:
    """Put a post back at the end. Raises CannotEdit, CannotAct."""

    def change(draft: Draft) -> Draft:
        title = _named(draft.aside, item_id)
        was = {"item": item_id}
        return _with(draft, item_id, len(draft.posts)).noting(edits.BACK, f"putting back “{title}”", was)

    _edit(issue_id, change, now)


def move_in_draft(*, issue_id: int, item_id: int, way: str | int, now: datetime) -> None:
    def change(draft: Draft) -> Draft:
        order = moved(draft.order, item_id, way)
        if order == draft.order:
            return draft
        said = f"moving “{_named(draft.posts, item_id)}”"
        return _ordered(draft, order).noting(edits.ORDER, said, {"order": draft.order})

    _edit(issue_id, change, now)


def reword_draft(*, issue_id: int, wording: Wording, now: datetime, shown: str = "") -> bool:
    """Return whether subject or notes changed. Raises CannotEdit, CannotAct.

    `shown`: fingerprint of the words in the form (`edits.merge_wording`).
    """
    typed = tidied(wording)

    def change(draft: Draft) -> Draft:
        merged = merge_wording(typed, draft.wording, shown)
        if draft.wording == merged:
            return draft
        was = asdict(draft.wording)
        return replace(draft, wording=merged).noting(edits.WORDS, "the change of words", was)

    return _edit(issue_id, change, now)


def undo_in_draft(*, issue_id: int, now: datetime, latest: str | None = None) -> str:
    """Undo the latest edit and return its name. Raises CannotEdit, CannotAct.

    `latest`: name on the button; no other edit is undone.
    """
    said = ""

    def change(draft: Draft) -> Draft:
        nonlocal said
        check_latest(draft.steps, latest)
        step, was = draft.steps[-1], draft.steps[-1]["was"]
        said = step["said"]
        draft = replace(draft, steps=draft.steps[:-1])
        match step["sort"]:
            case edits.OUT:
                return _with(draft, was["item"], was["at"])
            case edits.BACK:
                return _without(draft, was["item"])
            case edits.ORDER:
                return _ordered(draft, was["order"])
        return replace(draft, wording=Wording(**was))

    _edit(issue_id, change, now)
    return said


def _edit(issue_id: int, change: Callable[[Draft], Draft], now: datetime) -> bool:
    """Return whether the edit changed the draft. Raises CannotEdit, CannotAct, LetterError."""
    for _ in range(TRIES):
        issue = Issue.objects.select_related("subscribable").filter(pk=issue_id).first()
        if issue is None:
            raise CannotEdit("There is no such issue any more.")
        if issue.published_at is not None or issue.cancelled_at is not None:
            with transaction.atomic():
                _locked(issue_id)
            if Broadcast.objects.filter(issue=issue).exists():
                raise CannotEdit("An editor wrote this email. Change its text, then save it.")
        before = draft_of(issue)
        after = change(before)
        if after == before:
            return False
        if not after.posts:
            raise CannotEdit("It is the only post left in it. To send nothing, discard or cancel the issue.")
        if _store(issue, before, after, _rendered(issue, after), now):
            return True
    raise CannotEdit(MEANWHILE)


def draft_of(issue: Issue) -> Draft:
    """Read the draft's posts. Read `issue` before, so that `_store` detects later edits."""
    rows = issue.issue_items.order_by("position").values_list("item_id", "entry")
    aside = issue.set_aside.order_by("position", "pk").values_list("item_id", "entry")
    return Draft(
        posts=tuple(DraftPost(*row) for row in rows),
        aside=tuple(DraftPost(*row) for row in aside),
        wording=Wording(issue.own_subject, issue.note_top, issue.note_foot),
        steps=tuple(issue.steps or ()),
    )


def _rendered(issue: Issue, draft: Draft) -> Rendered:
    contents = Collected(
        subscribable=issue.subscribable,
        within_type_id=issue.within_type_id,
        period_start=issue.period_start,
        period_end=issue.period_end,
        posts=tuple(Post(post.item_id or 0, 0, Entry.from_json(dict(post.entry))) for post in draft.posts),
        wording=draft.wording,
        corrected=issue.corrected,
    )
    rendered = rendered_issue(contents, now=issue.created_at)
    if not rendered.html and not issue.html:
        # Keep own code's words for an account. (Beside HTML, which bridges once had, the text is the
        # letter's.)
        return replace(rendered, text=issue.text)
    return rendered


def refusal_to_edit(issue: Issue) -> str:
    """Return why a published issue can't be edited now, or ""."""
    if issue.issue_import_id is not None:
        return "Another program sent this issue, so only its page can be hidden."
    if issue.subscribable.channel != "email":
        return "It was posted elsewhere. Edit it there."
    if issue.version >= MOST_VERSIONS:
        return f"It was edited {MOST_VERSIONS} times, which is the limit."
    is_going = SERIES not in issue.audience and issue.paused_at is None
    if is_going and issue.deliveries.filter(state__in=NOT_FINISHED).exists():
        return "It’s being sent. Pause it first, then edit it."
    return ""


def _locked(issue_id: int) -> Issue:
    """Return the locked issue if it can be edited. Raises CannotAct."""
    issue = locked_issue(issue_id)
    if issue.published_at is None:
        return locked_draft(issue_id)
    if why := refusal_to_edit(issue):
        raise CannotAct(why)
    return issue


@transaction.atomic
def _store(issue: Issue, before: Draft, after: Draft, rendered: Rendered, now: datetime) -> bool:
    """Return False if the issue was edited or published since it was read. Raises CannotAct."""
    locked = _locked(issue.pk)
    if (locked.revision, locked.published_at) != (issue.revision, issue.published_at):
        return False
    is_out = issue.published_at is not None
    if is_out and issue.pruned_at is None:
        texts = ("title", "subject", "html", "text", "placeholders", "version")
        IssueVersion.objects.create(
            issue=issue,
            entries=[post.entry for post in before.posts],
            replaced_at=now,
            **{name: getattr(issue, name) for name in texts},
        )
    if (after.posts, after.aside) != (before.posts, before.aside):
        IssueItem.objects.filter(issue=issue).delete()
        SetAside.objects.filter(issue=issue).delete()
        IssueItem.objects.bulk_create(_rows(IssueItem, issue, after.posts), batch_size=500)
        SetAside.objects.bulk_create(_rows(SetAside, issue, after.aside), batch_size=500)
        if not is_out:
            _note_left_out(issue.subscribable, before, after, now)
    Issue.objects.filter(pk=issue.pk).update(
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html if locked.pruned_at is None else "",
        text=rendered.text if locked.pruned_at is None else "",
        placeholders=rendered.placeholders,
        own_subject=after.wording.subject,
        note_top=after.wording.note_top,
        note_foot=after.wording.note_foot,
        steps=list(after.steps),
        revision=F("revision") + 1,
        version=F("version") + int(is_out),
    )
    issue.title = rendered.title
    card = card_of(issue, [Entry.from_json(dict(post.entry)) for post in after.posts])
    IssueCard.objects.filter(issue=issue).update(titles=card.titles, picture=card.picture, words=card.words)
    if is_out:
        locked.version += 1
        take_newest_version(locked)
        change_at_companions(locked, now=now)
    return True


def rewrite_letter(*, letter_id: int, text: LetterText, version: int, now: datetime) -> None:
    """Change an email that an editor wrote and that was sent. Raises CannotAct, LetterError.

    `version`: of the letter, as read.
    """
    letter = Broadcast.objects.select_related("issue__subscribable").get(pk=letter_id)
    assert letter.issue is not None  # noqa: S101 - for mypy
    refuse_changed(letter, version)
    typed = checked_text(text)
    if typed == letter_text(letter):
        return
    rendered, made = make_letter(
        letter.issue.subscribable, typed, now=letter.issue.created_at, audience=named_now(letter)
    )
    entry = replace(made, guid=letter_guid(letter)).to_json()
    with transaction.atomic():
        replace_text(letter.issue, rendered, None, entry, now=now)
        changes = {"subject": typed.subject, "markdown": typed.markdown, "version": version + 1}
        if not Broadcast.objects.filter(pk=letter_id, version=version).update(**changes, changed_at=now):
            raise CannotEdit(MEANWHILE)


def replace_text(
    issue: Issue, rendered: Rendered, item_id: int | None, entry: Mapping[str, Any], *, now: datetime
) -> None:
    """Make a new version of an issue of one post. Raises CannotAct."""
    before = draft_of(issue)
    if not _store(issue, before, replace(before, posts=(DraftPost(item_id, entry),)), rendered, now):
        raise CannotEdit(MEANWHILE)


def _rows(model: Any, issue: Issue, posts: Sequence[DraftPost]) -> list[Any]:
    return [
        model(issue=issue, item_id=post.item_id, position=position, entry=post.entry)
        for position, post in enumerate(posts)
    ]


def _note_left_out(subscribable: Subscribable, before: Draft, after: Draft, now: datetime) -> None:
    """Update the left-out reasons of the posts."""
    said = left_out_words(subscribable, BY_HAND)
    were, are = ({post.item_id or 0 for post in draft.aside} for draft in (before, after))
    for item_id in sorted(are - were):
        note_by_hand(subscribable.pk, item_id, now=now)
        Item.objects.filter(pk=item_id).update(reason=Trim(Concat("reason", Value(f" {said}"))))
    for item_id in sorted(were - are):
        forget_by_hand(subscribable.pk, item_id)
        Item.objects.filter(pk=item_id).update(reason=Trim(Replace("reason", Value(said), Value(""))))


def _named(posts: Sequence[DraftPost], item_id: int) -> str:
    title = next((post.title for post in posts if post.item_id == item_id), None)
    if title is None:
        raise CannotEdit(NOT_THERE)
    return title


def _without(draft: Draft, item_id: int) -> Draft:
    gone = tuple(post for post in draft.posts if post.item_id == item_id)
    rest = tuple(post for post in draft.posts if post.item_id != item_id)
    return replace(draft, posts=rest, aside=(*draft.aside, *gone))


def _with(draft: Draft, item_id: int, at: int) -> Draft:
    back = tuple(post for post in draft.aside if post.item_id == item_id)
    rest = tuple(post for post in draft.aside if post.item_id != item_id)
    return replace(draft, posts=(*draft.posts[:at], *back, *draft.posts[at:]), aside=rest)


def _ordered(draft: Draft, order: Sequence[int]) -> Draft:
    places = {item_id: place for place, item_id in enumerate(order)}
    rows = sorted(draft.posts, key=lambda post: places.get(post.item_id or 0, len(places)))
    return replace(draft, posts=tuple(rows))


def as_it_stands(assignable: Assignable, *, now: datetime) -> tuple[Collected, Rendered | None, str]:
    """Return the collection as it is now, its letter, or why it has none.

    Raises CannotEdit if it was just issued.
    """
    try:
        contents = with_corrections(collected(assignable), now=now)
    except LetterError:
        raise
    except ValueError as error:
        raise CannotEdit("It has just become an issue.") from error
    if not contents.posts:
        return contents, None, "This issue has no posts to send."
    try:
        return contents, rendered_issue(contents, now=now), ""
    except LetterError as error:
        return contents, None, str(error)


def move_post(*, assignable: Assignable, item_id: int, way: str | int) -> None:
    posts = collected(assignable).posts
    order = [post.item_id for post in posts]
    there = moved(order, item_id, way)
    if there != order:
        title = next(post.entry.title for post in posts if post.item_id == item_id)
        reorder(
            assignable_id=assignable.pk,
            order=there,
            said=f"moving “{title[:80]}”" if title else "moving a post",
        )


def make_now(*, assignable: Assignable, now: datetime) -> Issue | None:
    """Issue the collection now. Raises CannotEdit. On failure returns None; the collection has the error."""
    send_now(assignable_id=assignable.pk, now=now)
    complete_collection(assignable_id=assignable.pk, now=now)
    rows = Issue.objects.filter(
        subscribable=assignable.subscribable_id, within_type_id=assignable.within_type_id
    )
    return rows.defer("html", "text", "placeholders").first()
