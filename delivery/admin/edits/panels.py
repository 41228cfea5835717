"""Panels for editing the next issue, drafts and posts that are settling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextareaWidget

from channels.letter import LetterError
from common.admin.html import brief, object_url, short_when_there
from common.admin.model_admin import StyledForm
from common.clock import utcnow, zone_words
from common.parts import Part, Template
from common.text import one_line, pluralize, shortened
from delivery.admin.issue_panels import letter_frame, version_words
from delivery.admin.issue_panels import posts as issue_posts
from delivery.issues.draft_edits import DraftPost, as_it_stands, draft_of, refusal_to_edit
from delivery.letters.build import newsletter_letter
from delivery.models import Broadcast, Delivery, Issue
from delivery.rendering.posts import picture_of
from delivery.rules.posts import Post
from delivery.rules.progress import ARRIVED
from feeds.items.history import status_of
from feeds.models import Item
from feeds.parsing.entry import Entry
from feeds.rules.item_status import settles_at
from subscriptions.admin_words import rhythm_here, waits_for
from subscriptions.collections.edits import held_words, settling, wording_of
from subscriptions.collections.readiness import collection_facts
from subscriptions.models import Assignable, Subscribable
from subscriptions.panels import withdrawn_words
from subscriptions.rules.completion import LATE, clock_words, next_issue_time
from subscriptions.rules.edits import (
    FIELD_NAMES,
    LONGEST_NOTE,
    LONGEST_SUBJECT,
    CannotEdit,
    Wording,
    fingerprint,
)
from subscriptions.subscribers.counts import reachable_count

# Form sent by all buttons of the page, so that no button loses typed text.
EDIT_FORM = "fl-edit"


MARKDOWN = "You can use Markdown, such as *italic*, **bold** or [a link](https://example.org)."
LONGEST_SHOWN_TITLE = 200
EDIT_ROWS_SHOWN = 200
SETTLING_SHOWN = 20
MAY_EDIT_NEXT, MAY_SEND_NEXT = "subscriptions.draft_assignable", "subscriptions.change_assignable"
MAY_EDIT_DRAFTS = "delivery.draft_issue"
# Value of the form's field "page".
NEWSLETTER = "newsletter"
# In the query of a sent issue's page.
EDITING = "edit"
EACH = "Each post is sent on its own once it settles. These are next."


class WordingForm(StyledForm, forms.Form):
    subject = forms.CharField(max_length=LONGEST_SUBJECT, required=False)
    note_top = forms.CharField(
        label="Note above the posts",
        max_length=LONGEST_NOTE,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=MARKDOWN,
    )
    note_foot = forms.CharField(
        label="Note below the posts",
        max_length=LONGEST_NOTE,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )

    @property
    def wording(self) -> Wording:
        return Wording(**self.cleaned_data)


def edit_rows(
    posts: Sequence[tuple[int | None, Entry]], *, about: Mapping[int, str] | None = None, asked: Any = None
) -> list[dict[str, Any]]:
    """Return posts for the template.

    `key` is the item's, or 0 if its feed was deleted; such a post can't be moved. `focus` is the button
    pressed last, to keep the keyboard focus.
    """
    key, _, pressed = str((asked or {}).get("moved", "")).partition("-")
    last = len(posts) - 1
    found = []
    for place, (item_id, entry) in enumerate(posts[:EDIT_ROWS_SHOWN]):
        pk, title = item_id or 0, entry.title or entry.link
        can = {"up": place > 0, "down": place < last, "first": place > 1}
        focus = ""
        if pk and key == str(pk):
            # At either end one button disappears; focus the other.
            focus = pressed if can.get(pressed) else "down" if can["down"] else "up" if can["up"] else ""
        found.append(
            {
                "key": pk,
                "title": shortened(one_line(title), LONGEST_SHOWN_TITLE) or "Untitled",
                "url": object_url(Item(pk=pk)) if pk else "",
                "about": (about or {}).get(pk, ""),
                "picture": picture_of(entry),
                **{f"can_{way}": is_possible for way, is_possible in can.items()},
                "focus": focus,
            }
        )
    return found


def edit_url(name: str, pk: int) -> str:
    """Return the buttons' URL. `name`: next_issue (a collection), issue (a draft) or settling."""
    return reverse(f"admin:delivery_{name}_edit", args=[pk])


def next_issue(assignable: Assignable, request: HttpRequest, *, page: str = "") -> Part:
    """`page`: where its buttons lead back to, if not to the collection's own page."""
    newsletter = assignable.subscribable
    form = {
        "page": page,
        "action": edit_url("next_issue", assignable.pk),
        "may": request.user.has_perm(MAY_EDIT_NEXT),
        "may_send": request.user.has_perm(MAY_SEND_NEXT),
        # The key to find the issue if the collection becomes one while the page is open.
        "made": f"{assignable.subscribable_id} {assignable.within_type_id}",
    }
    try:
        contents, rendered, problem = as_it_stands(assignable, now=utcnow())
    except (LetterError, CannotEdit) as error:
        return _posts(assignable, request, wording_of(assignable), "", {**form, "problem": str(error)})
    zone = newsletter.zone
    joined = assignable.assignments.values_list("item_id", "assigned_at")
    said = {item: f"added {brief(at, zone=zone)}".replace("Y", "y") for item, at in joined}
    by_hand = contents.by_hand
    dropped = [post for post in contents.left_out if post.item_id not in {one.item_id for one in by_hand}]
    gone = Item.objects.filter(assignables=assignable, set_aside_at__isnull=False).only("set_aside_at")
    withdrawn = {item.pk: withdrawn_words(item, newsletter) for item in gone}
    subject = rendered.subject if rendered is not None else ""
    context = {
        **form,
        "is_next": True,
        "is_mail": newsletter.channel == "email",
        "waits": assignable.waits,
        "asks_anyway": newsletter.approval == Subscribable.Approval.CLICK,
        "has_order": any(row.place is not None for row in assignable.assignments.all()),
        "posts": edit_rows(_entries(contents.posts), about=said, asked=request.GET),
        "proposal": _proposal(assignable, contents.posts),
        "out": edit_rows(_entries(by_hand)),
        "withdrawn": edit_rows(_entries(contents.withdrawn), about=withdrawn),
        "dropped": [(post.entry.title, contents.reasons.get(post.item_id, "")) for post in dropped],
        "problem": problem,
    }
    return _posts(assignable, request, wording_of(assignable), subject, context)


def _posts(
    row: Assignable | Issue, request: HttpRequest, wording: Wording, usual: str, more: Mapping[str, Any]
) -> Part:
    """Show posts with buttons, and a form of the wording. `usual`: subject as it is now."""
    is_mail = row.subscribable.channel == "email"
    form = WordingForm(initial=asdict(wording)) if is_mail else None
    if form is not None:
        for field in form.fields.values():
            field.widget.attrs["form"] = EDIT_FORM
        form.fields["subject"].widget.attrs["placeholder"] = usual
    context = {
        "form_id": EDIT_FORM,
        "shown": fingerprint(wording) if is_mail else "",
        "words": form,
        "undo": str(row.steps[-1]["said"]) if row.steps else "",
    }
    return Template("admin/delivery/edits/posts.html", {**context, **more}, request)


def _proposal(assignable: Assignable, posts: Iterable[Post]) -> Any:
    """Return an assistant's proposal in words: titles in order, and changed texts by their names."""
    given: Any = assignable.proposal
    if given is None:
        return None
    titles = {post.item_id: one_line(post.entry.title or post.entry.link) for post in posts}
    return {
        **given,
        "titles": [titles[key] for key in given["order"] if key in titles],
        "texts": [(FIELD_NAMES[name], text) for name, text in given["words"].items()],
    }


def next_letter(assignable: Assignable) -> Part:
    """Show the letter exactly as it would be sent now; "" for a bridge."""
    if assignable.subscribable.channel != "email":
        return ""
    try:
        contents, rendered, problem = as_it_stands(assignable, now=utcnow())
    except (LetterError, CannotEdit) as error:
        return str(error)
    if rendered is None:
        return problem
    letter = newsletter_letter(
        assignable.subscribable,
        rendered,
        kind="issue",
        token="preview",  # noqa: S106
        entries=(post.entry for post in contents.posts),
    )
    return letter_frame(letter)


def draft_posts(issue: Issue, request: HttpRequest) -> Part:
    """Show an issue's posts, with buttons while it is edited."""
    if not is_edited_here(issue, request):
        titles = [str(row) or "Untitled" for row in issue.set_aside.all()[:SETTLING_SHOWN]]
        said = f"Left out by an editor: {', '.join(titles)}." if titles else ""
        return (issue_posts(issue), said)
    draft = draft_of(issue)
    context = {
        "action": edit_url("issue", issue.pk),
        "may": request.user.has_perm(MAY_EDIT_DRAFTS),
        "posts": edit_rows([(post.item_id, _entry(post)) for post in draft.posts], asked=request.GET),
        "out": edit_rows([(post.item_id, _entry(post)) for post in draft.aside]),
    }
    return _posts(issue, request, draft.wording, issue.subject, context)


def is_edited_here(issue: Issue, request: HttpRequest) -> bool:
    """Return whether the issue's page has its editor: for drafts and paused ones, and others if asked."""
    if issue.published_at is None:
        return issue.cancelled_at is None
    if not request.user.has_perm(MAY_EDIT_DRAFTS) or hasattr(issue, "broadcast"):
        return False
    return (issue.paused_at is not None or EDITING in request.GET) and not refusal_to_edit(issue)


def edits_words(issue: Issue, request: HttpRequest) -> bool:
    is_mail = issue.subscribable.channel == "email"
    return is_mail and is_edited_here(issue, request) and request.user.has_perm(MAY_EDIT_DRAFTS)


def mending(issue: Issue, request: HttpRequest) -> Part:
    """Show what can be done after a mistake: edit the text or page, write a correction, copy an email."""
    is_ours = issue.published_at is not None and issue.issue_import_id is None
    if not is_ours or issue.subscribable.channel != "email" or not request.user.has_perm(MAY_EDIT_DRAFTS):
        return ""
    letter, is_here = Broadcast.objects.filter(issue=issue).first(), is_edited_here(issue, request)
    address = f"{object_url(letter) if letter else object_url(issue)}?{EDITING}"
    context = {
        "refusal": refusal_to_edit(issue),
        "edit_url": "" if is_here else address,
        "is_editing": EDITING in request.GET and is_here,
        "is_paused": issue.paused_at is not None,
        "action": reverse("admin:delivery_issue_letter", args=[issue.pk]),
        "may_write": request.user.has_perm("delivery.add_broadcast"),
        "letter": letter,
        "texts": text_counts(issue),
    }
    return Template("admin/delivery/edits/mending.html", context, request)


def text_counts(issue: Issue) -> list[str]:
    """Return which text how many people got; nothing if all got the same."""
    if not issue.version:
        return []
    out = Delivery.objects.filter(issue=issue, state__in=ARRIVED).order_by("version")
    counts = out.values_list("version").annotate(Count("pk"))
    return [
        f"{pluralize(count, 'person', 'people')} got {version_words(issue, version)}."
        for version, count in counts
    ]


def _entry(post: DraftPost) -> Entry:
    return Entry.from_json(dict(post.entry))


def _entries(posts: Iterable[Post]) -> list[tuple[int | None, Entry]]:
    return [(post.item_id, post.entry) for post in posts]


def next_of_newsletter(newsletter: Subscribable, request: HttpRequest) -> Part:
    """Show the next issue with its time, people and buttons, or how one begins."""
    row, people = first_collection(newsletter), reachable_count(newsletter)
    context: dict[str, Any] = {"people": pluralize(people, "person", "people")}
    if row is None:
        context |= {"when": "No posts yet", "meaning": next_issue_meaning(newsletter)}
    else:
        facts_, now = collection_facts(row), utcnow()
        others = newsletter.assignables.exclude(pk=row.pk).order_by("period_end", "opened_at", "pk")
        time = next_issue_time(facts_, now)
        context |= {
            "when": time if isinstance(time, str) else short_when_there(time, now=now, zone=newsletter.zone),
            "posts": held_words(facts_.count, facts_.left_out),
            "late": waits_for(row) if row.last_error or time == LATE else "",
            "edits": next_issue(row, request, page=NEWSLETTER),
            "others": [(object_url(each), waits_for(each)) for each in others[:SETTLING_SHOWN]],
        }
    context |= {
        "action": edit_url("settling", newsletter.pk),
        "may": request.user.has_perm(MAY_EDIT_NEXT),
        "is_each": newsletter.arrangement == Subscribable.Arrangement.EACH,
        "settling": [
            {
                "key": item.pk,
                "title": str(item),
                "url": object_url(item),
                "about": f"{item.feed} · {ready_words(item, utcnow())}",
                "picture": picture_of(Entry.from_json(item.entry)) if item.entry else "",
                "is_out": is_left_out,
            }
            for item, is_left_out in settling(newsletter, SETTLING_SHOWN).items()
        ],
    }
    return Template("admin/delivery/edits/newsletter.html", context, request)


def ready_words(item: Item, now: datetime) -> str:
    ready = settles_at(status_of(item), item.feed)
    return f"ready {brief(ready)}" if ready > now else "ready at the next reading"


def first_collection(newsletter: Subscribable) -> Assignable | None:
    row = newsletter.assignables.order_by("period_end", "opened_at", "pk").first()
    if row is not None:
        row.subscribable = newsletter  # saves a query each
    return row


def next_letter_of_newsletter(newsletter: Subscribable) -> Part:
    row = first_collection(newsletter)
    return next_letter(row) if row is not None else ""


def next_issue_meaning(newsletter: Subscribable) -> str:
    match newsletter.arrangement:
        case "each":
            said = EACH
            if newsletter.approval == Subscribable.Approval.NONE:
                said += " To edit an email before it’s sent, turn on approval in the newsletter’s settings."
            return said
        case "every_n":
            said = f"The next issue is sent as soon as it has {pluralize(newsletter.n or 1, 'post')}."
            if newsletter.max_wait_days:
                said += f" After {pluralize(newsletter.max_wait_days, 'day')} it’s sent with fewer."
            return f"{said} If you leave one out, it waits for another."
        case "cron":
            rhythm = rhythm_here(newsletter)
            return f"The newsletter is sent {rhythm}, with all posts that have settled by then."
    at = f"{clock_words(newsletter.at)}, {zone_words(newsletter.zone)}"
    return f"The next issue is sent on its day at {at}, with all posts that have settled by then."
