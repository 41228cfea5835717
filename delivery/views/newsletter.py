"""A newsletter's page and the sign-up form, which also ends issues' pages."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from channels.activitypub.message import Actor
from common.directions import language_tag
from common.html.json_ld import json_ld
from common.ports.ways import accounts_among, ways_of
from delivery.bridges.records import KEY, records_of
from delivery.views.devices import device_key
from delivery.views.issues import name_activity, newsletter_or_404, part_of_issue, published, share_of
from delivery.views.ways import icon
from subscriptions.branding.brands import brand_of, site_facts
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.newsletters.rhythm import rhythm, with_rhythms
from subscriptions.rules.structured import periodical
from subscriptions.subscribers.sign_up import is_open
from subscriptions.views.pages import public
from subscriptions.views.sign_up import NewsletterSignUpPage, form_class_of

# The newest in part, others by title.
NEWEST_SHOWN = 6
MOST_SIBLINGS = 10


@method_decorator(public, name="dispatch")
class NewsletterPage(NewsletterSignUpPage):
    template_name = "pages/newsletter.html"

    @cached_property
    def newsletter(self) -> Subscribable:
        return newsletter_or_404(self.kwargs["name"])

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().get(request, *args, **kwargs)
        patch_cache_control(response, public=True, max_age=60)
        name_activity(response, self.newsletter, Actor(page_url(self.newsletter)).id)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        newsletter, brand = self.newsletter, brand_of(self.newsletter)
        issues = list(published(newsletter).select_related("card").defer("card__words")[:NEWEST_SHOWN])
        latest = part_of_issue(issues[0], newsletter) if issues else None
        # The same posts at another pace.
        listed = Subscribable.objects.listed().siblings_of(newsletter).order_by("title", "name")
        siblings = with_rhythms(each for each in listed[:MOST_SIBLINGS] if is_open(each))
        ways, share, site = ways_of(newsletter), share_of(newsletter, brand, latest), site_facts()
        about = periodical(
            site,
            url=share.url,
            name=share.title,
            description=share.description,
            image=share.image,
            sameAs=accounts_among(ways),
            inLanguage=language_tag(newsletter.language),
        )
        return super().get_context_data(
            **kwargs,
            site=site,
            structured_data=json_ld(about),
            brand=brand,
            rhythm=rhythm(newsletter),
            device_key=device_key(newsletter),
            latest=latest,
            earlier=issues[1:],
            siblings=siblings,
            share=share,
            ways=[(way, icon(way.icon)) for way in ways],
            icon_of={name: icon(name) for name in ("email", "device")},
            publication_uri=records_of(newsletter).publication,
        )


def sign_up_form(newsletter: Subscribable) -> str:
    """Return the form's html, cacheable as long as a page."""
    context = {
        "newsletter": newsletter,
        "form": form_class_of(newsletter)(subscribables=[newsletter]),
        "device_key": device_key(newsletter),
        "is_below": True,
    }
    return render_to_string("pages/_form.html", context)


@require_safe
@cache_control(public=True, max_age=300)
def publication(request: HttpRequest, name: str = "") -> HttpResponse:
    """Return the address of a newsletter's record. Without a name, of the only one that has any.

    It proves that the records are the newsletter's own (https://standard.site/docs/verification).
    """
    if name:
        newsletter = newsletter_or_404(name)
    else:
        rows = Subscribable.objects.with_pages().filter(companions__contains=KEY)[:2]
        if len(rows) != 1:
            raise Http404
        newsletter = rows[0]
    uri = records_of(newsletter).publication
    if not uri:
        raise Http404
    return HttpResponse(uri, content_type="text/plain; charset=utf-8")
