"""Every address the program answers."""

from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from common.ports import panels
from delivery.admin.doctor import mail_check
from delivery.views.esp_webhook import esp_tracking
from feedletter_site.first_steps import first_steps
from feedletter_site.monitoring.health import healthz, readyz
from feedletter_site.monitoring.metrics import metrics
from feedletter_site.setup import setup, sign_in

handler500 = "feedletter_site.errors.server_error"

admin.autodiscover()
panels.install()

urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=static("feedletter/favicon.svg")), name="favicon"),
    path("admin/mail-check/", admin.site.admin_view(mail_check), name="mail_check"),
    path("admin/first-steps/", admin.site.admin_view(first_steps), name="first_steps"),
    path("admin/login/", sign_in, name="admin_sign_in"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("feedletter_site.api_urls")),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("setup/<str:token>/", setup, name="setup"),
    path("", include("feeds.urls")),
    path("", include("subscriptions.urls")),
    path("", include("delivery.urls")),
]
if settings.ANYMAIL_WEBHOOK_SECRET:
    urlpatterns.append(path("anymail/<slug:esp>/tracking/", esp_tracking, name="esp_tracking"))
