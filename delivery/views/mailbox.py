"""Built-in mailbox for letters kept because there is no mail server yet."""

from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.admin.views.decorators import staff_member_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from delivery.accounts.accounts import keeps_letters
from delivery.models import MailboxMessage
from subscriptions.views.pages import page

LETTERS_ON_A_PAGE = 50
# Letters are foreign html: no scripts, origin or forms; links open in a new tab.
SANDBOX = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "img-src * data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """Headers in order; html and text may be empty."""

    headers: tuple[tuple[str, str], ...]
    html: str
    text: str


def take_apart(raw: bytes) -> Opened:
    """Parse a message, showing whatever is readable. Never raises."""
    message: EmailMessage = message_from_bytes(raw, policy=policy.default)
    headers = tuple((name, str(value)) for name, value in message.items())
    return Opened(headers=headers, html=_part(message, "html"), text=_part(message, "plain"))


def _part(message: EmailMessage, sort: str) -> str:
    part = message.get_body(preferencelist=(sort,))
    if part is None:
        return ""
    try:
        return str(part.get_content())
    except (LookupError, ValueError, KeyError):
        return bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")


def embedded_staff(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Restrict a view to embedded mode and permitted staff."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.EMBEDDED:
            raise Http404
        response = staff_member_required(permitted(view))(request, *args, **kwargs)
        response.headers["Cache-Control"] = "no-store"
        return response

    return require_safe(wrapped)


def permitted(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Require permission for deliveries and subscribers: letters hold readers' addresses and keys."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        for what in ("delivery.{}_delivery", "subscriptions.{}_subscription"):
            if not any(request.user.has_perm(what.format(word)) for word in ("view", "change")):
                raise PermissionDenied
        return view(request, *args, **kwargs)

    return wrapped


@embedded_staff
@page
def mailbox(request: HttpRequest) -> HttpResponse:
    messages = Paginator(MailboxMessage.objects.defer("raw").order_by("-stored_at", "-pk"), LETTERS_ON_A_PAGE)
    shown = messages.get_page(request.GET.get("page"))
    context = {"letters": shown, "total": messages.count, "keeps": keeps_letters()}
    return render(request, "pages/mailbox.html", context)


@embedded_staff
@page
def message(request: HttpRequest, pk: int) -> HttpResponse:
    kept, letter = _open(pk)
    context = {"kept": kept, "letter": letter, "keeps": keeps_letters()}
    return render(request, "pages/mailbox_message.html", context)


@embedded_staff
@xframe_options_sameorigin
def message_html(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the letter's html, for the frame."""
    _, letter = _open(pk)
    response = HttpResponse(f'<base target="_blank">{letter.html}')
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _open(pk: int) -> tuple[MailboxMessage, Opened]:
    kept = get_object_or_404(MailboxMessage.objects.select_related("delivery"), pk=pk)
    return kept, take_apart(bytes(kept.raw))
