from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.rates import DAY, Limit, OverLimit, check_rows, count_rows
from reader.models import Reader
from reader.pages.access import reading_page
from reader.pages.forms import NewcomerForm
from reader.pages.people import MODEL_BACKEND, admitted
from reader.people.readers import OPEN, add_reader
from subscriptions.forms.sign_up import RobotProofForm

NEWCOMERS_OF_NETWORK = Limit("reader join ip", 5, DAY)
# Limits floods from many networks.
NEWCOMERS = Limit("reader join", 500, DAY)
ANYBODY = "anybody"


class JoinForm(NewcomerForm, RobotProofForm):
    pass


@sensitive_post_parameters("password1")
@reading_page
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Require READER=open."""
    if settings.READER != OPEN:
        raise Http404("You need an invitation to read here.")
    if request.user.is_authenticated:
        return HttpResponseRedirect(reverse("reader:begin"))
    ip = str(request.META.get("REMOTE_ADDR", ""))
    form = JoinForm(request.POST or None, ip=ip)
    status = 400 if request.method == "POST" else 200
    if request.method == "POST":
        if form.is_robot:
            return HttpResponseRedirect(reverse("account_login"))
        try:
            reader = admitted(form, lambda **given: _join(ip, **given))
        except OverLimit:
            form.add_error(None, gettext("Too many people have joined today. Please try again tomorrow."))
            reader, status = None, 429
        if reader is not None:
            login(request, reader.user, MODEL_BACKEND)
            return HttpResponseRedirect(reverse("reader:all"))
    return render(request, "reader/begin.html", {"form": form}, status=status)


def _join(ip: str, **given: Any) -> Reader:
    """Count only successful registrations. Raises OverLimit."""
    now = utcnow()
    with transaction.atomic():
        checked = check_rows([*NEWCOMERS_OF_NETWORK.by_network(ip), (NEWCOMERS, ANYBODY)], now)
        reader = add_reader(now=now, **given)
        count_rows(checked)
    return reader
