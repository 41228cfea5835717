"""Readers' addresses that need nothing of the ledger."""

from django.urls import path

from subscriptions.views.confirm import confirm
from subscriptions.views.leave import unsubscribe
from subscriptions.views.manage import manage
from subscriptions.views.newsletters import newsletters

app_name = "subscriptions"

urlpatterns = [
    path("", newsletters, name="newsletters"),
    path("confirm/<str:token>/", confirm, name="confirm"),
    path("unsubscribe/<str:token>/", unsubscribe, name="unsubscribe"),
    path("manage/<str:token>/", manage, name="manage"),
]
