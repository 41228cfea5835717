"""The directory: everything public, and one form for several of them."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.ports import channels as kinds
from common.text import one_line
from subscriptions.branding.brands import brands
from subscriptions.forms.sign_up import SeveralForm
from subscriptions.models import Subscribable
from subscriptions.models.subscribable import SubscribableQuerySet
from subscriptions.rules.origin import How
from subscriptions.subscribers.sign_up import is_by_code, is_open
from subscriptions.views.pages import focus_on_error, page
from subscriptions.views.rhythm import rhythm
from subscriptions.views.sign_up import take_sign_up

ON_A_PAGE = 60
# So few are read through as fast as they are searched.
FEW = 12
LONGEST_SEARCH = 100
# Names that are read from a form: as many as a page offers.
MOST_CHOSEN = ON_A_PAGE


@csrf_exempt  # it changes nothing for whoever is signed in here
@require_http_methods(["GET", "HEAD", "POST"])
@page
def newsletter_directory(request: HttpRequest) -> HttpResponse:
    """GET shows all public newsletters, POST takes a sign-up for those that were chosen."""
    if request.method != "POST":
        return _page(request, SeveralForm(subscribables=()))
    names = request.POST.getlist("newsletter")[:MOST_CHOSEN]
    chosen = [each for each in _listed().named(*names) if _may_choose(each)]
    form = SeveralForm(request.POST, subscribables=chosen, ip=request.META.get("REMOTE_ADDR", ""))
    if form.is_valid():
        return take_sign_up(request, form, How.DIRECTORY)
    focus_on_error(form)
    return _page(request, form, status=400)


def _page(request: HttpRequest, form: SeveralForm, status: int = 200) -> HttpResponse:
    words = one_line(request.GET.get("q", "")[:LONGEST_SEARCH])
    searched = Q()
    for word in words.split():
        searched &= Q(title__icontains=word) | Q(name__icontains=word) | Q(description__icontains=word)
    found = Paginator(_listed().filter(searched), ON_A_PAGE)
    shown = found.get_page(request.GET.get("page"))
    newsletters, chosen = list(shown), {each.pk for each in form.subscribables}
    branding = brands(newsletters)
    entries: list[dict[str, Any]] = [
        {
            "newsletter": each,
            "rhythm": rhythm(each),
            "brand": branding.get(each.pk),
            "is_open": is_open(each),
            "may_choose": _may_choose(each),
            "is_chosen": each.pk in chosen,
        }
        for each in newsletters
    ]
    context = {
        "shown": shown,
        "entries": entries,
        "form": form,
        "words": words,
        "has_search": bool(words) or found.count > FEW,
        "may_choose": sum(entry["may_choose"] for entry in entries) > 1,
    }
    return render(request, "pages/newsletters.html", context, status=status)


def _may_choose(newsletter: Subscribable) -> bool:
    """Whether the form for several takes it: it asks for a mail address."""
    return is_open(newsletter) and not is_by_code(newsletter)


def _listed() -> SubscribableQuerySet:
    channels = [kind.key for kind in kinds.person_kinds()]
    return Subscribable.objects.listed().filter(channel__in=channels).order_by("title", "name")
