"""The setting UNFOLD."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

from common.optional_apps import is_on


def _page(title: str, icon: str, name: str) -> dict[str, object]:
    app, _, model = name.removesuffix("_changelist").rpartition("_")
    seen = f"{app}.view_{model}"
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{name}"),
        "permission": lambda request: not app or request.user.has_perm(seen),
    }


def navigation(request: HttpRequest | None = None) -> list[dict[str, Any]]:
    return [group for group in MENU if is_on(group.get("app", ""))]


MENU: list[dict[str, Any]] = [
    {"items": [_page("Overview", "home", "index")]},
    {
        "title": "Feeds",
        "items": [
            _page("Feeds", "rss_feed", "feeds_feed_changelist"),
            _page("Posts", "article", "feeds_item_changelist"),
            _page("Tags", "sell", "feeds_tag_changelist"),
        ],
    },
    {
        "title": "Newsletters",
        "items": [
            _page("Newsletters", "mail", "subscriptions_subscribable_changelist"),
            _page("Letters of your own", "edit_note", "delivery_broadcast_changelist"),
            _page("Subscribers", "group", "subscriptions_destination_changelist"),
            _page("Subscriptions", "how_to_reg", "subscriptions_subscription_changelist"),
            _page("Tags of subscribers", "sell", "subscriptions_subscribertag_changelist"),
            _page("Imports", "upload_file", "subscriptions_listimport_changelist"),
            _page("Collections", "inbox", "subscriptions_assignable_changelist"),
            _page("Do not write", "block", "subscriptions_suppression_changelist"),
        ],
    },
    {
        "title": "Delivery",
        "items": [
            _page("Issues", "newspaper", "delivery_issue_changelist"),
            _page("Deliveries", "outgoing_mail", "delivery_delivery_changelist"),
            _page("Bounces", "undo", "delivery_bounce_changelist"),
            _page("Lanes", "alt_route", "delivery_lane_changelist"),
            _page("Webhooks", "webhook", "delivery_webhook_changelist"),
            {
                **_page("Mail set-up", "outbox", "delivery_account_changelist"),
                "link": reverse_lazy("mail_set_up"),
            },
            _page("Accounts of services", "smart_toy", "delivery_serviceaccount_changelist"),
            _page("DKIM keys", "draw", "delivery_dkimkey_changelist"),
            {
                **_page("Mail check", "fact_check", "delivery_lane_changelist"),
                "link": reverse_lazy("mail_check"),
            },
        ],
    },
    {
        "app": "reader",
        "title": "Reading",
        "collapsible": True,
        "items": [
            _page("Readers", "chrome_reader_mode", "reader_reader_changelist"),
            _page("Invitations", "person_add", "reader_invitation_changelist"),
        ],
    },
    {
        "app": "chat",
        "title": "Discord servers",
        "collapsible": True,
        "items": [
            {
                **_page("Discord bot", "forum", "chat_guild_changelist"),
                "link": reverse_lazy("discord_set_up"),
            },
            _page("Servers", "dns", "chat_guild_changelist"),
            _page("Feeds of servers", "rss_feed", "chat_guildfeed_changelist"),
            _page("Notices to servers", "campaign", "chat_serveralert_changelist"),
        ],
    },
    {
        "title": "People and machinery",
        "collapsible": True,
        "items": [
            _page("Site settings", "storefront", "subscriptions_sitesettings_changelist"),
            _page("Come from another program", "move_to_inbox", "feedletter_site_arrival_changelist"),
            _page("Users", "person", "auth_user_changelist"),
            _page("Groups", "groups", "auth_group_changelist"),
            _page("API tokens", "key", "feedletter_site_apitoken_changelist"),
            _page("Schedule", "schedule", "django_celery_beat_periodictask_changelist"),
            _page("Intervals", "timer", "django_celery_beat_intervalschedule_changelist"),
            _page("Crontabs", "calendar_month", "django_celery_beat_crontabschedule_changelist"),
        ],
    },
]

ADMIN_LOOK = {
    "SITE_TITLE": "Feedletter",
    "SITE_HEADER": "Feedletter",
    "SITE_SYMBOL": "mail",
    "SITE_URL": "/",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("feedletter/favicon.svg")}
    ],
    "SHOW_HISTORY": True,
    "LOGIN": {"form": "feedletter_site.sign_in.setup.LimitedSignInForm"},
    "DASHBOARD_CALLBACK": "feedletter_site.monitoring.dashboard.dashboard",
    "STYLES": [
        lambda request: static("feedletter/admin.css"),
        lambda request: static("feedletter/phone.css"),
    ],
    "SCRIPTS": [
        lambda request: static("feedletter/unsaved.js"),
        lambda request: static("feedletter/admin.js"),
    ],
    # The blue of letters and pages; white on 600 and 600 on white have a contrast above 6.
    "COLORS": {
        "primary": {
            "50": "oklch(97.5% .012 240)",
            "100": "oklch(95% .022 240)",
            "200": "oklch(90% .045 240)",
            "300": "oklch(83% .075 240)",
            "400": "oklch(74% .1 240)",
            "500": "oklch(60% .11 241)",
            "600": "oklch(47% .105 242)",
            "700": "oklch(41% .095 242)",
            "800": "oklch(36% .08 242)",
            "900": "oklch(31% .065 242)",
            "950": "oklch(24% .05 242)",
        }
    },
    "SIDEBAR": {"navigation": navigation},
}
