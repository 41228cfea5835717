from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.clock import utcnow
from common.ports.channel_letters import LettersState, letter_newsletters
from common.refused import Refused
from reader.channels.channels import (
    LONGEST_CHANNEL_NAME,
    add_channel,
    alter_channel,
    channel_of,
    drop_channel,
    order_channels,
)
from reader.channels.filters import authors_of, change_filters, mute, preview_filters, unmute
from reader.indieauth.discovery import profile_of
from reader.models import Channel, Letters, Reader
from reader.pages.access import WAITED_FOR, ReaderFormPage, back_to, channel_line, for_readers, surroundings
from reader.pages.forms import LONGEST_KEPT, ChannelForm, LettersForm, NewChannelForm
from reader.pages.posts import shown_places
from reader.people.letters import save_letters
from reader.rules.filters import (
    LONGEST_TERM,
    MOST_TERMS,
    Filters,
    FilterVerdict,
    InvalidFilter,
    checked_filters,
)

LETTERS = "letters"
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


class ChannelFormPage(ReaderFormPage):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(longest=LONGEST_CHANNEL_NAME, **kwargs)


class Channels(ChannelFormPage):
    """A POST adds one, or (`act`) moves one."""

    template_name = "reader/channels.html"
    section = "channels"
    form_class = NewChannelForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        act = request.POST.get("act")
        if act in ("up", "down"):
            _move(self.reader, request.POST.get("channel", ""), by=1 if act == "down" else -1)
            return redirect("reader:channels")
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: NewChannelForm) -> HttpResponse:
        channel = add_channel(reader=self.reader, name=form.cleaned_data["name"])
        return redirect("reader:channel", channel.uid)


class ChannelSettings(ChannelFormPage):
    template_name = "reader/channel_settings.html"
    form_class = ChannelForm

    @cached_property
    def channel(self) -> Channel:
        return channel_of(self.reader, self.kwargs["uid"])

    @cached_property
    def letters(self) -> tuple[LettersState | None, LettersForm]:
        state = letter_newsletters().state(self.channel, now=utcnow())
        row = Letters.objects.filter(channel=self.channel).first() or Letters(channel=self.channel)
        given = self.request.POST if self.request.POST.get("act") == LETTERS else None
        initial = {} if state else {"arrangement": Letters.Arrangement.OFF}
        return state, LettersForm(given, instance=row, initial=initial)

    def get_initial(self) -> dict[str, Any]:
        return {
            "name": self.channel.name,
            "keep": self.channel.keep_days,
            "unread": self.channel.unread_mode,
            "layout": self.channel.layout,
            "published": self.channel.is_published,
        }

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        follows = self.channel.follows.count()
        context = {"follows": follows, "filters": self.channel.filters, "me": profile_of(self.reader)}
        state, form = self.letters
        context |= {"letters": form, "letters_state": state, "is_saved": "saved" in self.request.GET}
        return super().get_context_data(**context, longest_kept=LONGEST_KEPT, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.POST.get("act") == LETTERS:
            form = self.letters[1]
            if not form.is_valid():
                return self.render_to_response(self.get_context_data(), status=HTTPStatus.BAD_REQUEST)
            save_letters(letters=form.save(commit=False), now=utcnow())
            return redirect(f"{request.path}?saved#letters")
        if request.POST.get("act") != "delete":
            return super().post(request, *args, **kwargs)
        if "sure" not in request.POST:
            return self.refuse(gettext("Tick the box first. This can’t be undone."))
        drop_channel(channel=self.channel, now=utcnow())
        return redirect("reader:channels")

    def form_valid(self, form: ChannelForm) -> HttpResponse:
        channel, data = self.channel, form.cleaned_data
        changes = {
            "unread_mode": data["unread"],
            "layout": data["layout"] or channel.layout,
            "keep_days": data["keep"],
            "is_published": data["published"] and not channel.is_notifications,
        }
        if not channel.is_notifications and data["name"] != channel.name:
            changes["name"] = data["name"]
        alter_channel(channel=channel, **changes)
        return redirect("reader:channel", channel.uid)


@for_readers
@require_safe
def muted_people(request: HttpRequest, reader: Reader) -> HttpResponse:
    rows = reader.mutes.select_related("channel").order_by("is_block", "-added_at", "-pk")
    authors = authors_of(reader, [row.key for row in rows])
    listed = [
        (row, authors.get(row.key, {}).get("name", ""), channel_line(row.channel) if row.channel else None)
        for row in rows
    ]
    return render(request, "reader/muted.html", {**surroundings(reader), "section": "muted", "mutes": listed})


@for_readers
@require_POST
def change_mute(request: HttpRequest, reader: Reader) -> HttpResponse:
    channel = channel_of(reader, request.POST["channel"]) if request.POST.get("channel") else None
    act, url = request.POST.get("act", ""), request.POST.get("url", "")
    try:
        if act in ("mute", "block"):
            mute(reader=reader, channel=channel, url=url, now=utcnow(), is_block=act == "block")
        elif act in ("unmute", "unblock"):
            unmute(reader=reader, channel=channel, url=url, is_block=act == "unblock")
        else:
            raise Http404("Mark not found.")
    except Refused as error:
        raise Http404(str(error)) from error
    return HttpResponseRedirect(back_to(request, reverse("reader:muted")))


def _move(reader: Reader, uid: str, *, by: int) -> None:
    moved = channel_of(reader, uid)
    rows = reader.channels.filter(is_notifications=False).order_by("position", "pk")
    uids = list(rows.values_list("uid", flat=True))
    if moved.uid in uids:
        place = uids.index(moved.uid)
        uids.insert(min(max(place + by, 0), len(uids) - 1), uids.pop(place))
        order_channels(reader=reader, uids=uids)


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
