from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from common.ports import channels as kinds
from common.text import one_line
from subscriptions.branding.brands import brands, served_picture
from subscriptions.forms.sign_up import PhoneForm, SeveralForm, SignUpForm
from subscriptions.models import Subscribable
from subscriptions.models.subscribable import SubscribableQuerySet
from subscriptions.rules.origin import How
from subscriptions.subscribers.sign_up import is_by_code, is_open
from subscriptions.views.pages import focus_on_error, page
from subscriptions.views.rhythm import rhythm
from subscriptions.views.sign_up import take_phone_sign_up, take_sign_up


def form_of(newsletter: Subscribable, data: QueryDict | None = None, *, ip: str = "") -> SignUpForm:
    made = PhoneForm if is_by_code(newsletter) else SignUpForm
    return made(data, subscribables=[newsletter], ip=ip)


def take_form(request: HttpRequest, form: SignUpForm, how: How) -> HttpResponse:
    if isinstance(form, PhoneForm):
        return take_phone_sign_up(request, form, how)
    return take_sign_up(request, form, how)


# Names are hashes of contents.
FOR_EVER = "public, max-age=31536000, immutable"
# Prevents execution if taken for a page. Webmail may show it.
HEADERS = {
    "Cache-Control": FOR_EVER,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponse:
    try:
        served = served_picture(name)
    except LookupError:
        raise Http404 from None
    etag = quote_etag(name.partition(".")[0])
    response = get_conditional_response(request, etag, None)
    if response is None:
        response = HttpResponse(served.data, content_type=served.media_type)
    response.headers["ETag"] = etag
    for header, value in HEADERS.items():
        response.headers[header] = value
    return response


ON_A_PAGE = 60
# Fewer need no search.
FEW = 12
LONGEST_SEARCH = 100
MOST_CHOSEN = ON_A_PAGE


@csrf_exempt  # independent of any session
@require_http_methods(["GET", "HEAD", "POST"])
@page
def newsletter_directory(request: HttpRequest) -> HttpResponse:
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
    """The form for several asks for a mail address."""
    return is_open(newsletter) and not is_by_code(newsletter)


def _listed() -> SubscribableQuerySet:
    channels = [kind.key for kind in kinds.person_kinds()]
    return Subscribable.objects.listed().filter(channel__in=channels).order_by("title", "name")
