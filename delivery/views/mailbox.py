"""The built-in mailbox: shows letters that were kept here because there is no mail server yet."""

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

from delivery.accounts.default_account import keeps_letters
from delivery.models import MailboxMessage
from subscriptions.views.pages import page

LETTERS_ON_A_PAGE = 50
# A letter is somebody else's html: no script, no origin, no form; its links open in a tab of their own.
SANDBOX = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "img-src * data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """Headers in their order; html and text as their parts say, empty where there is none."""

    headers: tuple[tuple[str, str], ...]
    html: str
    text: str


def take_apart(raw: bytes) -> Opened:
    """A message taken apart. Never raises for what it holds: what can be read is shown."""
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
    """Only where the program runs embedded, and only for staff who may see deliveries and subscribers."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.EMBEDDED:
            raise Http404
        response = staff_member_required(permitted(view))(request, *args, **kwargs)
        response.headers["Cache-Control"] = "no-store"
        return response

    return require_safe(wrapped)


def permitted(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only for staff who may see deliveries and subscribers: a letter holds its reader's address and keys."""

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
    """The letters kept here, newest first."""
    messages = Paginator(MailboxMessage.objects.defer("raw").order_by("-stored_at", "-pk"), LETTERS_ON_A_PAGE)
    shown = messages.get_page(request.GET.get("page"))
    context = {"letters": shown, "total": messages.count, "keeps": keeps_letters()}
    return render(request, "pages/mailbox.html", context)


@embedded_staff
@page
def message(request: HttpRequest, pk: int) -> HttpResponse:
    """One letter: as it looks, as text, and its headers."""
    kept, letter = _open(pk)
    context = {"kept": kept, "letter": letter, "keeps": keeps_letters()}
    return render(request, "pages/mailbox_message.html", context)


@embedded_staff
@xframe_options_sameorigin
def message_html(request: HttpRequest, pk: int) -> HttpResponse:
    """The letter's html alone, for the frame."""
    _, letter = _open(pk)
    response = HttpResponse(f'<base target="_blank">{letter.html}')
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _open(pk: int) -> tuple[MailboxMessage, Opened]:
    kept = get_object_or_404(MailboxMessage.objects.select_related("delivery"), pk=pk)
    return kept, take_apart(bytes(kept.raw))
