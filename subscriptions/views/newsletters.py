"""The directory: everything public, and one form for several of them."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.ports import channels as kinds
from common.text import one_line
from subscriptions.branding import brands
from subscriptions.forms.sign_up import SeveralForm
from subscriptions.models import Subscribable
from subscriptions.models.subscribable import SubscribableQuerySet
from subscriptions.rules.origin import How
from subscriptions.subscribers.sign_up import is_open
from subscriptions.views.pages import focus_on_error, page
from subscriptions.views.rhythm import rhythm
from subscriptions.views.sign_up import take

ON_A_PAGE = 60
# Fewer are read through as fast as searched.
FEW = 12
LONGEST_SEARCH = 100
# Of what a form sends: what the page offers, and no more.
MOST = ON_A_PAGE


@csrf_exempt  # it changes nothing for whoever is signed in here
@require_http_methods(["GET", "HEAD", "POST"])
@page
def newsletters(request: HttpRequest) -> HttpResponse:
    """GET shows what there is, POST takes a sign-up for what was chosen."""
    if request.method != "POST":
        return _page(request, SeveralForm(subscribables=()))
    names = request.POST.getlist("newsletter")[:MOST]
    chosen = [each for each in _listed().named(*names) if is_open(each)]
    form = SeveralForm(request.POST, subscribables=chosen, ip=request.META.get("REMOTE_ADDR", ""))
    if form.is_valid():
        return take(request, form, How.DIRECTORY)
    focus_on_error(form)
    return _page(request, form, status=400)


def _page(request: HttpRequest, form: SeveralForm, status: int = 200) -> HttpResponse:
    words = one_line(request.GET.get("q", "")[:LONGEST_SEARCH])
    found = Paginator(_found(_listed(), words), ON_A_PAGE)
    shown = found.get_page(request.GET.get("page"))
    entries = _entries(shown, chosen=form.subscribables)
    context = {
        "shown": shown,
        "entries": entries,
        "form": form,
        "words": words,
        "has_search": bool(words) or found.count > FEW,
        "may_choose": sum(entry["is_open"] for entry in entries) > 1,
    }
    return render(request, "pages/newsletters.html", context, status=status)


def _listed() -> SubscribableQuerySet:
    channels = [kind.key for kind in kinds.all_kinds() if kind.public_sign_up]
    return Subscribable.objects.listed().filter(channel__in=channels).order_by("title", "name")


def _found(newsletters: QuerySet[Subscribable], words: str) -> QuerySet[Subscribable]:
    found = Q()
    for word in words.split():
        found &= Q(title__icontains=word) | Q(name__icontains=word) | Q(description__icontains=word)
    return newsletters.filter(found)


def _entries(shown: "Page[Subscribable]", *, chosen: Sequence[Subscribable]) -> list[dict[str, Any]]:
    newsletters, picked = list(shown), {each.pk for each in chosen}
    looks = brands(newsletters)
    return [
        {
            "newsletter": each,
            "rhythm": rhythm(each),
            "brand": looks.get(each.pk),
            "is_open": is_open(each),
            "is_chosen": each.pk in picked,
        }
        for each in newsletters
    ]
