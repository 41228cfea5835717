"""What each page of a letter needs: the letter, the permission, and the way back to the desk."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect

from common.admin.html import list_url, object_url
from common.admin.model_admin import ServiceAdmin
from delivery.models import Broadcast


class LetterPage(ServiceAdmin):
    """Part of BroadcastAdmin."""

    def found(self, request: HttpRequest, pk: int) -> Broadcast:
        """Raises Http404, and PermissionDenied for outsiders."""
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
