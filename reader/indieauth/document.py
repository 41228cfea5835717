"""What this site says of itself to sites that it asks to sign somebody in."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.views.decorators.http import require_safe

from reader.indieauth.addresses import RETURNS, our_client_id, site_url


@require_safe
def client_document(request: HttpRequest) -> HttpResponse:
    """§4.2.1: our client_id leads here."""
    about = {
        "client_id": our_client_id(),
        "client_name": f"Feedletter ({settings.SITE_HOST})",
        "client_uri": f"{settings.SITE_URL}/",
        "logo_uri": settings.SITE_URL + static("feedletter/favicon.svg"),
        "redirect_uris": [site_url(name) for name in RETURNS],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return JsonResponse(about)
