"""Pages as Django's generic views."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.views.generic import FormView, TemplateView

from common.refused import Refused
from reader.models import Channel, Reader
from reader.pages.access import NOT_FOUND, for_readers, surroundings


class ReaderPage(TemplateView):
    """Page of one reader. A refusal shows it again, with the reason."""

    http_method_names: Sequence[str] = ("get", "head", "post")
    section = ""
    # Shown before reasons that are in English only.
    failure = ""
    reader: Reader

    @method_decorator(for_readers)
    def dispatch(self, request: HttpRequest, reader: Reader, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.reader = reader
        try:
            return super().dispatch(request, *args, **kwargs)
        except NOT_FOUND:
            raise
        except (Refused, ValidationError) as error:
            return self.refused(error)

    @cached_property
    def channel(self) -> Channel | None:
        """Return the channel that the page is about, if any."""
        return None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        around = surroundings(self.reader, self.channel)
        return super().get_context_data(**{**around, "section": self.section, **kwargs})

    def refused(self, error: Refused | ValidationError) -> HttpResponse:
        reason = str(error) if isinstance(error, Refused) else " ".join(error.messages)
        if self.failure:
            return self.refuse(gettext(self.failure), details=reason)
        return self.refuse(reason, field=getattr(error, "field", ""))

    def refuse(self, problem: str, *, status: int = HTTPStatus.BAD_REQUEST, **context: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(problem=problem, **context), status=status)

    def refuse_attempt(self) -> HttpResponse:
        problem = gettext("Too many attempts. Wait a minute.")
        return self.refuse(problem, status=HTTPStatus.TOO_MANY_REQUESTS)


class ReaderFormPage(ReaderPage, FormView):  # type: ignore[type-arg]
    def form_invalid(self, form: Any) -> HttpResponse:
        problem = next(message for messages in form.errors.values() for message in messages)
        return self.refuse(problem, form=form)
