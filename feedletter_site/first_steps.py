from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from common.access import opens_for
from common.admin.html import page
from feedletter_site.admin_look import settings_cards
from feedletter_site.monitoring.first_steps import ALL, open_steps, put_aside, take_back

MAY_SET_UP = "subscriptions.add_subscribable"


@opens_for(lambda user: bool(user.has_perm(MAY_SET_UP)))
def first_steps(request: HttpRequest) -> HttpResponse:
    """A POST dismisses one step or all, or undoes that."""
    if request.method == "POST":
        name = request.POST.get("aside", "")
        if not put_aside(name):
            take_back()
        return HttpResponseRedirect(reverse("admin:index" if name else "first_steps"))
    context = {
        "title": "First steps",
        "steps": open_steps(email=getattr(request.user, "email", "")),
        "all": ALL,
        "embedded": settings.EMBEDDED,
    }
    return page(request, "admin/feedletter_site/first_steps.html", context)


def settings_page(request: HttpRequest) -> HttpResponse:
    cards = settings_cards(request)
    if not cards:
        raise PermissionDenied
    context = {"title": "Settings", "cards": cards}
    return page(request, "admin/feedletter_site/settings.html", context)
