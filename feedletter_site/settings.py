"""Settings, all from the environment (names: docs/operating.md). Nothing here needs a running service."""

import zoneinfo
from pathlib import Path
from urllib.parse import urlsplit

from django.core.management.utils import get_random_secret_key
from django.templatetags.static import static
from django.urls import reverse_lazy

from feedletter_site import env
from subscriptions.rules.limits import parse_limits

VERSION = "0.1.0.dev0"  # as in pyproject.toml
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = BASE_DIR / env.text("DATA_DIR", "var")

DATABASES = {"default": env.database("DATABASE_URL", f"sqlite:///{DATA_DIR}/feedletter.db", BASE_DIR)}
CELERY_BROKER_URL = env.checked(
    "CELERY_BROKER_URL",
    "",
    "empty, redis://host:6379/0 or amqp://host",
    lambda url: {"": 0, "redis": 0, "rediss": 0, "amqp": 0, "amqps": 0, "memory": 0}[urlsplit(url).scheme],
)
# Embedded: one small box, no server to install. The broker lives in the memory of the one worker.
EMBEDDED = not CELERY_BROKER_URL or CELERY_BROKER_URL.startswith("memory:")


def _secret_key() -> str:
    key = env.text("SECRET_KEY")
    if key:
        return key
    if not EMBEDDED:
        raise env.wrong(
            "SECRET_KEY", "50 or more random characters (only the embedded default makes its own)"
        )
    path = DATA_DIR / "secret_key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(get_random_secret_key(), encoding="ascii")
        fresh.replace(path)
    return path.read_text(encoding="ascii").strip()


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env.listing("SECRET_KEY_FALLBACKS")
DEBUG = env.flag("DEBUG")
BIND = env.bind("BIND", "127.0.0.1:8000")
SITE_URL = env.site_url("SITE_URL", "http://127.0.0.1:8000")
SITE_HOST = urlsplit(SITE_URL).hostname or "localhost"
ALLOWED_HOSTS = env.listing("ALLOWED_HOSTS") or [SITE_HOST, "127.0.0.1", "localhost", "[::1]"]
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")
ALLOW_PRIVATE_NETWORKS = env.networks("ALLOW_PRIVATE_NETWORKS")
METRICS_TOKEN = env.text("METRICS_TOKEN")
LOG_FORMAT = env.one_of("LOG_FORMAT", "console" if EMBEDDED else "json", {"console", "json"})
# Reading feeds: requests at a time in each worker, and of one host; seconds between two to one host.
POLL_THREADS = int(env.checked("POLL_THREADS", "8", "a whole number, 1 or more", env.positive))
POLL_HOST_REQUESTS = int(env.checked("POLL_HOST_REQUESTS", "2", "a whole number, 1 or more", env.positive))
POLL_HOST_GAP = float(env.checked("POLL_HOST_GAP", "1", "a number of seconds, 0 or more", env.seconds))
KEEP_DAYS = int(env.checked("KEEP_DAYS", "90", "a whole number of days, 1 or more", env.days))
CONFIRM_HOURS = int(env.checked("CONFIRM_HOURS", "48", "a whole number of hours", int))
# The secret (`feedletter.secret.salt`) with which the Scala feedletter proved its links, to honour them here.
UPSTREAM_SALT = env.text("UPSTREAM_SALT")
# How many mails sign-ups may cause (docs/operating.md); what is not named has its usual limit.
SIGN_UP_LIMITS = env.checked(
    "SIGN_UP_LIMITS", "", "limits such as ip=10/hour, ip=30/day, address=10/day", parse_limits
)
# Python modules with an operator's own code for newsletters (docs/hooks.md); no other is ever loaded.
HOOK_MODULES = env.listing("HOOK_MODULES")

# Mail. `mailbox:` keeps letters for /mailbox/ instead of sending them.
EMAIL_URL = env.text("EMAIL_URL", "mailbox:" if EMBEDDED else "")
BOUNCE_DOMAIN = env.checked("BOUNCE_DOMAIN", "", "a domain such as bounces.example.org", env.domain)
BOUNCE_URL = env.text("BOUNCE_URL")
# Whom the mail check asks instead of the system's name servers.
DNS_SERVERS = env.name_servers("DNS_SERVERS")
ANYMAIL_WEBHOOK_SECRET = env.checked("ANYMAIL_WEBHOOK_SECRET", "", "name:password", env.pair)
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", f"Feedletter <letters@{SITE_HOST}>")

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "django_celery_beat",
    "feeds",
    "subscriptions",
    "delivery",
    "feedletter_site",
]

MIDDLEWARE = [
    "feedletter_site.middleware.ProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "feedletter_site.languages.LanguageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "feedletter_site.urls"
WSGI_APPLICATION = "feedletter_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
LETTER_TEMPLATES_DIR = BASE_DIR / "templates" / "letters"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# What readers' pages and mails speak, each by its own name (locale/; docs/customising.md). Admin and API
# speak English.
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("pt", "Português"),
]
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.checked("TIME_ZONE", "UTC", "a zone such as Europe/Berlin", zoneinfo.ZoneInfo)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static-root"
# An image is built with collectstatic; a clone is served straight from the packages.
_COLLECTED = (STATIC_ROOT / "staticfiles.json").exists()
WHITENOISE_USE_FINDERS = not _COLLECTED
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if _COLLECTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# Rate limits must hold across processes; without Redis there is one web process.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": CELERY_BROKER_URL}
    if CELERY_BROKER_URL.startswith("redis")
    else {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

LOGIN_REDIRECT_URL = "/admin/"

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https:")
CSRF_TRUSTED_ORIGINS = [SITE_URL]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "feedletter_site.api.authentication.TokenAuthentication",
        "feedletter_site.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["common.api.permissions.MayUse"],
    "DEFAULT_THROTTLE_CLASSES": ["common.api.throttling.Throttle"],
    "DEFAULT_PARSER_CLASSES": ["common.api.bodies.JsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "common.api.schema.Schema",
    "EXCEPTION_HANDLER": "common.api.problems.handler",
    "URL_FORMAT_OVERRIDE": None,
    # `api` is for each token and each person, `api_anonymous` for each address that has shown neither.
    "DEFAULT_THROTTLE_RATES": {"api": "600/minute", "api_anonymous": "60/minute", "subscribe": "30/hour"},
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Feedletter",
    "VERSION": "1",
    "DESCRIPTION": "Feeds, newsletters, subscribers, issues and deliveries. In words: docs/api.md.",
    "OAS_VERSION": "3.1.0",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "IssueState": "delivery.rules.progress.STATES",
        "DeliveryState": "delivery.models.Delivery.State",
    },
    "SERVE_INCLUDE_SCHEMA": False,
}

CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
CELERY_TIMEZONE = "UTC"
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    f"{app}.{stage}": {"queue": stage}
    for app, stage in (
        ("feeds", "poll"),
        ("subscriptions", "assign"),
        ("delivery", "complete"),
        ("delivery", "send"),
        ("delivery", "reap"),
        ("delivery", "bounces"),
        ("delivery", "webhooks"),
    )
} | {
    # Seldom and short, beside the stage they serve.
    "feeds.hubs": {"queue": "poll"},
    "feeds.prune": {"queue": "poll"},
    "subscriptions.expire": {"queue": "assign"},
    "subscriptions.forget": {"queue": "assign"},
    "subscriptions.lists": {"queue": "assign"},
    "delivery.alert": {"queue": "reap"},
    "delivery.prune": {"queue": "reap"},
}
if EMBEDDED:
    CELERY_BROKER_URL = "memory://localhost"
    # kombu's in-memory transport looks once a second unless told otherwise.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.05}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "feedletter_site.logs.JsonFormatter"},
        "console": {"format": "%(asctime)s %(levelname)-7s %(name)s: %(message)s"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "INFO" if not DEBUG else "DEBUG"},
    "loggers": {
        "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "celery": {"level": "WARNING"},
        "urllib3": {"level": "WARNING"},
        "django_celery_beat": {"level": "WARNING"},
        # Tells of every detector it tries, with a traceback for mail that it cannot read.
        "flufl.bounce": {"level": "CRITICAL"},
    },
}


def _page(title: str, icon: str, name: str) -> dict[str, object]:
    """A line of the admin's menu, for those who may see that page."""
    app, _, model = name.removesuffix("_changelist").rpartition("_")
    seen = f"{app}.view_{model}"
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{name}"),
        "permission": lambda request: not app or request.user.has_perm(seen),
    }


UNFOLD = {
    "SITE_TITLE": "Feedletter",
    "SITE_HEADER": "Feedletter",
    "SITE_SYMBOL": "mail",
    "SITE_URL": "/",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("feedletter/favicon.svg")}
    ],
    "SHOW_HISTORY": True,
    "DASHBOARD_CALLBACK": "feedletter_site.dashboard.dashboard",
    "STYLES": [lambda request: static("feedletter/admin.css")],
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
    "SIDEBAR": {
        "navigation": [
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
                    _page("Newsletters and bridges", "mail", "subscriptions_subscribable_changelist"),
                    _page("Subscribers", "group", "subscriptions_subscription_changelist"),
                    _page("Imports", "upload_file", "subscriptions_listimport_changelist"),
                    _page("Collections", "inbox", "subscriptions_assignable_changelist"),
                    _page("Addresses", "alternate_email", "subscriptions_destination_changelist"),
                    _page("Not to be written to", "block", "subscriptions_suppression_changelist"),
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
                    _page("Mail accounts", "outbox", "delivery_account_changelist"),
                    _page("DKIM keys", "draw", "delivery_dkimkey_changelist"),
                    {
                        **_page("Mail check", "fact_check", "delivery_lane_changelist"),
                        "link": reverse_lazy("mail_check"),
                    },
                ],
            },
            {
                "title": "People and machinery",
                "collapsible": True,
                "items": [
                    _page("Users", "person", "auth_user_changelist"),
                    _page("Groups", "groups", "auth_group_changelist"),
                    _page("API tokens", "key", "feedletter_site_apitoken_changelist"),
                    _page("Stages", "schedule", "django_celery_beat_periodictask_changelist"),
                    _page("Intervals", "timer", "django_celery_beat_intervalschedule_changelist"),
                    _page("Crontabs", "calendar_month", "django_celery_beat_crontabschedule_changelist"),
                ],
            },
        ],
    },
}
