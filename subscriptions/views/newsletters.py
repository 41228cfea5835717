from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from common.html.json_ld import json_ld
from common.ports import channels as kinds
from common.text import one_line
from subscriptions.branding.brands import brands, served_picture, site_facts
from subscriptions.forms.sign_up import SeveralForm
from subscriptions.models import Subscribable
from subscriptions.models.subscribable import SubscribableQuerySet
from subscriptions.newsletters.rhythm import rhythm
from subscriptions.rules.origin import How
from subscriptions.rules.structured import organization
from subscriptions.subscribers.sign_up import is_by_code, is_open
from subscriptions.views.pages import public
from subscriptions.views.sign_up import SignUpPage

# Names are hashes of contents.
FOR_EVER = "public, max-age=31536000, immutable"
# Prevents execution if taken for a page. Webmail may show it.
HEADERS = {
    "Cache-Control": FOR_EVER,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}
ON_A_PAGE = 60
# Fewer need no search.
FEW_NEWSLETTERS = 12
LONGEST_SEARCH = 100
MOST_CHOSEN = ON_A_PAGE


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponse:
    try:
        media_type, data = served_picture(name)
    except LookupError:
        raise Http404 from None
    etag = quote_etag(name.partition(".")[0])
    response = get_conditional_response(request, etag, None)
    if response is None:
        response = HttpResponse(data, content_type=media_type)
    response.headers["ETag"] = etag
    for header, value in HEADERS.items():
        response.headers[header] = value
    return response


@method_decorator(public, name="dispatch")
class NewslettersPage(SignUpPage):
    how = How.DIRECTORY
    form_class = SeveralForm
    template_name = "pages/newsletters.html"

    def get_newsletters(self) -> Sequence[Subscribable]:
        names = self.request.POST.getlist("newsletter")[:MOST_CHOSEN]
        return [each for each in _listed().named(*names) if _may_choose(each)]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        words = one_line(self.request.GET.get("q", "")[:LONGEST_SEARCH])
        searched = Q()
        for word in words.split():
            searched &= Q(title__icontains=word) | Q(name__icontains=word) | Q(description__icontains=word)
        found = Paginator(_listed().filter(searched), ON_A_PAGE)
        shown = found.get_page(self.request.GET.get("page"))
        context = super().get_context_data(**kwargs)
        newsletters, chosen = list(shown), {each.pk for each in context["form"].subscribables}
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
        site = site_facts()
        choices = [entry for entry in entries if entry["may_choose"]]
        if len(choices) == 1:
            choices[0]["is_chosen"] = True
        return {
            **context,
            "shown": shown,
            "entries": entries,
            "words": words,
            "has_search": bool(words) or found.count > FEW_NEWSLETTERS,
            "may_choose": bool(choices),
            "is_only_one": len(entries) == 1,
            "site": site,
            "structured_data": json_ld(organization(site)) if site.is_named else "",
        }


def _may_choose(newsletter: Subscribable) -> bool:
    """The form for several asks for a mail address."""
    return is_open(newsletter) and not is_by_code(newsletter)


def _listed() -> SubscribableQuerySet:
    channels = [kind.key for kind in kinds.person_kinds()]
    return Subscribable.objects.listed().filter(channel__in=channels).order_by("title", "name")
