"""The setting UNFOLD."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy
from django.utils.text import format_lazy

from common.optional_apps import is_on

Entry = dict[str, Any]


def _page(title: str, name: str, *, url: str = "", query: str = "", about: str = "") -> Entry:
    """Link to a model's list, for users who may view it. `url`: another page."""
    app, _, model = name.rpartition("_")
    seen = f"{app}.view_{model}"
    link = reverse_lazy(url or f"admin:{name}_changelist")
    return {
        "title": title,
        "about": about,
        "link": format_lazy("{}?{}", link, query) if query else link,
        "model": f"{app}.{model}",
        "permission": lambda request: not app or request.user.has_perm(seen),
    }


def _entry(icon: str, *pages: Entry, title: str = "", app: str = "", **more: Any) -> Entry:
    """Entry of the menu. Its pages are tabs of one another's lists; pages of one title share a tab."""
    return {"title": title or pages[0]["title"], "icon": icon, "app": app, "pages": pages, **more}


def _card(title: str, *pages: Entry, app: str = "") -> Entry:
    """Card of the page Settings."""
    return {"title": title, "app": app, "pages": pages}


def _is_list(of_bridges: bool) -> Callable[[HttpRequest], bool]:
    """Return a function that tells whether the request is for newsletters, or the list of bridges."""

    def is_active(request: HttpRequest) -> bool:
        is_here = request.path.startswith(reverse("admin:subscriptions_subscribable_changelist"))
        return is_here and (request.GET.get("what") == "bridges") is of_bridges

    return is_active


MENU = (
    _entry("home", _page("Overview", "", url="admin:index")),
    _entry(
        "mail",
        _page("Newsletters", "subscriptions_subscribable", query="what=newsletters"),
        active=_is_list(of_bridges=False),
    ),
    _entry(
        "group",
        _page("Subscribers", "subscriptions_destination"),
        _page("Subscriptions", "subscriptions_subscription"),
        _page("Subscribers", "subscriptions_subscribertag"),
        _page("Imports", "subscriptions_listimport"),
        _page("Problems", "subscriptions_suppression"),
        _page("Problems", "delivery_bounce"),
    ),
    _entry(
        "newspaper",
        _page("Issues", "delivery_issue"),
        _page("Issues", "delivery_issueimport"),
        _page("Next issues", "subscriptions_assignable"),
        _page("Emails", "delivery_broadcast"),
        _page("Deliveries", "delivery_delivery"),
    ),
    _entry(
        "rss_feed", _page("Feeds", "feeds_feed"), _page("Posts", "feeds_item"), _page("Feeds", "feeds_tag")
    ),
    _entry(
        "share",
        _page("Bridges", "subscriptions_subscribable", query="what=bridges"),
        active=_is_list(of_bridges=True),
    ),
    _entry(
        "chrome_reader_mode",
        _page("Readers", "reader_reader"),
        _page("Invitations", "reader_invitation"),
        title="Reader",
        app="reader",
    ),
)
SETTINGS_CARDS: tuple[Entry, ...] = (
    _card(
        "Mail",
        _page("Email set-up", "delivery_account", url="mail_set_up", about="How email is sent, and a test."),
        _page(
            "Mail check",
            "delivery_lane",
            url="mail_check",
            about="Whether your domain’s DNS records let email arrive.",
        ),
        _page("DKIM keys", "delivery_dkimkey", about="Keys that sign your email."),
        _page("Lanes", "delivery_lane", about="Limits and pauses of each mail account."),
    ),
    _card(
        "Site",
        _page("Site settings", "subscriptions_sitesettings", about="Name, logo, colour and legal links."),
    ),
    _card(
        "People",
        _page("Team", "auth_user", about="Who can sign in here. Invite somebody."),
        _page("Groups", "auth_group", about="Permissions for several users."),
    ),
    _card(
        "Connections",
        _page("Webhooks", "delivery_webhook", about="Call other programs on events."),
        _page("API tokens", "feedletter_site_apitoken", about="Let other programs in."),
        _page(
            "Accounts of services", "delivery_serviceaccount", about="Bots and apps that bridges post with."
        ),
    ),
    _card(
        "Discord bot",
        _page("Discord bot", "chat_guild", url="discord_set_up", about="Set it up and invite it."),
        _page("Servers", "chat_guild", about="Servers that have the bot."),
        _page("Feeds of servers", "chat_guildfeed", about="What they follow, and where."),
        _page("Notices to servers", "chat_serveralert", about="Problems that servers were notified of."),
        app="chat",
    ),
    _card(
        "System",
        _page(
            "Import from another program", "feedletter_site_arrival", about="Import feeds, lists and servers."
        ),
        _page("Schedule", "django_celery_beat_periodictask", about="What runs, how often."),
        _page("Intervals", "django_celery_beat_intervalschedule", about="To choose in the schedule."),
        _page("Crontabs", "django_celery_beat_crontabschedule", about="Times of day to choose."),
    ),
)


def _allowed(entry: Entry, request: HttpRequest) -> list[Entry]:
    pages = entry["pages"] if is_on(entry.get("app", "")) else ()
    return [page for page in pages if page["permission"](request)]


def settings_cards(request: HttpRequest) -> list[Entry]:
    """Return the cards that the user may see, with their pages."""
    cards = ({**card, "pages": _allowed(card, request)} for card in SETTINGS_CARDS)
    return [card for card in cards if card["pages"]]


def _is_at(request: HttpRequest, page: Entry) -> bool:
    path = str(page["link"]).partition("?")[0]
    is_home = path == reverse("admin:index")
    return request.path == path if is_home else request.path.startswith(path)


def navigation(request: HttpRequest) -> list[Entry]:
    """Return the menu for Unfold: one group of entries, each leading to its first page that is allowed."""
    items = []
    for entry in MENU:
        if pages := _allowed(entry, request):
            active = entry.get("active", any(_is_at(request, page) for page in pages))
            item = {"title": entry["title"], "icon": entry["icon"], "link": pages[0]["link"]}
            items.append({**item, "active": active})
    if cards := settings_cards(request):
        links = [str(page["link"]) for card in cards for page in card["pages"]]
        here = reverse("admin_settings")
        active = request.path == here or request.path.startswith(tuple(links))
        items.append({"title": "Settings", "icon": "settings", "link": here, "active": active})
    return [{"items": items}]


def tabs(request: HttpRequest) -> list[Entry]:
    """Return Unfold's tabs: the pages of an entry, on each of their lists."""
    shown = []
    for entry in MENU:
        pages, items = _allowed(entry, request), dict[str, Entry]()
        for page in pages:
            item = items.setdefault(page["title"], {**page, "active": False})
            item["active"] |= _is_at(request, page)
        if len(items) > 1:
            shown.append({"models": [page["model"] for page in pages], "items": list(items.values())})
    return shown


ADMIN_LOOK = {
    "SITE_TITLE": "Feedletter",
    "SITE_HEADER": "Feedletter",
    "SITE_SYMBOL": "mail",
    "SITE_URL": "/",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("feedletter/favicon.svg")}
    ],
    "SHOW_HISTORY": True,
    "ACCOUNT": {
        "navigation": [
            {"title": "Your account", "link": reverse_lazy("your_account")},
            {"title": "Change password", "link": reverse_lazy("account_change_password")},
            {"title": "Second factor", "link": reverse_lazy("mfa_index")},
        ]
    },
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
    "TABS": tabs,
}
