"""Actors, inboxes and objects. Addresses are below those of newsletters' pages (channels.activitypub)."""

from django.urls import path

from fediverse import views

app_name = "fediverse"

urlpatterns = [
    path(".well-known/webfinger", views.webfinger, name="webfinger"),
    path(".well-known/nodeinfo", views.nodeinfo_links, name="nodeinfo_links"),
    path("nodeinfo/<str:version>", views.nodeinfo, name="nodeinfo"),
    path("fediverse/actor", views.site_actor, name="site_actor"),
    path("fediverse/inbox", views.inbox, name="inbox"),
    path("s/<str:name>/actor", views.actor, name="actor"),
    path("s/<str:name>/fediverse/", views.follow, name="follow"),
    path("s/<str:name>/inbox", views.inbox, name="actor_inbox"),
    path("s/<str:name>/outbox", views.outbox, name="outbox"),
    path("s/<str:name>/followers", views.followers, name="followers"),
    path("s/<str:name>/archive/<int:pk>/object", views.issue_object, name="object"),
]
