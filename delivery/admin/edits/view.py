"""What the buttons at the next issue, at a draft and at posts that wait to settle do."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse

from common.admin.html import list_url, object_url
from common.admin.refusals import NO_ADDRESS, add_refusal, report
from common.clock import utcnow
from common.ports.panels import CannotAct
from common.refused import Refused
from common.text import counted
from delivery.admin.edits.forms import WordingForm
from delivery.admin.edits.panels import MAY_EDIT_DRAFTS, MAY_EDIT_NEXT
from delivery.issues import draft_edits
from delivery.issues.audience import readers_of
from delivery.issues.next_issue import make_now, move_post
from delivery.issues.pause import is_paused
from delivery.letters.send_test import send_test_of_collection
from delivery.models import Issue
from feeds.models import Item
from subscriptions.collections import edits
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.edits import DOWN, UP

OUT_MEANWHILE = "Not saved: it has gone out, or became a draft, before you changed it."


def edit_next(request: HttpRequest, pk: int, *, around: Mapping[str, Any]) -> HttpResponse:
    """One edit of what is being collected. `around` is what every page of the admin shows."""
    _refuse(request, MAY_EDIT_NEXT)
    row = Assignable.objects.select_related("subscribable").filter(pk=pk).first()
    if row is None:
        return _gone(request)
    do, now = request.POST.get("do", ""), utcnow()
    item_id = _number(request)
    if do == "send_now":
        return _send_now(request, row, around)
    if do == "words":
        return _reword(request, row, lambda wording: edits.reword(assignable_id=pk, wording=wording), around)
    acts: dict[str, Callable[[], str]] = {
        "up": _quietly(lambda: move_post(assignable=row, item_id=item_id, way=UP)),
        "down": _quietly(lambda: move_post(assignable=row, item_id=item_id, way=DOWN)),
        "out": lambda: out_words(edits.leave_out(assignable_id=pk, item_id=item_id, now=now)),
        "back": lambda: back_words(edits.put_back(assignable_id=pk, item_id=item_id, now=now)),
        "anyway": lambda: _sent_anyway(edits.send_withdrawn(assignable_id=pk, item_id=item_id, now=now)),
        "usual": _quietly(lambda: edits.reorder(assignable_id=pk, order=[]), "In the usual order again."),
        "wait": _quietly(
            lambda: edits.wait_for_me(assignable_id=pk, waits=True),
            "At its time it becomes a draft and waits for you.",
        ),
        "go": _quietly(
            lambda: edits.wait_for_me(assignable_id=pk, waits=False), "It goes by itself at its time."
        ),
        "undo": lambda: f"Undone: {edits.undo(assignable_id=pk, now=now)}.",
        "test": lambda: _test(request, row),
    }
    return _acted(request, row, acts, do, item_id)


def edit_draft(request: HttpRequest, pk: int, *, around: Mapping[str, Any]) -> HttpResponse:
    """One edit of a draft."""
    _refuse(request, MAY_EDIT_DRAFTS)
    issue = Issue.objects.defer("html", "text", "holes").filter(pk=pk).first()
    if issue is None:
        raise Http404
    do, now, item_id = request.POST.get("do", ""), utcnow(), _number(request)
    given: dict[str, Any] = {"issue_id": pk, "item_id": item_id, "now": now}
    if do == "words":

        def save(wording: Any) -> None:
            draft_edits.reword_draft(issue_id=pk, wording=wording, now=now)

        return _reword(request, issue, save, around)
    acts: dict[str, Callable[[], str]] = {
        "up": _quietly(lambda: draft_edits.move_in_draft(**given, way=UP)),
        "down": _quietly(lambda: draft_edits.move_in_draft(**given, way=DOWN)),
        "out": _quietly(lambda: draft_edits.leave_out_of_draft(**given), out_words(_title(item_id))),
        "back": _quietly(lambda: draft_edits.put_back_in_draft(**given), back_words(_title(item_id))),
        "undo": lambda: f"Undone: {draft_edits.undo_in_draft(issue_id=pk, now=now)}.",
    }
    return _acted(request, issue, acts, do, item_id)


def edit_settling(request: HttpRequest, pk: int) -> HttpResponse:
    """Leaves out a post that waits to settle, or puts it back."""
    _refuse(request, MAY_EDIT_NEXT)
    newsletter = Subscribable.objects.filter(pk=pk).first()
    if newsletter is None:
        raise Http404
    do, now, item_id = request.POST.get("do", ""), utcnow(), _number(request)
    acts: dict[str, Callable[[], str]] = {
        "out": lambda: out_words(edits.leave_out_ahead(subscribable_id=pk, item_id=item_id, now=now)),
        "back": lambda: back_words(edits.put_back_ahead(subscribable_id=pk, item_id=item_id)),
    }
    return _acted(request, newsletter, acts, do, item_id)


def out_words(title: str) -> str:
    return f"“{title}” is left out."


def back_words(title: str) -> str:
    return f"“{title}” is back."


def _quietly(act: Callable[[], object], said: str = "") -> Callable[[], str]:
    """The act, with a sentence for when it is done."""

    def run() -> str:
        act()
        return said

    return run


def _title(item_id: int) -> str:
    item = Item.objects.defer("entry").filter(pk=item_id).first()
    return edits.short_title(item) if item else "The post"


def _refuse(request: HttpRequest, permission: str) -> None:
    if not request.user.has_perm(permission):
        raise PermissionDenied


def _number(request: HttpRequest) -> int:
    given = request.POST.get("post", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0


def _acted(
    request: HttpRequest, row: Any, acts: Mapping[str, Callable[[], str]], do: str, item_id: int
) -> HttpResponse:
    """Does it, and leads back to where it was asked for."""
    if request.method != "POST":
        return HttpResponseRedirect(object_url(row))
    if do not in acts:
        return HttpResponseNotAllowed(["POST"])
    report(request, acts[do])
    if isinstance(row, Assignable) and not Assignable.objects.filter(pk=row.pk).exists():
        return HttpResponseRedirect(_issue_or_newsletter(row))
    # Browsers heed no autofocus where the address names a place: after a move the button itself is the place.
    place = f"?moved={item_id}-{do}" if do in (UP, DOWN) else f"#post-{item_id}" if item_id else ""
    return HttpResponseRedirect(f"{object_url(row)}{place}")


def _sent_anyway(title: str) -> str:
    return f"“{title}” is sent all the same, with the others."


def _gone(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        raise Http404
    messages.error(request, OUT_MEANWHILE)
    return HttpResponseRedirect(list_url(Issue))


def _issue_or_newsletter(row: Assignable) -> str:
    issues = Issue.objects.filter(subscribable=row.subscribable_id, within_type_id=row.within_type_id)
    return object_url(issues.defer("html", "text", "holes").first() or row.subscribable)


def _test(request: HttpRequest, row: Assignable) -> str:
    address = getattr(request.user, "email", "")
    if not address:
        raise CannotAct(NO_ADDRESS)
    send_test_of_collection(assignable=row, to=address, now=utcnow())
    return f"A test of it as it stands is on its way to {address}."


def _send_now(request: HttpRequest, row: Assignable, around: Mapping[str, Any]) -> HttpResponse:
    """Says first to how many it goes; a second click does it."""
    newsletter = row.subscribable
    if "confirmed" not in request.POST:
        posts = counted(row.assignments.kept().count(), "post")
        readers = counted(readers_of(newsletter.pk).count(), "subscriber")
        sentences = [f"“{newsletter}” goes to {readers} now, with {posts}. This cannot be taken back."]
        if row.period_end is not None:
            sentences.append("Posts that settle from now on go out at its usual time.")
        if newsletter.sending_paused_at is not None:
            sentences.append("The newsletter is paused: its letters wait until that ends.")
        return _ask(request, row, "Send now", around, sentences=sentences, posted=[("do", "send_now")])

    def send() -> str:
        issue = make_now(assignable=row, now=utcnow())
        if issue is None:
            found = Assignable.objects.filter(pk=row.pk).first()
            why = f" {found.last_error}" if found and found.last_error else ""
            raise CannotAct(f"It could not be made yet, and is tried again by itself.{why}")
        waits = " It waits: the newsletter is paused." if is_paused(issue) else ""
        return f"It is on its way.{waits}"

    report(request, send)
    there = Assignable.objects.filter(pk=row.pk).exists()
    return HttpResponseRedirect(object_url(row) if there else _issue_or_newsletter(row))


def _reword(
    request: HttpRequest, row: Any, save: Callable[[Any], None], around: Mapping[str, Any]
) -> HttpResponse:
    """Saves the words. What is refused is shown with the words that were typed: nobody types them twice."""
    form = WordingForm(request.POST)
    if form.is_valid():
        try:
            save(form.wording)
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, "Saved. The letter shows it.")
            return HttpResponseRedirect(object_url(row))
    return _ask(request, row, "Save these words", around, form=form, posted=[("do", "words")])


def _ask(request: HttpRequest, row: Any, title: str, around: Mapping[str, Any], **more: Any) -> HttpResponse:
    context = {**around, "title": title, "opts": row._meta, "back": object_url(row), **more}
    return TemplateResponse(request, "admin/confirm_action.html", context)
