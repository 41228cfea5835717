"""/v0/subscription/create, which upstream's forms post to, and its links to subscribe again open."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.ports import channels
from subscriptions import links
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How
from subscriptions.rules.upstream_fields import UpstreamSignUp, WrongFields, read_sign_up
from subscriptions.subscribers.sign_up import is_by_code, is_open
from subscriptions.views.pages import focus_on_error, page
from subscriptions.views.sign_up import take_sign_up


class OldForm(SignUpForm):
    """A form of upstream's time. Nobody knows which words stood on it, so it proves none."""

    @property
    def consent(self) -> str:
        return super().consent if self.data.get("shown") else ""


@csrf_exempt  # old forms have no token, and it changes nothing for whoever is signed in here
@require_http_methods(["GET", "HEAD", "POST"])
@page
def create_upstream(request: HttpRequest) -> HttpResponse:
    """GET shows the form, filled in; POST takes a sign-up, in upstream's words or in ours."""
    # The fields of the form; those of the address count where the form does not have them.
    given = dict(request.POST.lists())
    for name, values in request.GET.lists():
        given.setdefault(name, values)
    try:
        wanted = read_sign_up((name, str(value)) for name, values in given.items() for value in values)
        newsletter = _newsletter(wanted)
    except WrongFields as error:
        return render(request, "pages/upstream/refused.html", {"reason": str(error)}, status=400)
    if is_by_code(newsletter):
        return HttpResponseRedirect(links.page_url(newsletter), status=303)
    filled = {"email": wanted.email, "name": wanted.name}
    if request.method != "POST":
        return _form(request, newsletter, OldForm(initial=filled, subscribables=[newsletter]))
    form = OldForm(
        {**request.POST.dict(), **filled}, subscribables=[newsletter], ip=request.META.get("REMOTE_ADDR", "")
    )
    if is_open(newsletter) and form.is_valid():
        return take_sign_up(request, form, How.V0)
    return _form(request, newsletter, form, status=400)


def _form(
    request: HttpRequest, newsletter: Subscribable, form: SignUpForm, *, status: int = 200
) -> HttpResponse:
    focus_on_error(form)
    context = {"newsletter": newsletter, "form": form, "is_open": is_open(newsletter), "is_upstream": True}
    return render(request, "pages/embed/again.html", context, status=status)


def _newsletter(wanted: UpstreamSignUp) -> Subscribable:
    """The newsletter, unless it is private, or a bridge: only an administrator subscribes to those."""
    found = Subscribable.objects.with_pages().named(wanted.newsletter).first()
    if found is None:
        raise WrongFields("There is no newsletter of that name (subscribableName).")
    if not channels.get(found.channel).public_sign_up or wanted.type != found.channel:
        raise WrongFields("Such a subscription must be made by an administrator.")
    return found
