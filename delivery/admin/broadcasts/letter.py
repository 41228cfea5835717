"""Pages on which an editor writes, previews and sends a broadcast."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import RelatedFieldListFilter, SimpleListFilter
from django.contrib.admin.utils import unquote
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern
from django.views.decorators.http import require_POST

from channels.letter import LetterError
from common.access import newsletters_of, visible_to
from common.admin.html import add_url, brief, column, list_url, object_url, page, when
from common.admin.lists import asks
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.admin.refusals import NO_ADDRESS, add_refusal, refusal_sentence, report, require
from common.admin.resources import actions_of
from common.body_limits import MAX_FORM_BYTES, takes_body
from common.clock import utcnow
from common.pictures.picture import MOST_CODED_BYTES
from common.ports.panels import CannotAct
from common.refused import Refused
from common.text import pluralize
from delivery.admin.broadcasts import forms
from delivery.admin.broadcasts.forms import (
    AudienceForm,
    BeginForm,
    PictureForm,
    ScheduleForm,
    in_bounds,
    posted_text,
    seen,
    words_of,
)
from delivery.admin.broadcasts.series import SeriesPage, series_url
from delivery.admin.edits.panels import EDITING
from delivery.admin.edits.view import saved_words
from delivery.issues.audience import audience_of, audience_words
from delivery.issues.broadcasts import (
    MOST_MARKDOWN,
    LetterText,
    begin_letter,
    in_letter_state,
    letter_text,
    save_letter,
    schedule_letter,
    send_letter,
)
from delivery.issues.draft_edits import refusal_to_edit, rewrite_letter
from delivery.issues.series import switch_on
from delivery.letters.templates import preview_written
from delivery.letters.trial import send_test_written
from delivery.models import Broadcast, Issue
from delivery.models.issue import LETTER_STATES
from delivery.rendering.subjects import LONGEST_SUBJECT
from delivery.resources.letters import letters
from delivery.rules.audience import is_for_some
from delivery.views.preview import as_json, frames
from subscriptions.forms.pictures import ACCEPTED
from subscriptions.models import Subscribable
from subscriptions.rules.completion import clock_words

COLOURS = {"draft": "info", "scheduled": "success", "trouble": "danger"}


def refuse_others(letter: Broadcast, own: frozenset[int] | None) -> None:
    """Raise CannotAct if it goes to newsletters that a limited user doesn't work for."""
    if own is not None and not own.issuperset(audience_of(letter).others):
        raise CannotAct("Its recipients include a newsletter that isn’t yours. Update them first.")


class SendPage(ServiceAdmin):
    """Base of BroadcastAdmin."""

    def found(self, request: HttpRequest, pk: int) -> Broadcast:
        """Raises Http404 and PermissionDenied."""
        require(self.has_view_permission(request))
        letter: Broadcast = get_object_or_404(self.get_queryset(request).select_related("issue"), pk=pk)
        return letter

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_draft_permission(request)

    def page_context(self, letter: Broadcast, title: str) -> dict[str, Any]:
        return {
            "title": title,
            "opts": self.opts,
            "letter": letter,
            "newsletter": letter.subscribable,
            "newsletter_url": object_url(letter.subscribable),
            "desk_url": object_url(letter),
            "list_url": list_url(Broadcast),
        }

    def back(self, letter: Broadcast, place: str = "") -> HttpResponse:
        return HttpResponseRedirect(object_url(letter) + (f"#{place}" if place else ""))

    def send_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        letter = self.found(request, pk)
        require(self.has_act_permission(request))
        if letter.issue is not None:
            return HttpResponseRedirect(object_url(letter.issue))
        do = request.POST.get("do", "")
        typed = {"at": request.POST.get("at", "")}
        form = ScheduleForm(letter.subscribable, data=typed if do == "schedule" else None, initial=typed)
        own = visible_to(request.user, Subscribable.objects.all())
        whom = AudienceForm(letter, newsletters=own, data=request.POST if "whom" in request.POST else None)
        try:
            if whom.is_bound and not self.is_for_those(request, letter, whom):
                # Never send to more people than were shown.
                form = ScheduleForm(letter.subscribable, initial=typed)
            elif do == "now":
                refuse_others(letter, newsletters_of(request.user))
                return self.send_now(request, letter, seen(request))
            elif do == "schedule" and form.is_valid():
                refuse_others(letter, newsletters_of(request.user))
                return self.schedule(request, letter, form.cleaned_data["at"], seen(request))
        except Refused as error:
            if do == "schedule" and error.field == "at":
                add_refusal(form, error)
            else:
                messages.error(request, f"Not sent. {refusal_sentence(error)}")
        context = {
            **self.page_context(letter, f"Send “{letter}”"),
            "form": form,
            "whom": whom,
            "is_for_some": is_for_some(letter.audience),
            "rows": forms.before_sending(letter),
        }
        return page(request, "admin/delivery/broadcast_send.html", context)

    def is_for_those(self, request: HttpRequest, letter: Broadcast, whom: AudienceForm) -> bool:
        """Return whether the audience is unchanged; otherwise save and show the new one."""
        if not whom.is_valid():
            return False
        if whom.audience.to_json() == letter.audience:
            return True
        saved = save_letter(letter_id=letter.pk, audience=whom.audience, version=seen(request), now=utcnow())
        letter.audience, letter.version = saved.audience, saved.version
        said = "Not sent yet. " if request.POST.get("do") in ("now", "schedule") else ""
        messages.warning(request, f"{said}Recipients: {forms.goes_to(letter)}.")
        return False

    def send_now(self, request: HttpRequest, letter: Broadcast, version: int) -> HttpResponse:
        queued = send_letter(letter_id=letter.pk, version=version, now=utcnow())
        letter.refresh_from_db()
        self.log_change(request, letter, "Sent.")
        said = f": {audience_words(letter)}" if letter.audience else ""
        messages.success(request, f"Sending to {pluralize(queued, 'subscriber')}{said}.")
        return HttpResponseRedirect(object_url(letter.issue or letter))

    def schedule(self, request: HttpRequest, letter: Broadcast, at: Any, version: int) -> HttpResponse:
        schedule_letter(letter_id=letter.pk, at=at, version=version, now=utcnow())
        self.log_change(request, letter, "Scheduled.")
        messages.success(
            request, f"Scheduled for {forms.in_zone(at, letter.subscribable)}. Until then you can stop it."
        )
        return self.back(letter)


class LetterStateFilter(SimpleListFilter):
    title = "Which state?"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, forms.LETTER_STATE_WORDS[state]) for state in LETTER_STATES]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Broadcast]") -> Any:
        wanted = self.value()
        return in_letter_state(queryset, wanted) if wanted in LETTER_STATES else queryset


@admin.register(Broadcast)
class BroadcastAdmin(SeriesPage, SendPage):
    """Its change page is an editor with a preview beside it."""

    list_display = ("shown_subject", "newsletter", "shown_state", "goes_out", "author", "changed")
    list_display_links = ("shown_subject",)
    list_filter = (LetterStateFilter, ("subscribable", asks("Of which newsletter?", RelatedFieldListFilter)))
    empty = EmptyList(
        "No emails yet",
        "Write to a newsletter’s subscribers yourself, for example to say thanks, announce a break or ask a"
        " question.",
        "Write an email",
        "admin:delivery_broadcast_add",
    )
    list_select_related = ("subscribable",)
    scope = "subscribable"
    search_fields = ("subject",)
    own_actions = actions_of(letters)
    newsletter = column("newsletter", lambda letter: letter.subscribable, ordering="subscribable")
    changed = column("changed", lambda letter: when(letter.changed_at), ordering="changed_at")
    shown_subject = column("subject", str, ordering="subject")
    shown_state = column("state", forms.shown_letter_state, label=COLOURS)
    goes_out = column("sent", lambda letter: when(letter.published_at or letter.send_at, "not scheduled"))

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Broadcast]":
        every: QuerySet[Broadcast] = super().get_queryset(request)
        return every.select_related("subscribable").annotate(published_at=F("issue__published_at"))

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_path("<int:pk>/show/", require_POST(self.show_view), "broadcast_show"),
            self.own_path("<int:pk>/keep/", require_POST(self.keep_view), "broadcast_keep"),
            self.own_path("<int:pk>/picture/", require_POST(self.picture_view), "broadcast_picture"),
            self.own_path("series/<int:pk>/", self.series_view, "broadcast_series"),
            self.own_path("<int:pk>/send/", self.send_view, "broadcast_send"),
            *super().get_urls(),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Ask only for the newsletter; the rest is written in the editor."""
        require(self.has_add_permission(request))
        form = BeginForm(
            request.POST if request.method == "POST" else None,
            initial=request.GET.dict(),
            newsletters=visible_to(request.user, Subscribable.objects.all()),
        )
        if request.method == "POST" and form.is_valid():
            letter = begin_letter(**form.cleaned_data, author=request.user.get_username(), now=utcnow())
            self.log_addition(request, letter, "Begun.")
            return self.back(letter)
        context = {
            "title": "Write an email",
            "opts": self.opts,
            "form": form,
            "has_newsletters": form.newsletters.exists(),
            "newsletter_url": add_url(Subscribable),
            "list_url": list_url(Broadcast),
        }
        return page(request, "admin/delivery/broadcast_begin.html", context)

    @takes_body(MOST_CODED_BYTES + MAX_FORM_BYTES, files=True)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the editor, or redirect to the issue once sent."""
        key = unquote(object_id)
        letter = self.found(request, int(key) if key.isdecimal() and len(key) < 19 else 0)
        if letter.issue is not None:
            return self.rewrite(request, letter, letter.issue)
        acts: dict[str, Callable[[HttpRequest, Broadcast], HttpResponse]] = {
            "save": lambda *_: self.back(letter),
            "preview": lambda *_: self.back(letter, "preview"),
            "test": self.test,
            "send": lambda *_: redirect("admin:delivery_broadcast_send", letter.pk),
            "on": self.switch_on,
            "edit": self.edit,
            "picture": self.picture,
        }
        if request.method != "POST":
            return self.desk(request, letter)
        require(self.has_change_permission(request))
        do = request.POST.get("do", "")
        if do not in acts:
            return self.desk(request, letter)
        require(do not in ("on", "edit") or self.has_act_permission(request))
        return self.kept(request, letter) or acts[do](request, letter)

    def rewrite(self, request: HttpRequest, letter: Broadcast, issue: Issue) -> HttpResponse:
        """Edit an email that was sent, or show its issue."""
        if EDITING not in request.GET or not self.has_change_permission(request):
            return HttpResponseRedirect(object_url(issue))
        refused = None
        if request.POST.get("do") == "save":
            refused = posted_text(request)
            try:
                rewrite_letter(letter_id=letter.pk, text=refused, version=seen(request), now=utcnow())
            except (Refused, LetterError) as error:
                messages.error(request, f"Not saved. {error}")
            else:
                messages.success(request, saved_words(issue))
                return HttpResponseRedirect(object_url(issue))
        elif why := refusal_to_edit(issue):
            messages.error(request, why)
            return HttpResponseRedirect(object_url(issue))
        elif request.method == "POST":
            refused = posted_text(request)
        return self.desk(request, letter, refused)

    def test(self, request: HttpRequest, letter: Broadcast) -> HttpResponse:
        """Send a test to the user."""
        address = getattr(request.user, "email", "")
        letter.refresh_from_db()
        newsletter, text = letter.subscribable, letter_text(letter)
        problem = preview_written(subscribable=newsletter, text=text, now=utcnow()).problem
        if not address:
            messages.error(request, NO_ADDRESS)
        elif problem:
            messages.error(request, f"Not sent. {problem}")
        else:
            send_test_written(subscribable=newsletter, text=text, to=address, now=utcnow())
            messages.success(request, f"We’ve sent a test to {address}.")
        return self.back(letter)

    def switch_on(self, request: HttpRequest, letter: Broadcast) -> HttpResponse:
        """Switch on an email of a series."""
        letter.refresh_from_db()
        try:
            switch_on(letter_id=letter.pk, version=letter.version, now=utcnow())
        except (Refused, LetterError) as error:
            messages.error(request, f"Not switched on. {error}")
            return self.back(letter)
        messages.success(request, f"“{letter}” is switched on.")
        return HttpResponseRedirect(series_url(letter.subscribable))

    def edit(self, request: HttpRequest, letter: Broadcast) -> HttpResponse:
        report(request, lambda: letters.unschedule(letter))
        return self.back(letter)

    def picture(self, request: HttpRequest, letter: Broadcast) -> HttpResponse:
        """Append a picture, for browsers without JavaScript."""
        form = PictureForm(request.POST, request.FILES)
        if not form.is_valid():
            messages.error(request, f"Not uploaded. {words_of(form)}")
            return self.back(letter)
        letter.refresh_from_db()
        markdown = f"{letter.markdown.rstrip()}\n\n{form.markdown}\n".lstrip()
        save_letter(letter_id=letter.pk, markdown=markdown, version=letter.version, now=utcnow())
        messages.success(request, "Picture added at the end of the text.")
        return self.back(letter)

    @takes_body(MOST_CODED_BYTES + MAX_FORM_BYTES, files=True)
    def picture_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Store a picture and return its Markdown."""
        self.found(request, pk)
        require(self.has_change_permission(request))
        form = PictureForm(request.POST, request.FILES)
        if not form.is_valid():
            return JsonResponse({"problem": f"Not uploaded. {words_of(form)}"}, status=422)
        return JsonResponse({"markdown": form.markdown})

    def kept(self, request: HttpRequest, letter: Broadcast) -> HttpResponse | None:
        """Save the form, if posted. If refused, return the editor with all that was typed."""
        if "markdown" not in request.POST:
            return None
        try:
            self.keep(request, letter)
        except Refused as error:
            messages.error(request, f"Not saved. {error}")
            return self.desk(request, letter, refused=posted_text(request))
        return None

    def keep(self, request: HttpRequest, letter: Broadcast) -> Broadcast:
        texts = asdict(posted_text(request))
        return save_letter(letter_id=letter.pk, version=seen(request), now=utcnow(), **texts)

    def keep_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        letter = self.found(request, pk)
        require(self.has_change_permission(request))
        try:
            saved = self.keep(request, letter)
        except Refused as error:
            return JsonResponse({"problem": f"Not saved. {error}"}, status=409)
        at = saved.changed_at.astimezone(saved.subscribable.zone)
        return JsonResponse({"version": saved.version, "said": f"Saved at {clock_words(at.time())}."})

    def show_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the live preview as JSON."""
        newsletter = self.found(request, pk).subscribable
        text = in_bounds(posted_text(request))
        shown = preview_written(subscribable=newsletter, text=text, now=utcnow())
        return JsonResponse(as_json(shown, newsletter, ""))

    def desk(
        self, request: HttpRequest, letter: Broadcast, refused: LetterText | None = None
    ) -> HttpResponse:
        newsletter = letter.subscribable
        text = refused or letter_text(letter)
        shown = preview_written(subscribable=newsletter, text=in_bounds(text), now=utcnow())
        may_edit = self.has_change_permission(request, letter)
        context = {
            **self.page_context(letter, str(letter)),
            "text": text,
            # A refused text still belongs to the version that its author saw.
            "version": seen(request) if refused else letter.version,
            "edits": may_edit and (letter.send_at is None or letter.issue is not None),
            "may_send": self.has_act_permission(request),
            "may_drop": self.has_drop_permission(request),
            "picture_types": ACCEPTED,
            "most_subject": LONGEST_SUBJECT,
            "most_markdown": MOST_MARKDOWN,
            "shown": shown,
            "frames": frames(shown, newsletter),
            "problem": shown.problem,
            "goes_to": forms.goes_to(letter) if letter.send_at else "",
            "for_whom": forms.for_whom(letter),
            "series_url": series_url(newsletter) if letter.series_place is not None else "",
            "is_for_some": is_for_some(letter.audience),
            "goes_at": forms.in_zone(letter.send_at, newsletter) if letter.send_at else "",
            "saved_at": brief(letter.changed_at, zone=newsletter.zone),
        }
        return page(request, "admin/delivery/broadcast.html", context)
