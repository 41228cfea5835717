"""Page “Email set-up”: where letters go, accounts and their next steps."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from channels.email.account_url import parse_email_url
from channels.email.esp.services import SERVICES
from common.admin.html import add_url, object_url, when
from common.admin.refusals import report
from common.clock import utcnow
from delivery.accounts.accounts import (
    default_account,
    keeps_letters,
    make_default,
    newsletters_of,
    server_of,
    stop_default,
    usual_sender,
    way_in_words,
)
from delivery.accounts.providers import PROVIDERS
from delivery.admin.mail.account import mail_set_up_url, refused_call_words
from delivery.doctor.checks import is_private
from delivery.letters.trial import try_account
from delivery.models import Account

MAY_SEE, MAY_ADD, MAY_CHANGE = "delivery.view_account", "delivery.add_account", "delivery.change_account"
# Session key of a test address other than the user's own.
TEST_ADDRESS = "mail_trial_to"
LONGEST_TEST_ADDRESS = 320


@dataclass(frozen=True, slots=True)
class ShownAccount:
    """Account on the page. `next` is the suggested step: try, change or default."""

    account: Account
    server: str
    sender: str
    newsletters: str
    tried: str
    tone: str
    next: str
    is_chosen: bool
    change_url: str

    @property
    def is_carrying(self) -> bool:
        return self.account.is_default and "EMAIL_URL" not in settings.GIVEN


def mail_set_up(request: HttpRequest) -> HttpResponse:
    """Show on GET; act and redirect on POST, so that reloading repeats nothing."""
    if not request.user.has_perm(MAY_SEE):
        raise PermissionDenied
    if request.method == "POST":
        return _acted(request)
    address = request.session.get(TEST_ADDRESS) or getattr(request.user, "email", "")
    chosen = request.GET.get("account", "")
    rows = Account.objects.mail().order_by("-is_default", "name")
    shown = [_shown(row, is_chosen=str(row.pk) == chosen) for row in rows]
    may_add = request.user.has_perm(MAY_ADD)
    context = {
        **admin.site.each_context(request),
        "title": "Email set-up",
        "now": where_letters_go(),
        "given": "EMAIL_URL" in settings.GIVEN,
        "keeps": keeps_letters(),
        "may_keep": settings.EMAIL_URL.startswith("mailbox:"),
        "has_default": default_account() is not None,
        "sender": usual_sender(),
        "sender_given": "DEFAULT_FROM_EMAIL" in settings.GIVEN,
        "dead_links": settings.SITE_URL if is_private(settings.SITE_HOST) and not keeps_letters() else "",
        "accounts": shown,
        "address": address,
        "may_change": request.user.has_perm(MAY_CHANGE),
        "is_adding": "add" in request.GET or not shown,
        "groups": _groups() if may_add else [],
        "list_url": reverse("admin:delivery_account_changelist"),
    }
    return TemplateResponse(request, "admin/delivery/mail_set_up.html", context)


def _acted(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(MAY_CHANGE):
        raise PermissionDenied
    act = request.POST.get("act", "")
    if act == "keep":
        stop_default()
        messages.success(request, "There is no default account now.")
        return HttpResponseRedirect(mail_set_up_url())
    key = request.POST.get("account", "")
    account = get_object_or_404(Account.objects.mail(), pk=key if key.isdecimal() else None)
    if act == "default":

        def made_default() -> str:
            make_default(account=account)
            return f"{account} is now the default. The next email is sent through it."

        report(request, made_default)
    elif act == "try":
        to = request.POST.get("to", "").strip()[:LONGEST_TEST_ADDRESS]
        request.session[TEST_ADDRESS] = to

        def tried() -> str:
            if try_account(account=account, to=to, now=utcnow()):
                messages.error(request, f"{account} doesn’t work yet. The error is shown below.")
                return ""
            return f"{account} works. Its server accepted a test email to {to}. Check that it arrived."

        report(request, tried)
    return HttpResponseRedirect(mail_set_up_url(account))


def where_letters_go() -> str:
    if "EMAIL_URL" in settings.GIVEN:
        wins = (
            "EMAIL_URL is set in the environment and overrides the choice here. To "
            "choose here, remove it there and restart Feedletter."
        )
        if settings.EMAIL_URL.startswith("mailbox:"):
            return f"Emails are kept in the mailbox here and not sent, because EMAIL_URL is mailbox:. {wins}"
        try:
            target = parse_email_url(settings.EMAIL_URL)
            refused = refused_call_words(target)
            return f"Emails are sent through {way_in_words(target)}. {wins} {refused}".rstrip()
        except ImproperlyConfigured as error:
            return f"{error} {wins}"
    account = default_account()
    if account is not None:
        return f"Emails are sent through {account} ({server_of(account)})."
    if keeps_letters():
        return "Emails are kept in the mailbox here and not sent until you set up email."
    return "No email is sent until you set up email."


def _shown(account: Account, *, is_chosen: bool) -> ShownAccount:
    if account.tried_at is None:
        tried, tone, following = "Not tested yet.", "wait", "try"
    elif account.trouble:
        tried, tone, following = account.trouble, "bad", "change"
    else:
        following = "" if account.is_default else "default"
        tried, tone = f"Works: a test email was accepted on {when(account.tried_at)}.", "good"
    return ShownAccount(
        account=account,
        server=server_of(account),
        sender=usual_sender(account.name) if not account.is_default else usual_sender(),
        newsletters=", ".join(str(row) for row in newsletters_of(account)),
        tried=tried,
        tone=tone,
        next=following,
        is_chosen=is_chosen,
        change_url=object_url(account),
    )


def _groups() -> list[tuple[str, str, list[tuple[str, str]]]]:
    def form(provider: str) -> str:
        return add_url(Account, provider=provider)

    mailboxes = [(each.name, form(key)) for key, each in PROVIDERS.items()]
    services = sorted((each.name, form(key)) for key, each in SERVICES.items())
    return [
        ("A mailbox you have", "Enough for a few hundred emails a day.", mailboxes),
        (
            "A mail service",
            "For many subscribers. Accepts emails over its API and reports bounces.",
            services,
        ),
        (
            "Another server",
            "Your own server, or one of your company or hosting provider.",
            [("Any SMTP server", form("other"))],
        ),
    ]
