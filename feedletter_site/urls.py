"""Every address the program answers."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import include, path

from feedletter_site.health import healthz, readyz
from feedletter_site.metrics import metrics
from feedletter_site.setup import setup

urlpatterns = [
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("setup/<str:token>/", setup, name="setup"),
]
# Becomes three plain lines when the modules are there.
urlpatterns += [
    path(prefix, include(module))
    for prefix, module in (
        ("api/v1/", "feedletter_site.api_urls"),
        ("", "subscriptions.urls"),
        ("", "delivery.urls"),
    )
    if find_spec(module)
]
