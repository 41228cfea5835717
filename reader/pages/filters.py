"""Channel's filters, with a preview."""

from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from common.refused import Refused
from reader.channels.channels import channel_of
from reader.channels.filters import change_filters, preview_filters
from reader.models import Reader
from reader.pages.access import WAITED_FOR, for_readers, surroundings
from reader.pages.posts import shown_places
from reader.rules.filters import (
    LONGEST_TERM,
    MOST_TERMS,
    Filters,
    FilterVerdict,
    InvalidFilter,
    checked_filters,
)

WORDS_OF_KINDS = {
    "article": gettext_lazy("Articles"),
    "note": gettext_lazy("Notes"),
    "photo": gettext_lazy("Photos"),
    "video": gettext_lazy("Videos"),
    "audio": gettext_lazy("Audio"),
    "reply": gettext_lazy("Replies"),
    "repost": gettext_lazy("Shared posts"),
    "like": gettext_lazy("Liked posts"),
    "bookmark": gettext_lazy("Bookmarked pages"),
    "checkin": gettext_lazy("Places visited"),
    "event": gettext_lazy("Events"),
    "rsvp": gettext_lazy("Responses to invitations"),
}


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def channel_filters(request: HttpRequest, reader: Reader, uid: str) -> HttpResponse:
    """A POST previews others, or (`act`) saves them."""
    channel = channel_of(reader, uid)
    if channel.is_notifications:
        raise Http404("The notifications channel has no filters.")
    kept = Filters.read(channel.filters)
    # Links may propose a term.
    more = request.GET.get("hide", "") if request.method != "POST" else ""
    is_looking = request.method == "POST" or bool(more)
    kinds, keep = list(kept.kinds), "\n".join(kept.keep)
    hide = "\n".join(dict.fromkeys((*kept.hide, *filter(None, [more]))))
    if request.method == "POST":
        kinds = request.POST.getlist("kinds")
        hide, keep = request.POST.get("hide", ""), request.POST.get("keep", "")
    problem, reason, field = "", "", ""
    lines = []
    given = {"kinds": kinds, "hide": hide.splitlines(), "keep": keep.splitlines()}
    try:
        if request.POST.get("act") == "save":
            change_filters(channel=channel, at_once=WAITED_FOR, **given)
            return HttpResponseRedirect(reverse("reader:channel", args=[channel.uid]))
        kept = checked_filters(**given) if is_looking else kept
    except Refused as error:
        problem, reason, field = str(error), _words_of(error), error.field
    if not problem:
        previewed = preview_filters(channel, kept)
        posts = shown_places(reader, [place for place, _ in previewed], ())
        reasons = [_why(verdict) for _, verdict in previewed]
        lines = [{"post": post, "why": why} for post, why in zip(posts, reasons, strict=True)]
    context = {
        **surroundings(reader, channel),
        "kinds": [(name, words, name in kinds) for name, words in WORDS_OF_KINDS.items()],
        "hide": hide,
        "keep": keep,
        "problem": problem,
        "reason": reason,
        "problem_field": field,
        "trouble": channel.filters_trouble.splitlines(),
        "is_asking": channel.ask_below is not None,
        "lines": lines,
        "hidden": sum(bool(line["why"]) for line in lines),
        "is_looking": is_looking,
        "most_terms": MOST_TERMS,
        "longest_term": LONGEST_TERM,
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "reader/filters.html", context, status=status)


def _words_of(error: Refused) -> str:
    """Return "" for reasons that are in English only."""
    match error.reason if isinstance(error, InvalidFilter) else "":
        case "all":
            return gettext("This hides all kinds of posts. Leave at least one.")
        case "many":
            words = ngettext("Enter at most %(most)s line.", "Enter at most %(most)s lines.", MOST_TERMS)
            return words % {"most": MOST_TERMS}
        case "long":
            words = ngettext(
                "A line can have at most %(most)s character.",
                "A line can have at most %(most)s characters.",
                LONGEST_TERM,
            )
            return words % {"most": LONGEST_TERM}
    return ""


def _why(verdict: FilterVerdict) -> str:
    match verdict.field:
        case "kinds":
            return gettext("hidden: %(kind)s") % {"kind": WORDS_OF_KINDS[verdict.by]}
        case "hide":
            return gettext("hidden: it has “%(term)s”") % {"term": verdict.by}
        case "keep":
            return gettext("hidden: it matches nothing that should be shown")
        case _:
            return ""
