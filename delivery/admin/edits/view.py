"""Button actions for the next issue, drafts and settling posts."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404

from common.admin.html import list_url, object_url, page
from common.admin.refusals import NO_ADDRESS, add_refusal, report, require
from common.clock import utcnow
from common.ports.panels import CannotAct
from common.refused import Refused
from common.text import pluralize
from delivery.admin.edits.panels import (
    EDITING,
    MAY_EDIT_DRAFTS,
    MAY_EDIT_NEXT,
    MAY_SEND_NEXT,
    NEWSLETTER,
    WordingForm,
    edit_url,
)
from delivery.issues import draft_edits
from delivery.issues.audience import readers_of
from delivery.issues.draft_edits import make_now, move_post, refusal_to_edit
from delivery.issues.pause import is_paused
from delivery.letters.trial import send_test_issue
from delivery.models import Delivery, Issue
from feeds.models import Item
from subscriptions.collections import edits
from subscriptions.collections.proposals import decide
from subscriptions.models import Assignable, Subscribable
from subscriptions.rules.edits import DOWN, FIRST, UP, Wording, fingerprint, shown_before_undo

# By the value of a button.
Acts = Mapping[str, Callable[[], str]]
MOVES = (UP, DOWN, FIRST, "after")
SENDING_BUTTONS = ("send_now", "wait", "go")
ANYWAY = "“{}” will be sent with the others."
OUT_MEANWHILE = "Not saved. This issue was sent or became a draft before your change."


def edit_next(request: HttpRequest, pk: int) -> HttpResponse:
    require(request.user.has_perm(MAY_EDIT_NEXT))
    row = Assignable.objects.select_related("subscribable").filter(pk=pk).first()
    if row is None:
        return _gone(request)
    do, latest, now = request.POST.get("do", ""), request.POST.get("latest"), utcnow()
    if do in SENDING_BUTTONS:
        require(request.user.has_perm(MAY_SEND_NEXT))
    item_id = _number(request)
    way = do if do in (UP, DOWN, FIRST) else _number(request, "after")
    acts: Acts = {
        **dict.fromkeys(MOVES, _quietly(lambda: move_post(assignable=row, item_id=item_id, way=way))),
        "out": lambda: out_words(edits.leave_out(assignable_id=pk, item_id=item_id, now=now)),
        "back": lambda: back_words(edits.put_back(assignable_id=pk, item_id=item_id, now=now)),
        "anyway": lambda: ANYWAY.format(edits.send_withdrawn(assignable_id=pk, item_id=item_id, now=now)),
        "usual": _quietly(lambda: edits.reorder(assignable_id=pk, order=[]), "The usual order is back."),
        "wait": _quietly(
            lambda: edits.wait_for_me(assignable_id=pk, waits=True),
            "It will wait for your approval instead of being sent.",
        ),
        "go": _quietly(
            lambda: edits.wait_for_me(assignable_id=pk, waits=False), "It will be sent on schedule."
        ),
        "undo": lambda: f"Undone: {edits.undo_edit(assignable_id=pk, now=now, latest=latest)}.",
        "test": lambda: _test(request, row),
        "use": lambda: decide(assignable_id=pk, at=request.POST.get("proposal", ""), accepts=True),
        "dismiss": lambda: decide(assignable_id=pk, at=request.POST.get("proposal", ""), accepts=False),
    }
    return _saved_and_acted(request, row, acts)


def edit_draft(request: HttpRequest, pk: int) -> HttpResponse:
    require(request.user.has_perm(MAY_EDIT_DRAFTS))
    issue = get_object_or_404(Issue.objects.defer("html", "text", "placeholders"), pk=pk)
    do, latest, now, item_id = request.POST.get("do"), request.POST.get("latest"), utcnow(), _number(request)
    given: dict[str, Any] = {"issue_id": pk, "item_id": item_id, "now": now}
    way = do if do in (UP, DOWN, FIRST) else _number(request, "after")
    acts: Acts = {
        **dict.fromkeys(MOVES, _quietly(lambda: draft_edits.move_in_draft(**given, way=way))),
        "out": _quietly(lambda: draft_edits.leave_out_of_draft(**given), out_words(_title(item_id))),
        "back": _quietly(lambda: draft_edits.put_back_in_draft(**given), back_words(_title(item_id))),
        "undo": lambda: f"Undone: {draft_edits.undo_in_draft(issue_id=pk, now=now, latest=latest)}.",
    }
    return _saved_and_acted(request, issue, acts)


def save_words_of_draft(request: HttpRequest, issue: Issue) -> HttpResponse | None:
    """Save the draft's typed words. If refused, return a page with them."""
    return _save_words(request, issue) if request.user.has_perm(MAY_EDIT_DRAFTS) else None


def edit_settling(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave out a settling post, or put it back."""
    require(request.user.has_perm(MAY_EDIT_NEXT))
    newsletter = get_object_or_404(Subscribable, pk=pk)
    now, item_id = utcnow(), _number(request)
    acts: Acts = {
        "out": lambda: out_words(edits.leave_out_ahead(subscribable_id=pk, item_id=item_id, now=now)),
        "back": lambda: back_words(edits.put_back_ahead(subscribable_id=pk, item_id=item_id)),
    }
    return _acted(request, newsletter, acts)


def out_words(title: str) -> str:
    return f"“{title}” is left out."


def back_words(title: str) -> str:
    return f"“{title}” is back."


def _quietly(act: Callable[[], object], said: str = "") -> Callable[[], str]:
    def run() -> str:
        act()
        return said

    return run


def _title(item_id: int) -> str:
    item = Item.objects.defer("entry").filter(pk=item_id).first()
    return edits.short_title(item) if item else "The post"


def _number(request: HttpRequest, name: str = "post") -> int:
    given = request.GET.get(name) or request.POST.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0


def _acted(request: HttpRequest, row: Any, acts: Acts) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseRedirect(object_url(row))
    if (do := request.POST.get("do", "")) not in acts:
        return HttpResponseNotAllowed(["POST"])
    report(request, acts[do])
    return _back(request, row)


def edit_page(request: HttpRequest, row: Any) -> str:
    """Return the page whose button was pressed: a newsletter's first tab has its next issue."""
    is_newsletters = isinstance(row, Assignable) and request.POST.get("page") == NEWSLETTER
    address = object_url(row.subscribable if is_newsletters else row)
    is_going_on = (
        isinstance(row, Issue) and row.published_at is not None and request.POST.get("do") != "words"
    )
    return f"{address}?{EDITING}" if is_going_on else address


def _back(request: HttpRequest, row: Any) -> HttpResponse:
    if isinstance(row, Assignable) and not Assignable.objects.filter(pk=row.pk).exists():
        return HttpResponseRedirect(_issue_or_newsletter(row))
    # Browsers ignore autofocus in URLs with a fragment, so after a move the button is the target.
    address, do, item_id = edit_page(request, row), request.POST.get("do", ""), _number(request)
    mark = "&" if "?" in address else "?"
    place = (
        f"{mark}moved={item_id}-{do}" if do in (UP, DOWN, FIRST) else f"#post-{item_id}" if item_id else ""
    )
    return HttpResponseRedirect(f"{address}{place}")


def _gone(request: HttpRequest) -> HttpResponse:
    """Answer for a collection that became an issue: put typed words into its draft, or show them."""
    if request.method != "POST":
        raise Http404
    newsletter, _, key = request.POST.get("made", "").partition(" ")
    issues = Issue.objects.defer("html", "text", "placeholders").select_related("subscribable")
    known = newsletter.isascii() and newsletter.isdecimal() and len(newsletter) < 19 and "\0" not in key
    issue = issues.filter(subscribable=int(newsletter), within_type_id=key).first() if known else None
    if issue is None:
        messages.error(request, OUT_MEANWHILE)
        return HttpResponseRedirect(list_url(Issue))
    if "note_top" in request.POST:
        is_draft = issue.published_at is None and issue.cancelled_at is None
        if is_draft and request.user.has_perm(MAY_EDIT_DRAFTS):
            messages.warning(request, "This issue has become a draft. Your text was saved there.")
            return _save_words(request, issue) or HttpResponseRedirect(object_url(issue))
        form = WordingForm(request.POST)
        if any(request.POST.get(name) for name in form.fields):
            messages.error(request, OUT_MEANWHILE)
            return _ask(request, issue, "Your text", form=form, is_over=True)
    messages.error(request, OUT_MEANWHILE)
    return HttpResponseRedirect(object_url(issue))


def _issue_or_newsletter(row: Assignable) -> str:
    issues = Issue.objects.filter(subscribable=row.subscribable_id, within_type_id=row.within_type_id)
    return object_url(issues.defer("html", "text", "placeholders").first() or row.subscribable)


def _test(request: HttpRequest, row: Assignable) -> str:
    address = getattr(request.user, "email", "")
    if not address:
        raise CannotAct(NO_ADDRESS)
    send_test_issue(subscribable=row.subscribable, collection=row.pk, to=address, now=utcnow())
    return f"We’ve sent a test to {address}."


def _send_now(request: HttpRequest, row: Assignable) -> HttpResponse:
    """Show the number of readers first; send on confirmation."""
    newsletter = row.subscribable
    if "confirmed" not in request.POST:
        posts = pluralize(row.assignments.kept().count(), "post")
        readers = pluralize(readers_of(newsletter.pk).count(), "subscriber")
        sentences = [f"This sends {posts} to {readers} of “{newsletter}” now. You can’t undo it."]
        if row.period_end is not None:
            sentences.append("Posts that settle later will be sent at the usual time.")
        if newsletter.sending_paused_at is not None:
            sentences.append("The newsletter is paused, so the emails wait until you resume it.")
        posted = [("do", "send_now"), *_kept(request)]
        return _ask(request, row, "Send now", sentences=sentences, posted=posted)

    def send() -> str:
        issue = make_now(assignable=row, now=utcnow())
        if issue is None:
            found = Assignable.objects.filter(pk=row.pk).first()
            why = f" {found.last_error}" if found and found.last_error else ""
            raise CannotAct(f"We couldn’t make this issue yet and will try again.{why}")
        waits = " It waits because the newsletter is paused." if is_paused(issue) else ""
        return f"This issue is being sent.{waits}"

    report(request, send)
    there = Assignable.objects.filter(pk=row.pk).exists()
    return HttpResponseRedirect(edit_page(request, row) if there else _issue_or_newsletter(row))


def _saved_and_acted(request: HttpRequest, row: Assignable | Issue, acts: Acts) -> HttpResponse:
    """Do a button's action and save the words typed beside it."""
    do = request.POST.get("do", "")
    if request.method != "POST":
        return HttpResponseRedirect(object_url(row))
    if do not in (*acts, "words") and not (isinstance(row, Assignable) and do == "send_now"):
        return HttpResponseNotAllowed(["POST"])
    if do == "undo":
        # Saved first, the words would be the step that is undone.
        is_undone = report(request, acts[do])
        return _save_words(request, row, is_undone=is_undone) or _back(request, row)
    if (refused := _save_words(request, row)) is not None:
        return refused
    if do == "send_now" and isinstance(row, Assignable):
        return _send_now(request, row)
    if do == "words":
        return HttpResponseRedirect(edit_page(request, row))
    return _acted(request, row, acts)


def _save_words(
    request: HttpRequest, row: Assignable | Issue, *, is_undone: bool = False
) -> HttpResponse | None:
    """Save a next issue's or draft's typed words, if any. If refused, return a page with them."""
    if request.method != "POST" or "note_top" not in request.POST:
        return None
    shown = request.POST.get("shown", "")
    form, do = WordingForm(request.POST), request.POST.get("do", "")
    if form.is_valid():
        try:
            if do != "words" and fingerprint(form.wording) == shown:
                return None
            if is_undone:
                shown = shown_before_undo(form.wording, _current(row), shown)
            if isinstance(row, Assignable):
                is_changed = edits.reword(assignable_id=row.pk, wording=form.wording, shown=shown)
            else:
                is_changed = draft_edits.reword_draft(
                    issue_id=row.pk, wording=form.wording, now=utcnow(), shown=shown
                )
        except Refused as error:
            add_refusal(form, error)
        else:
            if do == "words":
                messages.success(request, saved_words(row))
            elif is_changed:
                messages.success(request, "Your text is saved.")
            return None
    if do not in ("words", "undo"):
        messages.warning(request, "We couldn’t save your text yet, so nothing was done. See below.")
    name = "next_issue" if isinstance(row, Assignable) else "issue"
    posted = [("do", "words"), ("shown", fingerprint(_current(row))), *_kept(request)]
    return _ask(
        request,
        row,
        "Save text",
        form=form,
        posted=posted,
        is_over=isinstance(row, Issue) and bool(row.published_at and refusal_to_edit(row)),
        action=edit_url(name, row.pk),
    )


def saved_words(row: Assignable | Issue) -> str:
    if isinstance(row, Assignable) or row.published_at is None:
        return "Saved."
    rest = row.deliveries.filter(state=Delivery.State.HELD, version=F("issue__version")).count()
    if row.paused_at is not None and rest:
        return f"Saved. The {pluralize(rest, 'email')} not sent yet will have this text. Resume to send them."
    return "Saved. Its page in the archive has changed. Emails that were sent have not."


def _kept(request: HttpRequest) -> list[tuple[str, str]]:
    return [(name, request.POST[name]) for name in ("made", "page") if name in request.POST]


def _current(row: Assignable | Issue) -> Wording:
    row.refresh_from_db()
    if isinstance(row, Assignable):
        return edits.wording_of(row)
    return Wording(row.own_subject, row.note_top, row.note_foot)


def _ask(request: HttpRequest, row: Any, title: str, **more: Any) -> HttpResponse:
    context = {"title": title, "opts": row._meta, "back": edit_page(request, row), **more}
    return page(request, "admin/confirm_action.html", context)
