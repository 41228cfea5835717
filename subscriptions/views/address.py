from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.rates import OverLimit
from subscriptions.forms.reader import SignInForm
from subscriptions.models import Destination, Subscription
from subscriptions.subscribers import address_change as changing
from subscriptions.subscribers.sign_in import spoken_by
from subscriptions.views.confirm import read_told, told_url
from subscriptions.views.pages import by_token, focus_on_error, same_time, signed_in, speak


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def change_address(request: HttpRequest, reader: Destination) -> HttpResponse:
    """The response is the same whatever is known of the new address."""
    if request.method != "POST":
        sent = read_told(request)
        if sent is not None:
            return render(request, "pages/address_sent.html", {"email": sent.get("email", "")})
        return _form(request, reader, SignInForm())
    form = SignInForm(request.POST)
    if not form.is_valid():
        focus_on_error(form)
        return _form(request, reader, form, status=400)
    email, status = form.cleaned_data["email"], 400
    try:
        with same_time():
            if not form.is_trap_sprung:
                changing.ask_for_change(
                    reader=reader,
                    email=email,
                    ip=request.META.get("REMOTE_ADDR", ""),
                    now=utcnow(),
                    language=spoken_by(reader),
                )
    except changing.CannotChangeAddress as error:
        form.add_error(error.field or None, str(error))
    except OverLimit:
        status = 429
        form.add_error(None, gettext("Too many attempts. Please try again tomorrow."))
    if form.errors:
        return _form(request, reader, form, status=status)
    return HttpResponseRedirect(told_url(request.path, {"email": email}))


def _form(request: HttpRequest, reader: Destination, form: SignInForm, *, status: int = 200) -> HttpResponse:
    return render(request, "pages/address.html", {"reader": reader, "form": form}, status=status)


@by_token
def confirm_address(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows a button, because programs open mailed links."""
    now = utcnow()
    change = changing.change_of_link(token=token, now=now)
    speak(change.language)
    if request.method == "POST" and change.confirmed_at is None:
        words = gettext("Newsletters of another address will be sent to %(address)s.")
        changing.confirm_change(
            token=token,
            now=now,
            ip=request.META.get("REMOTE_ADDR", ""),
            words=words % {"address": change.new.label},
        )
        return HttpResponseRedirect(request.path)
    rows = change.old.subscriptions.filter(status=Subscription.Status.CONFIRMED, ended_at=None)
    context = {
        "change": change,
        "old_address": masked(change.old.label),
        "newsletters": [row.subscribable for row in rows.select_related("subscribable").order_by("pk")],
    }
    template = "pages/address_changed.html" if change.confirmed_at else "pages/address_confirm.html"
    return render(request, template, context)


@by_token
def undo_address(request: HttpRequest, token: str) -> HttpResponse:
    now = utcnow()
    change = changing.change_to_undo(token=token, now=now)
    speak(change.language)
    if request.method == "POST" and change.undone_at is None:
        changing.undo_change(token=token, now=now)
        return HttpResponseRedirect(request.path)
    return render(request, "pages/address_undo.html", {"change": change})


def masked(address: str) -> str:
    """Shorten an address, as its owner may have mistyped the other one."""
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}…@{domain}"
