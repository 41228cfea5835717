from importlib import import_module

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.utils.module_loading import module_has_submodule
from django.views.generic import RedirectView, TemplateView

from common.optional_apps import is_on
from common.ports import panels
from common.signing import token_paths
from delivery.admin.bridges.add import add_application, add_bridge
from delivery.admin.bridges.set_up import bridge_connected, bridge_reconnect, bridge_set_up
from delivery.admin.dkim import mail_check
from delivery.admin.mail.account import mail_set_up
from delivery.views.esp_webhook import esp_tracking
from feedletter_site import env
from feedletter_site.first_steps import first_steps, settings_page
from feedletter_site.monitoring.metrics import metrics
from feedletter_site.monitoring.stages import healthz, readyz
from feedletter_site.sign_in.setup import setup, sign_in_at_first
from feedletter_site.team.account import own_address, your_account
from feedletter_site.team.people import accept_invitation

handler500 = "feedletter_site.errors.server_error"

# As admin.autodiscover(), without apps that are off.
for app in apps.get_app_configs():
    if is_on(app.label) and app.module and module_has_submodule(app.module, "admin"):
        import_module(f"{app.name}.admin")
panels.install()

urlpatterns = [
    # First, as strangers' servers may call its inbox very often.
    path("", include("fediverse.urls")),
    path("favicon.ico", RedirectView.as_view(url=static("feedletter/favicon.svg")), name="favicon"),
    path(
        "robots.txt",
        TemplateView.as_view(
            template_name="robots.txt",
            content_type="text/plain",
            extra_context={"site_url": settings.SITE_URL},
        ),
        name="robots",
    ),
    path("admin/mail-check/", admin.site.admin_view(mail_check), name="mail_check"),
    path("admin/mail/", admin.site.admin_view(mail_set_up), name="mail_set_up"),
    path("admin/add-bridge/", admin.site.admin_view(add_bridge), name="add_bridge"),
    path(
        "admin/add-bridge/application/<str:kind>/",
        admin.site.admin_view(add_application),
        name="bridge_application",
    ),
    path("admin/bridge-connected/", admin.site.admin_view(bridge_connected), name="bridge_connected"),
    path("admin/bridge/<str:bridge>/", admin.site.admin_view(bridge_set_up), name="bridge_set_up"),
    path(
        "admin/bridge/<str:bridge>/connect/", admin.site.admin_view(bridge_reconnect), name="bridge_reconnect"
    ),
    path("admin/settings/", admin.site.admin_view(settings_page), name="admin_settings"),
    path("admin/first-steps/", admin.site.admin_view(first_steps), name="first_steps"),
    path("admin/account/", admin.site.admin_view(your_account), name="your_account"),
    *token_paths("admin/account/address/", admin.site.admin_view(own_address), "own_address"),
    path("admin/login/", sign_in_at_first, name="admin_sign_in"),
    path(
        "admin/password_change/",
        RedirectView.as_view(pattern_name="account_change_password"),
        name="admin_password_change",
    ),
    path("admin/", admin.site.urls),
    path("api/v1/", include("feedletter_site.api_urls")),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    *token_paths("setup/", setup, "setup"),
    *token_paths("join/", accept_invitation, "team_join"),
    path("", include("feedletter_site.sign_in.urls")),
    path("", include("feeds.urls")),
    path("", include("subscriptions.urls")),
    path("", include("delivery.urls")),
]
if is_on("chat"):
    # The admin answers everything else below admin/.
    urlpatterns.insert(0, path("admin/discord/", include("chat.admin.urls")))
    urlpatterns.append(path("", include("chat.urls")))
if is_on("reader"):
    urlpatterns.append(path("", include("reader.urls")))
if env.text("FEEDLETTER_DEMO"):
    urlpatterns.append(path("", include("demo.urls")))
if settings.ANYMAIL_WEBHOOK_SECRET:
    urlpatterns.append(path("anymail/<slug:esp>/tracking/", esp_tracking, name="esp_tracking"))
