"""Channels side by side, each a column with its newest posts."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from reader.channels.channels import choose_columns
from reader.models import Reader
from reader.pages.access import ChannelLine, for_readers, surroundings
from reader.pages.posts import ShownPost, shown_places
from reader.pages.timelines import marking_of
from reader.rules.order import Stretch
from reader.timelines.pages import Timeline, page_of

MOST_COLUMNS = 12
POSTS_IN_A_COLUMN = 20


@dataclass(frozen=True, slots=True)
class Column:
    """A channel of the deck. `top` is its newest place, `older` the cursor of what comes below."""

    line: ChannelLine
    posts: list[ShownPost]
    top: int
    older: str

    @property
    def has_unread(self) -> bool:
        return any(post.is_unread for post in self.posts)


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def deck(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The columns. A POST chooses which."""
    if request.method == "POST":
        choose_columns(reader=reader, uids=request.POST.getlist("channel"))
        return HttpResponseRedirect(reverse("reader:deck"))
    unread_only = "unread" in request.GET
    around = surroundings(reader)
    chosen = {channel.uid: channel for channel in reader.channels.filter(in_deck=True)}
    columns = []
    for line in [line for line in around["channels"] if line.uid in chosen][:MOST_COLUMNS]:
        timeline = Timeline(reader, chosen[line.uid])
        page = page_of(timeline, Stretch(limit=POSTS_IN_A_COLUMN), unread_only=unread_only)
        if line.is_notifications and not page.places:
            # The first column is none that says nothing on most days.
            continue
        posts = shown_places(reader, page.places, page.unread)
        columns.append(Column(line, posts, posts[0].place if posts else 0, page.paging.after))
    context = {
        **around,
        "section": "deck",
        "columns": columns,
        "choices": [(line, line.uid in chosen) for line in around["channels"]],
        "most": MOST_COLUMNS,
        "unread_only": unread_only,
        "marking": marking_of(request, reader),
    }
    return render(request, "reader/deck.html", context)
