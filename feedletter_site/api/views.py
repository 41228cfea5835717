from functools import cache
from typing import Any

from django.http import HttpResponse
from django.utils import translation
from django.utils.decorators import method_decorator
from django.views.decorators.cache import cache_control
from drf_spectacular import renderers
from drf_spectacular.generators import SchemaGenerator
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from common.api.views import ApiView


class SchemaView(ApiView):
    """OpenAPI 3.1, as YAML or JSON by the Accept header. For everyone."""

    schema = None
    authentication_classes = ()
    permission_classes = (AllowAny,)
    renderer_classes = (
        renderers.OpenApiYamlRenderer2,
        renderers.OpenApiYamlRenderer,
        renderers.OpenApiJsonRenderer2,
        renderers.OpenApiJsonRenderer,
    )

    @method_decorator(cache_control(public=True, max_age=3600))
    def get(self, request: Request) -> HttpResponse:
        renderer: Any = type(request.accepted_renderer)
        return HttpResponse(described(renderer), content_type=renderer.media_type)


@cache
def described(renderer: Any) -> bytes:
    """Cached per process: it takes a second."""
    generator: Any = SchemaGenerator
    # Otherwise the first request's language would be cached.
    with translation.override("en"):
        schema = generator().get_schema(request=None, public=True)
    text: str | bytes = renderer().render(schema, renderer_context={})
    return text.encode() if isinstance(text, str) else text


class NothingHere(ApiView):
    """Every other address under /api/v1/: a 404 as a problem, for clients that may use the API."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this URL.")

    def get(self, request: Request, **_: Any) -> None:
        """Never reached."""

    post = put = patch = delete = get
