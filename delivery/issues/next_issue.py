"""Preview, order and send the issue that is being collected."""

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
    contents: Collected
    rendered: Rendered | None = None
    problem: str = ""

    @property
    def posts(self) -> tuple[Post, ...]:
        return self.contents.posts


def as_it_stands(assignable: Assignable, *, now: datetime) -> NextIssue:
    """Render the collection as it is now. Raises CannotEdit if it was just issued."""
    try:
        contents = collected(assignable)
    except LetterError:
        raise
    except ValueError as error:
        raise CannotEdit("It has just become an issue.") from error
    if not contents.posts:
        return NextIssue(contents, problem="This issue has no posts to send.")
    try:
        return NextIssue(contents, rendered_issue(contents, now=now))
    except LetterError as error:
        return NextIssue(contents, problem=str(error))


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
