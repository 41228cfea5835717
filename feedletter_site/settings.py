"""Settings, from the environment only (docs/operating/settings.md). No service needs to run."""

import os
import zoneinfo
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

from django.core.management.utils import get_random_secret_key

from channels.email.account_url import parse_email_url
from channels.email.address import parse_sender
from common.rates import parse_limits
from delivery.bounces.account import parse_bounce_url
from feedletter_site import admin_look, env
from feedletter_site.broker_url import parse_broker_url
from subscriptions.rules.limits import USUAL_LIMITS

VERSION = "0.1.0.dev0"  # as in pyproject.toml
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = BASE_DIR / env.text("DATA_DIR", "var")

DATABASES = {"default": env.database("DATABASE_URL", f"sqlite:///{DATA_DIR}/feedletter.db", BASE_DIR)}
CELERY_BROKER_URL = env.checked(
    "CELERY_BROKER_URL",
    "",
    "empty, redis://host:6379/0 or amqp://host",
    parse_broker_url,
)
CELERY_BROKER_URL, CELERY_BROKER_USE_SSL = parse_broker_url(CELERY_BROKER_URL)
# The broker is in the memory of the only worker.
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
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=path.parent, prefix="secret_key.") as fresh:
                fresh.write(get_random_secret_key().encode("ascii"))
                fresh.flush()
                # Processes that start together read the key of the first.
                with suppress(FileExistsError):
                    os.link(fresh.name, path)
        return path.read_text(encoding="utf-8-sig").strip()
    except ValueError:
        raise env.wrong("DATA_DIR", f"UTF-8 text in {path}") from None
    except OSError as error:
        raise env.wrong("DATA_DIR", f"a folder for our files ({error.strerror}: {path})") from None


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env.listing("SECRET_KEY_FALLBACKS")
DEBUG = env.flag("DEBUG")
BIND = env.bind("BIND", "127.0.0.1:8000")
SITE_URL = env.site_url("SITE_URL", "http://127.0.0.1:8000")
SITE_HOST = urlsplit(SITE_URL).hostname or "localhost"
# Old letters link to these.
FORMER_HOSTS = env.hosts("FORMER_HOSTS")
ALLOWED_HOSTS = [
    *(env.hosts("ALLOWED_HOSTS") or [env.host_name(SITE_HOST), "127.0.0.1", "localhost", "[::1]"]),
    *FORMER_HOSTS,
]
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")
ALLOW_PRIVATE_NETWORKS = env.networks("ALLOW_PRIVATE_NETWORKS")
METRICS_TOKEN = env.text("METRICS_TOKEN")
LOG_FORMAT = env.one_of("LOG_FORMAT", "console" if EMBEDDED else "json", {"console", "json"})
# Requests per worker and per host; seconds between two requests to a host.
POLL_THREADS = int(env.checked("POLL_THREADS", "8", "a whole number, 1 or more", env.positive))
POLL_HOST_REQUESTS = int(env.checked("POLL_HOST_REQUESTS", "2", "a whole number, 1 or more", env.positive))
POLL_HOST_GAP = float(env.checked("POLL_HOST_GAP", "1", "a number of seconds, 0 or more", env.seconds))
KEEP_DAYS = int(env.checked("KEEP_DAYS", "90", "a whole number of days, 1 or more", env.days))
READER = env.one_of("READER", "invited", {"off", "staff", "invited", "open"})
READER_MAX_FEEDS = int(env.checked("READER_MAX_FEEDS", "1000", "a whole number, 1 or more", env.positive))
READER_KEEP_READ_DAYS = int(
    env.checked("READER_KEEP_READ_DAYS", "60", "a whole number of days, 1 or more", env.days)
)
READER_KEEP_UNREAD_DAYS = int(
    env.checked("READER_KEEP_UNREAD_DAYS", "180", "a whole number of days, 1 or more", env.days)
)
# Each occupies one of a web process's eight threads.
READER_STREAMS = int(env.checked("READER_STREAMS", "2", "a whole number, 0 or more", env.number))
MEDIA_CACHE_MB = int(env.checked("MEDIA_CACHE_MB", "500", "a whole number, 1 or more", env.positive))
CONFIRM_HOURS = int(env.checked("CONFIRM_HOURS", "48", "a whole number of hours, 1 or more", env.hours))
# `feedletter.secret.salt` of the Scala feedletter, whose links still work.
UPSTREAM_SALT = env.text("UPSTREAM_SALT")
SIGN_UP_LIMITS = env.checked(
    "SIGN_UP_LIMITS",
    "",
    "limits such as ip=10/hour, ip=30/day, address=10/day",
    lambda text: parse_limits(text, USUAL_LIMITS),
)
# Nothing else is loaded (docs/hooks.md).
HOOK_MODULES = env.listing("HOOK_MODULES")

# A proxy or a compatible server may replace these.
DISCORD_API_URL = env.service_url("DISCORD_API_URL", "https://discord.com/api/v10")
# For links; the demo serves a Discord itself.
DISCORD_URL = env.service_url("DISCORD_URL", "https://discord.com")
# Bot (docs/discord-bot.md), off unless all three are set.
DISCORD_APPLICATION_ID = env.checked(
    "DISCORD_APPLICATION_ID", "", "a number of about 18 digits, from Discord's portal", env.snowflake
)
DISCORD_PUBLIC_KEY = env.checked(
    "DISCORD_PUBLIC_KEY", "", "64 of the characters 0-9 and a-f, from Discord's portal", env.hex_key
)
DISCORD_BOT_TOKEN = env.text("DISCORD_BOT_TOKEN")
TELEGRAM_API_URL = env.service_url("TELEGRAM_API_URL", "https://api.telegram.org")

# `mailbox:` keeps letters in /mailbox/ instead of sending them.
EMAIL_URL = env.said("EMAIL_URL", "mailbox:" if EMBEDDED else "", lambda url: url and parse_email_url(url))
BOUNCE_DOMAIN = env.checked("BOUNCE_DOMAIN", "", "a domain such as bounces.example.org", env.domain)
BOUNCE_URL = env.said("BOUNCE_URL", "", parse_bounce_url)
# For the mail check.
DNS_SERVERS = env.name_servers("DNS_SERVERS")
ANYMAIL_WEBHOOK_SECRET = env.checked("ANYMAIL_WEBHOOK_SECRET", "", "name:password", env.pair)
# An IPv6 address is no domain.
SENDER_HOST = "localhost" if ":" in SITE_HOST else SITE_HOST
DEFAULT_FROM_EMAIL = env.checked(
    "DEFAULT_FROM_EMAIL", f"Feedletter <letters@{SENDER_HOST}>", "Name <letters@example.org>", parse_sender
)

INSTALLED_APPS = [
    "unfold",
    # Loaded by feedletter_site.urls, because a worker needs no pages.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "django_celery_beat",
    "common",
    "feeds",
    "subscriptions",
    "delivery",
    "chat",
    "reader",
    "feedletter_site",
    "demo",
]

MIDDLEWARE = [
    "feedletter_site.middleware.HeadMiddleware",
    "feedletter_site.middleware.ProxyMiddleware",
    "feedletter_site.middleware.HostMiddleware",
    "feedletter_site.middleware.BodyLimitMiddleware",
    "feedletter_site.middleware.WebSlotMiddleware",
    "feedletter_site.middleware.AdminPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "feedletter_site.middleware.LanguageMiddleware",
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
                "subscriptions.branding.site.for_pages",
            ],
            "builtins": ["common.formats.dates"],
        },
    },
]
LETTER_TEMPLATES_DIR = BASE_DIR / "templates" / "letters"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# Of readers' pages and mails (docs/customising.md). Admin and API are English.
LANGUAGES = [
    ("en", "English"),
    ("en-gb", "English (UK)"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("pt", "Português"),
]
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "common.formats"
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.checked("TIME_ZONE", "UTC", "a zone such as Europe/Berlin", zoneinfo.ZoneInfo)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# `dumpdata` moves databases (docs/operating/scale.md).
SERIALIZATION_MODULES = {"json": "common.dumps.json", "jsonl": "common.dumps.jsonl"}

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static-root"
# Images run collectstatic, clones do not.
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
    # Increase VERSION when cached values change: the previous release runs in parallel.
    "default": {"BACKEND": "common.caching.SteadyRedisCache", "LOCATION": CELERY_BROKER_URL, "VERSION": 2}
    if CELERY_BROKER_URL.startswith("redis")
    else {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "/admin/"
PASSWORD_RESET_TIMEOUT = 3600

# Only views that declare it accept files (feedletter_site.middleware).
FILE_UPLOAD_HANDLERS: list[str] = []
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https:")
CSRF_TRUSTED_ORIGINS = [SITE_URL]
# HSTS (RFC 6797).
SECURE_HSTS_SECONDS = 365 * 86_400 if SITE_URL.startswith("https:") else 0

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
    # `api` is per token and person, `api_anonymous` per address.
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
        "Weekday": "subscriptions.api.serializers.WEEKDAY_NAMES",
    },
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "delivery.api.webhooks.describe_webhooks",
    ],
}

CELERY_TASK_IGNORE_RESULT = True
# The next tick follows, and the database is the queue.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Also a broker that refuses the login or is read-only.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_BEAT_SCHEDULER = "feedletter_site.ticks.scheduler:Scheduler"
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
    # So that letters never wait for placing posts in channels.
    "reader.place": {"queue": "reader"},
    "reader.lists": {"queue": "reader"},
    "reader.filters": {"queue": "reader"},
    "reader.mentions": {"queue": "reader"},
    "reader.compose": {"queue": "reader"},
    "reader.prune": {"queue": "reader"},
    # Rare and short.
    "feeds.pushes": {"queue": "poll"},
    "feeds.hubs": {"queue": "poll"},
    "feeds.prune": {"queue": "poll"},
    "feeds.audience": {"queue": "poll"},
    "subscriptions.expire": {"queue": "assign"},
    "subscriptions.forget": {"queue": "assign"},
    "subscriptions.lists": {"queue": "assign"},
    "delivery.alert": {"queue": "reap"},
    "delivery.prune": {"queue": "reap"},
    "feedletter_site.figures": {"queue": "reap"},
    "feedletter_site.migrate_from": {"queue": "assign"},
    "chat.answer": {"queue": "chat"},
    "chat.notify": {"queue": "chat"},
    "chat.tidy": {"queue": "chat"},
}
if CELERY_BROKER_URL.startswith("redis"):
    # Otherwise beat would hang for ever when the host of Redis vanishes. Ticks are not restored, as kombu 5.7
    # fails over a connection that is gone.
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, float] = {
        "ack_emulation": False,
        "socket_connect_timeout": 5,
        "socket_timeout": 5,
        "socket_keepalive": True,
    }
if EMBEDDED:
    CELERY_BROKER_URL = "memory://localhost"
    # Seconds that a tick waits at most. 0.1 costs 0.2 % of a core; kombu's second would delay every stage.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.1}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "feedletter_site.logs.JsonFormatter"},
        "console": {
            "()": "feedletter_site.logs.MaskingFormatter",
            "format": "%(asctime)s %(levelname)-7s %(name)s: %(message)s",
        },
    },
    "filters": {
        "one line": {"()": "feedletter_site.logs.OneLine"},
        "outage in one line": {"()": "feedletter_site.logs.OutageInOneLine"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "INFO" if not DEBUG else "DEBUG"},
    "loggers": {
        "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "celery": {"level": "WARNING"},
        # At DEBUG some of these log secrets.
        **{
            library: {"level": "WARNING"}
            for library in ("apprise", "botocore", "mastodon", "oauthlib", "requests_oauthlib", "urllib3")
        },
        "django_celery_beat": {"level": "WARNING"},
        "celery.app.trace": {"filters": ["outage in one line"]},
        # Unknown ticks of a newer release, and a broker that is away.
        "celery.worker.consumer.consumer": {"filters": ["one line"]},
        # Beat logs every second while the database is unreachable.
        "django_celery_beat.schedulers": {"filters": ["one line"]},
        # Logs each detector, with tracebacks for unreadable mail.
        "flufl.bounce": {"level": "CRITICAL"},
    },
}

# Mail settings among them override the admin's.
GIVEN = frozenset(name for name, (value, origin) in env.read.items() if value and origin != "default")

UNFOLD = admin_look.ADMIN_LOOK
