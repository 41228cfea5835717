"""Where other sites say that they speak of a reader's page (www.w3.org/TR/webmention, 3.2)."""

from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from common.clock import utcnow
from common.refused import Refused
from reader.mentions.receive import TooMany, receive
from reader.models import Reader
from reader.people.readers import may_read

WEBMENTION_TYPE = "application/x-www-form-urlencoded"
THANKS = "Thank you. The source is looked at soon."


@csrf_exempt
def webmention(request: HttpRequest, slug: str) -> HttpResponse:
    """202 for what is looked at later, 400 for what can never be one; in plain words."""
    reader = Reader.objects.select_related("user").filter(slug=slug).first()
    if reader is None or not may_read(reader):
        raise Http404("Nobody of that name reads here.")
    if request.method != "POST":
        words = "This address takes webmentions: POST a form with source and target."
        return _told(words, HTTPStatus.METHOD_NOT_ALLOWED, Allow="POST")
    if request.content_type != WEBMENTION_TYPE:
        return _told(f"Send a form ({WEBMENTION_TYPE}) with source and target.", HTTPStatus.BAD_REQUEST)
    given = {name: request.POST.get(name, "") for name in ("source", "target")}
    try:
        receive(reader=reader, asker=request.META.get("REMOTE_ADDR", ""), now=utcnow(), **given)
    except TooMany as error:
        headers = {"Retry-After": str(error.seconds)}
        return _told(str(error), HTTPStatus.TOO_MANY_REQUESTS, **headers)
    except Refused as error:
        return _told(str(error), HTTPStatus.BAD_REQUEST)
    return _told(THANKS, HTTPStatus.ACCEPTED)


def _told(words: str, status: HTTPStatus, **headers: str) -> HttpResponse:
    headers["Cache-Control"] = "no-store"
    return HttpResponse(
        f"{words}\n", status=status, content_type="text/plain; charset=utf-8", headers=headers
    )
