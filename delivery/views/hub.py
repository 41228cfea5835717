"""Where programs ask our hub for newsletters' feeds."""

from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from common.clock import utcnow
from common.rates import Limit, count_within
from common.refused import Refused
from delivery.rules.hub import hub_request
from delivery.views.issues import newsletter_or_404
from delivery.webhooks.hub import ask_hub
from feeds.addresses import host_of_url

OF_A_NETWORK, OF_A_HOST = Limit("hub-of", 60), Limit("hub-to", 60)


@csrf_exempt  # reads no cookie; the callback has to agree
@never_cache
@require_POST
def hub(request: HttpRequest) -> HttpResponse:
    """Accept a request, which is verified later (WebSub §5.2)."""
    try:
        asked = hub_request(request.POST.dict())
        before, _, name = asked.topic.removesuffix("/feed.xml").rpartition("/s/")
        if before != settings.SITE_URL or not asked.topic.endswith("/feed.xml"):
            raise Refused("hub.topic must be the feed of a newsletter of this site.")
        newsletter = newsletter_or_404(name)
        of_host = (OF_A_HOST, host_of_url(asked.callback))
        if not count_within(*OF_A_NETWORK.by_network(request.META["REMOTE_ADDR"]), of_host):
            return _text("Too many requests. Try again in a minute.", HTTPStatus.TOO_MANY_REQUESTS)
        ask_hub(request=asked, newsletter=newsletter, now=utcnow())
    except Http404:
        return _text("There is no such newsletter.", HTTPStatus.NOT_FOUND)
    except Refused as error:
        return _text(str(error), HTTPStatus.BAD_REQUEST)
    return _text("Accepted. Your callback will be asked soon.", HTTPStatus.ACCEPTED)


def _text(words: str, status: HTTPStatus) -> HttpResponse:
    return HttpResponse(f"{words}\n", status=status, content_type="text/plain; charset=utf-8")
