"""The addresses of those who read here."""

from django.urls import path

from reader.microsub.view import microsub
from reader.pages import channels, deck, feeds, filters, lists, people, timelines
from reader.pages.media import media

app_name = "reader"

urlpatterns = [
    path("reader/", timelines.timeline, name="all"),
    path("reader/begin/", people.begin, name="begin"),
    path("reader/c/<slug:uid>/", timelines.timeline, name="channel"),
    path("reader/c/<slug:uid>/settings/", channels.channel_settings, name="channel_settings"),
    path("reader/c/<slug:uid>/filters/", filters.channel_filters, name="filters"),
    path("reader/deck/", deck.deck, name="deck"),
    path("reader/channels/", channels.channels, name="channels"),
    path("reader/muted/", channels.muted, name="muted"),
    path("reader/mute/", channels.change_mute, name="mute"),
    path("reader/post/<int:pk>/", timelines.post, name="post"),
    path("reader/post/<int:pk>/star/", timelines.change_star, name="star"),
    path("reader/mark/", timelines.mark, name="mark"),
    path("reader/undo/", timelines.undo_marking, name="undo"),
    path("reader/starred/", timelines.starred, name="starred"),
    path("reader/search/", timelines.search_page, name="search"),
    path("reader/follow/", feeds.follow, name="follow"),
    path("reader/feeds/", feeds.feeds, name="feeds"),
    path("reader/feeds/opml/", lists.opml, name="opml"),
    path("reader/feeds/list.opml", lists.export, name="export"),
    path("reader/feeds/<int:pk>/", feeds.feed, name="feed"),
    path("reader/feeds/<int:pk>/unfollow/", feeds.stop_following, name="unfollow"),
    path("reader/media/<str:mac>/<str:packed>", media, name="media"),
    # A POST is never redirected: both spellings answer.
    path("microsub/<slug:slug>", microsub, name="microsub"),
    path("microsub/<slug:slug>/", microsub, name="microsub_slash"),
]
