"""A newsletter's page and the sign-up form, which also ends issues' pages."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from delivery.views.devices import device_key
from delivery.views.issues import newsletter_or_404, part_of_issue, published, share_of
from subscriptions.branding.brands import brand_of
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How
from subscriptions.subscribers.sign_up import is_open
from subscriptions.views.newsletters import form_of, take_form
from subscriptions.views.pages import focus_on_error, page
from subscriptions.views.rhythm import rhythm

# The newest in part, others by title.
NEWEST_SHOWN = 6
MOST_SIBLINGS = 10


@csrf_exempt  # the form may be on the blog itself, and changes nothing for signed-in users
@require_http_methods(["GET", "HEAD", "POST"])
@page
def newsletter_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show the page on GET; sign up on POST."""
    subscribable = newsletter_or_404(name)
    if request.method != "POST":
        shown = _page(request, subscribable, form_of(subscribable))
        patch_cache_control(shown, public=True, max_age=60)
        return shown
    if not is_open(subscribable):
        return _page(request, subscribable, form_of(subscribable), status=403)
    form = form_of(subscribable, request.POST, ip=request.META.get("REMOTE_ADDR", ""))
    if form.is_valid():
        return take_form(request, form, How.PAGE)
    focus_on_error(form)
    return _page(request, subscribable, form, status=400)


def _page(
    request: HttpRequest, subscribable: Subscribable, form: SignUpForm, status: int = 200
) -> HttpResponse:
    issues = list(published(subscribable).select_related("card").defer("card__words")[:NEWEST_SHOWN])
    latest = part_of_issue(issues[0], subscribable) if issues else None
    brand = brand_of(subscribable)
    # The same posts at another pace.
    listed = Subscribable.objects.listed().siblings_of(subscribable).order_by("title", "name")
    siblings = [each for each in listed[:MOST_SIBLINGS] if is_open(each)]
    context = {
        "newsletter": subscribable,
        "brand": brand,
        "rhythm": rhythm(subscribable),
        "form": form,
        "device_key": device_key(subscribable),
        "is_open": is_open(subscribable),
        "latest": latest,
        "earlier": issues[1:],
        "siblings": [{"newsletter": each, "rhythm": rhythm(each)} for each in siblings],
        "share": share_of(subscribable, brand, latest),
    }
    return render(request, "pages/newsletter.html", context, status=status)


def sign_up_form(newsletter: Subscribable) -> str:
    """Return the form's html, cacheable as long as a page."""
    context = {
        "newsletter": newsletter,
        "form": form_of(newsletter),
        "device_key": device_key(newsletter),
        "is_below": True,
    }
    return render_to_string("pages/_form.html", context)
