"""Page that shows a broadcast's audience, and sends or schedules it."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from common.admin.html import facts, list_url, object_url
from common.admin.model_admin import ServiceAdmin
from common.admin.refusals import add_refusal, refusal_sentence
from common.clock import utcnow
from common.refused import Refused
from common.text import pluralize
from delivery.admin.broadcasts import panels
from delivery.admin.broadcasts.forms import AudienceForm, ScheduleForm, seen
from delivery.issues.audience import audience_words
from delivery.issues.broadcast_issue import send_letter
from delivery.issues.broadcasts import save_letter, schedule_letter
from delivery.models import Broadcast
from delivery.rules.audience import is_for_some


class LetterPage(ServiceAdmin):
    """Base of BroadcastAdmin."""

    def found(self, request: HttpRequest, pk: int) -> Broadcast:
        """Raises Http404 and PermissionDenied."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        letter: Broadcast | None = self.get_queryset(request).select_related("issue").filter(pk=pk).first()
        if letter is None:
            raise Http404
        return letter

    def require_change(self, request: HttpRequest) -> None:
        if not self.has_change_permission(request):
            raise PermissionDenied

    def page_context(self, request: HttpRequest, letter: Broadcast, title: str) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "title": title,
            "content_title": title,
            "opts": self.opts,
            "media": self.media,
            "letter": letter,
            "newsletter": letter.subscribable,
            "newsletter_url": object_url(letter.subscribable),
            "desk_url": object_url(letter),
            "list_url": list_url(Broadcast),
        }

    def back(self, letter: Broadcast, place: str = "") -> HttpResponse:
        return HttpResponseRedirect(object_url(letter) + (f"#{place}" if place else ""))


class SendPage(LetterPage):
    """Base of BroadcastAdmin."""

    def send_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        letter = self.found(request, pk)
        self.require_change(request)
        if letter.issue is not None:
            return HttpResponseRedirect(object_url(letter.issue))
        do = request.POST.get("do", "")
        typed = {"at": request.POST.get("at", "")}
        form = ScheduleForm(letter.subscribable, data=typed if do == "schedule" else None, initial=typed)
        whom = AudienceForm(letter, data=request.POST if "whom" in request.POST else None)
        try:
            if whom.is_bound and not self.is_for_those(request, letter, whom):
                # Never send to more people than were shown.
                form = ScheduleForm(letter.subscribable, initial=typed)
            elif do == "now":
                return self.send_now(request, letter, seen(request))
            elif do == "schedule" and form.is_valid():
                return self.schedule(request, letter, form.cleaned_data["at"], seen(request))
        except Refused as error:
            if do == "schedule" and error.field == "at":
                add_refusal(form, error)
            else:
                messages.error(request, f"Not sent. {refusal_sentence(error)}")
        context = {
            **self.page_context(request, letter, f"Send “{letter}”"),
            "form": form,
            "whom": whom,
            "is_for_some": is_for_some(letter.audience),
            "rows": facts(panels.before_sending(letter, settings.DEFAULT_FROM_EMAIL)),
        }
        return TemplateResponse(request, "admin/delivery/broadcast_send.html", context)

    def is_for_those(self, request: HttpRequest, letter: Broadcast, whom: AudienceForm) -> bool:
        """Return whether the audience is unchanged; otherwise save and show the new one."""
        if not whom.is_valid():
            return False
        if whom.audience.to_json() == letter.audience:
            return True
        saved = save_letter(letter_id=letter.pk, audience=whom.audience, version=seen(request), now=utcnow())
        letter.audience, letter.version = saved.audience, saved.version
        said = "Not sent yet. " if request.POST.get("do") in ("now", "schedule") else ""
        messages.warning(request, f"{said}Recipients: {panels.goes_to(letter)}.")
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
            request, f"Scheduled for {panels.in_zone(at, letter.subscribable)}. Until then you can stop it."
        )
        return self.back(letter)
