"""The issue that is being collected, as it would go out now: seen, put in order and sent."""

from dataclasses import dataclass
from datetime import datetime

from channels.letter import LetterError
from delivery.issues.complete import complete_collection
from delivery.issues.contents import Collected, collected, rendered_issue
from delivery.models import Issue
from delivery.rendering.errors import Rendered
from delivery.rules.posts import Post
from subscriptions.collections.edits import reorder, send_now
from subscriptions.models import Assignable
from subscriptions.rules.edits import CannotEdit, moved


@dataclass(frozen=True, slots=True)
class NextIssue:
    """What it holds, and its letter. `problem` says why there is no letter."""

    contents: Collected
    rendered: Rendered | None = None
    problem: str = ""

    @property
    def posts(self) -> tuple[Post, ...]:
        return self.contents.posts


def as_it_stands(assignable: Assignable, *, now: datetime) -> NextIssue:
    """The issue by the same way as when it goes. Raises CannotEdit where it has just gone."""
    try:
        contents = collected(assignable)
    except LetterError:
        raise
    except ValueError as error:
        raise CannotEdit("It has just been made into an issue.") from error
    if not contents.posts:
        return NextIssue(contents, problem="There is no post in it that goes out.")
    try:
        return NextIssue(contents, rendered_issue(contents, now=now))
    except LetterError as error:
        return NextIssue(contents, problem=str(error))


def move_post(*, assignable: Assignable, item_id: int, way: str) -> None:
    """Moves a post of what is being collected a place up or down, or to an end. Raises CannotEdit."""
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
    """Sends what is being collected now. None where it could not be made: the collection says why.

    Raises CannotEdit.
    """
    send_now(assignable_id=assignable.pk, now=now)
    complete_collection(assignable_id=assignable.pk, now=now)
    rows = Issue.objects.filter(
        subscribable=assignable.subscribable_id, within_type_id=assignable.within_type_id
    )
    return rows.defer("html", "text", "placeholders").first()
