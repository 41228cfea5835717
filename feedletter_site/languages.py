"""Every page speaks the reader's language. Pages for the people who run the site stay English."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from common.languages import asked_for
from feedletter_site.middleware import Middleware

ENGLISH = ("/admin/", "/api/", "/mailbox/", "/setup/", "/metrics", "/healthz", "/readyz", "/anymail/")


class LanguageMiddleware(Middleware):
    """Speaks what the browser asks for, unless a page knows its reader better (subscriptions.views.pages).

    No cookie and no address chooses: a link in a letter is the same for everybody.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(ENGLISH):
            with translation.override(settings.LANGUAGE_CODE):
                return self.get_response(request)
        with translation.override(asked_for(request)):
            response = self.get_response(request)
            if response.headers.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", translation.get_language() or "")
                patch_vary_headers(response, ["Accept-Language"])
        return response
