"""Beginning to read."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.refused import Refused
from reader.models import Reader
from reader.pages.access import for_users
from reader.people.readers import add_reader, may_begin


@for_users
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """A user who may read here, and does not yet, chooses a name; others are told how they get in."""
    if Reader.objects.filter(user=request.user.pk).exists():
        return HttpResponseRedirect(reverse("reader:all"))
    if not may_begin(request.user):
        return render(request, "reader/not_yet.html", status=403)
    username = request.user.get_username()
    name, problem = slugify(username)[:40].strip("-"), ""
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            add_reader(name=name, username=username, now=utcnow())
        except Refused as error:
            problem = str(error)
        else:
            return HttpResponseRedirect(reverse("reader:follow"))
    context = {"name": name, "problem": problem}
    return render(request, "reader/begin.html", context, status=400 if problem else 200)
