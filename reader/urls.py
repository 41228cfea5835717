from collections.abc import Callable

from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, re_path

from common.signing import token_paths
from reader.greader.view import greader
from reader.indieauth import endpoints
from reader.indieauth.endpoints import client_document
from reader.mentions.receive import webmention
from reader.microsub.view import microsub
from reader.pages import account, channels, compose, consent, feeds, mail, people, picks, profile, timelines
from reader.pages.posts import media

app_name = "reader"


def both(route: str, view: Callable[..., HttpResponseBase], name: str) -> tuple[URLPattern, URLPattern]:
    """Accept an optional trailing slash."""
    return path(route, view, name=name), path(f"{route}/", view, name=f"{name}_slash")


urlpatterns = [
    path("reader/", timelines.timeline, name="all"),
    path("reader/begin/", people.begin_reading, name="begin"),
    *token_paths("reader/invitation/", people.invitation, "invitation", parameter="key"),
    path("reader/account/", account.account, name="account"),
    path("reader/account/data/", account.data, name="data"),
    path("reader/account/erase/", account.erase, name="erase"),
    path("reader/c/<slug:uid>/", timelines.timeline, name="channel"),
    path("reader/c/<slug:uid>/settings/", channels.ChannelSettings.as_view(), name="channel_settings"),
    path("reader/c/<slug:uid>/filters/", channels.channel_filters, name="filters"),
    path("reader/deck/", timelines.deck, name="deck"),
    path("reader/channels/", channels.Channels.as_view(), name="channels"),
    path("reader/muted/", channels.muted_people, name="muted"),
    path("reader/mute/", channels.change_mute, name="mute"),
    path("reader/post/<int:pk>/", timelines.post, name="post"),
    path("reader/post/<int:pk>/save/", timelines.save, name="save"),
    path("reader/post/<int:pk>/star/", timelines.change_star, name="star"),
    path("reader/mark/", timelines.mark, name="mark"),
    path("reader/undo/", timelines.undo_marking, name="undo"),
    path("reader/starred/", timelines.starred, name="starred"),
    path("reader/picks/newsletter/", picks.newsletter, name="picks_newsletter"),
    path("reader/picks/<slug:key>/", picks.page, name="picks"),
    path("reader/picks/<slug:key>/feed.xml", picks.feed, {"kind": "xml"}, name="picks_xml"),
    path("reader/picks/<slug:key>/feed.json", picks.feed, {"kind": "json"}, name="picks_json"),
    path("reader/search/", timelines.search_page, name="search"),
    path("reader/follow/", feeds.FollowPage.as_view(), name="follow"),
    path("reader/feeds/", feeds.feeds, name="feeds"),
    path("reader/feeds/opml/", feeds.ImportPage.as_view(), name="opml"),
    path("reader/feeds/list.opml", feeds.export, name="export"),
    path("reader/feeds/<int:pk>/", feeds.FeedPage.as_view(), name="feed"),
    path("reader/feeds/<int:pk>/unfollow/", feeds.stop_following, name="unfollow"),
    path("reader/mail/", mail.MailPage.as_view(), name="mail"),
    path("reader/news/", people.news, name="news"),
    path("reader/events", people.events, name="events"),
    path("reader/compose/", compose.ComposePage.as_view(), name="compose"),
    path("reader/compose/connect/", compose.Connect.as_view(), name="connect"),
    path("reader/compose/connected/", compose.Connect.as_view(is_return=True), name="connected"),
    path("reader/compose/<int:pk>/", compose.ComposedPage.as_view(), name="composed"),
    path("reader/post/<int:pk>/react/", compose.reaction, name="react"),
    path("reader/app-passwords/", account.AppPasswords.as_view(), name="app_passwords"),
    path("reader/media/<str:mac>/<str:packed>", media, name="media"),
    path("reader/clients/", account.clients, name="clients"),
    path("reader/clients/<int:pk>/revoke/", account.revoke_client, name="revoke_client"),
    path("reader/allow/", consent.ask, name="allow"),
    path("reader/site/", profile.OwnSite.as_view(), name="site"),
    path("reader/site/back/", profile.OwnSite.as_view(is_return=True), name="site_back"),
    path("@<slug:slug>/", profile.profile, name="profile"),
    path("@<slug:slug>/blogroll.opml", profile.blogroll, name="blogroll"),
    path("indieauth/client.json", client_document, name="client_document"),
    path(".well-known/oauth-authorization-server", endpoints.metadata, name="well_known_metadata"),
    # A POST is never redirected.
    *both("webmention/<slug:slug>", webmention, "webmention"),
    *both("indieauth/metadata", endpoints.metadata, "metadata"),
    *both("indieauth/authorize", consent.authorize, "authorize"),
    *both("indieauth/token", endpoints.token, "token"),
    *both("indieauth/revoke", endpoints.revocation, "revoke"),
    *both("indieauth/introspect", endpoints.introspection, "introspect"),
    *both("microsub/<slug:slug>", microsub, "microsub"),
    # Some apps add what FreshRSS has before the rest.
    re_path(r"^api/greader\.php(?P<call>/.*|)$", greader, name="greader_php"),
    re_path(r"^greader(?P<call>/.*|)$", greader, name="greader"),
]
