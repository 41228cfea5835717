"""Pages to preview and edit a newsletter's mails and pages."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import BooleanFieldListFilter, RelatedFieldListFilter
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern
from django.views.decorators.http import require_POST

from common.admin.html import column, list_url, moment_of, object_url, page
from common.admin.lists import asks
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.admin.refusals import NO_ADDRESS, require
from common.clock import utcnow
from delivery.admin.letter_templates.editor import TemplateEditor, editor_page
from delivery.admin.look import look_view, new_newsletter_view
from delivery.customisation import current
from delivery.letters.templates import (
    Preview,
    TemplateRefused,
    known_template,
    save_template,
    use_again,
    use_default,
)
from delivery.letters.trial import send_test_letter
from delivery.models import LetterTemplate
from delivery.rendering.errors import UnknownTemplate
from delivery.views.preview import as_json
from subscriptions.models import Subscribable

SAVED = "Version {} is now in use. Sent issues don’t change."


@admin.register(LetterTemplate)
class LetterTemplateAdmin(ReadOnlyAdmin):
    """Lists all versions; a row links to where it can be read, compared and restored."""

    list_display = ("name", "newsletter", "version", "is_current", "author", "note", "saved")
    list_filter = (
        ("subscribable", asks("Of which newsletter?", RelatedFieldListFilter)),
        ("is_current", asks("Which are in use?", BooleanFieldListFilter)),
    )
    empty = EmptyList(
        "No custom templates",
        "Emails and pages have default templates. Change one in a newsletter’s Look tab. Each version is kept"
        " here.",
        "Go to the newsletters",
        "admin:subscriptions_subscribable_changelist",
    )
    list_select_related = ("subscribable",)
    deferred = ("html", "text")
    saved = moment_of("created_at", "saved")
    newsletter = column("newsletter", lambda row: row.subscribable, ordering="subscribable")

    def get_urls(self) -> list[URLPattern]:
        place = "of/<str:newsletter>/<str:folder>/<str:template>/"
        return [
            self.own_path(place, self.preview_view, "lettertemplate_preview"),
            self.own_path(f"{place}edit/", self.edit_view, "lettertemplate_edit"),
            self.own_path(f"{place}show/", require_POST(self.show_view), "lettertemplate_show"),
            self.own_path("of/<str:newsletter>/look/", require_POST(look_view), "look_show"),
            self.own_path("new/", require_POST(new_newsletter_view), "new_show"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Redirect to the version beside the one in use."""
        rows = LetterTemplate.objects.select_related("subscribable")
        row = get_object_or_404(rows, pk=_number(object_id))
        url = editor_page(row.subscribable, row.name, edit=True)
        return HttpResponseRedirect(f"{url}?version={row.version}")

    def preview_view(self, request: HttpRequest, newsletter: str, folder: str, template: str) -> HttpResponse:
        desk = self.desk(request, newsletter, f"{folder}/{template}")
        if request.POST.get("do") == "test":
            return self.send_test(request, desk)
        return self.page(request, desk, edits=False)

    def edit_view(self, request: HttpRequest, newsletter: str, folder: str, template: str) -> HttpResponse:
        """Show the preview beside its source."""
        desk = self.desk(request, newsletter, f"{folder}/{template}")
        if not self.may_edit(request):
            return HttpResponseRedirect(editor_page(desk.newsletter, desk.known.name))
        acts = {"save": self.save, "test": self.send_test, "again": self.again, "default": self.use_default}
        act = acts.get(request.POST.get("do", ""))
        return act(request, desk) if act else self.page(request, desk, edits=True)

    def show_view(self, request: HttpRequest, newsletter: str, folder: str, template: str) -> HttpResponse:
        """Return the live preview as JSON."""
        desk = self.desk(request, newsletter, f"{folder}/{template}")
        return JsonResponse(as_json(desk.shown(), desk.newsletter, desk.reader_problem))

    def save(self, request: HttpRequest, desk: TemplateEditor) -> HttpResponse:
        try:
            row = save_template(
                subscribable=desk.newsletter,
                name=desk.known.name,
                source=desk.draft,
                author=request.user.get_username(),
                note=request.POST.get("note", ""),
                now=utcnow(),
            )
        except TemplateRefused as error:
            messages.error(request, f"Not saved. {error.problem}")
            return self.page(request, desk, edits=True, shown=Preview(problem=error.problem))
        self.log_change(request, row, [{"changed": {"fields": [f"version {row.version}"]}}])
        messages.success(request, SAVED.format(row.version))
        return self.back(desk)

    def again(self, request: HttpRequest, desk: TemplateEditor) -> HttpResponse:
        try:
            row = use_again(
                version=get_object_or_404(desk.versions(), version=_number(request.POST.get("version"))),
                author=request.user.get_username(),
                now=utcnow(),
            )
        except TemplateRefused as error:
            messages.error(request, f"Not saved. {error.problem}")
        else:
            messages.success(request, SAVED.format(row.version))
        return self.back(desk)

    def use_default(self, request: HttpRequest, desk: TemplateEditor) -> HttpResponse:
        if use_default(subscribable=desk.newsletter, name=desk.known.name):
            messages.success(request, "The default is in use from now on. Your versions are kept.")
        return self.back(desk)

    def send_test(self, request: HttpRequest, desk: TemplateEditor) -> HttpResponse:
        """Send the shown mail to the user."""
        address = getattr(request.user, "email", "")
        shown = desk.shown()
        if not address:
            messages.error(request, NO_ADDRESS)
        elif shown.problem:
            messages.error(request, f"Not sent. {shown.problem}")
        elif not desk.known.is_page:
            send_test_letter(
                subscribable=desk.newsletter,
                name=desk.known.name,
                source=desk.source,
                to=address,
                now=utcnow(),
            )
            messages.success(request, f"A test is on its way to {address}.")
        return self.page(request, desk, edits=desk.is_draft, shown=shown)

    def page(
        self, request: HttpRequest, desk: TemplateEditor, *, edits: bool, shown: Preview | None = None
    ) -> HttpResponse:
        context = {
            **desk.context(edits=edits, shown=shown),
            "title": f"{desk.known.title}: {desk.newsletter}",
            "opts": self.opts,
            "may_edit": self.may_edit(request),
            "newsletter_url": object_url(desk.newsletter),
            "history_url": list_url(LetterTemplate, subscribable__id__exact=desk.newsletter.pk),
        }
        return page(request, "admin/delivery/template.html", context)

    def back(self, desk: TemplateEditor) -> HttpResponse:
        return HttpResponseRedirect(editor_page(desk.newsletter, desk.known.name, edit=True))

    def desk(self, request: HttpRequest, newsletter: str, name: str) -> TemplateEditor:
        """Return the request's state. Raises Http404 and PermissionDenied."""
        require(self.has_view_permission(request))
        found = get_object_or_404(Subscribable, name=newsletter, channel="email")
        try:
            known = known_template(name)
        except UnknownTemplate as error:
            raise Http404(str(error)) from error
        data = request.POST if request.method == "POST" else request.GET
        sees = any(request.user.has_perm(f"subscriptions.{word}_subscription") for word in ("view", "change"))
        return TemplateEditor(found, known, data, current(found, known.name), sees_readers=sees)

    def may_edit(self, request: HttpRequest) -> bool:
        return self._has(request, "change")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._has(request, "view") or self._has(request, "change")


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
