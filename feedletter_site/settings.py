"""Settings, from the environment only (docs/reference/settings.md). No service needs to run."""

import os
import zoneinfo
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

from django.core.management.utils import get_random_secret_key

from channels.email.account_url import parse_email_url
from channels.email.address import parse_sender
from common.program import IS_CHECKOUT, USUAL_DATA_DIR
from common.rates import parse_limits
from delivery.bounces.account import parse_bounce_url
from feedletter_site import admin_look, env
from feedletter_site.env import parse_broker_url
from subscriptions.rules.limits import USUAL_LIMITS

VERSION = "0.1.0"
BASE_DIR = Path(__file__).resolve().parent.parent
env.section("Database, queue and keys")
DATA_DIR = BASE_DIR / env.text(
    "DATA_DIR",
    str(USUAL_DATA_DIR),
    usual="`var` in a checkout, `~/.local/share/feedletter` with the `feedletter` command",
    expected="a folder",
    help="Folder for the secret key, signs of life and pictures.",
)
# Installed packages are replaced by updates.
_RELATIVE_TO = BASE_DIR if IS_CHECKOUT else DATA_DIR
DATABASES = {
    "default": env.database(
        "DATABASE_URL",
        f"sqlite:///{DATA_DIR}/feedletter.db",
        _RELATIVE_TO,
        usual="`feedletter.db` in `DATA_DIR`",
        help="The database. Parameters: docs/operating/settings.md#databases.",
    )
}
CELERY_BROKER_URL = env.checked(
    "CELERY_BROKER_URL",
    "",
    "empty, redis://host:6379/0 or amqp://host",
    parse_broker_url,
    help="The queue between processes; with TLS `rediss://` or `amqps://`. Empty: embedded in the worker.",
)
CELERY_BROKER_URL, CELERY_BROKER_USE_SSL = parse_broker_url(CELERY_BROKER_URL)
# The broker is in the memory of the only worker.
EMBEDDED = not CELERY_BROKER_URL or CELERY_BROKER_URL.startswith("memory:")


def _secret_key() -> str:
    key = env.text(
        "SECRET_KEY",
        usual="made in `DATA_DIR` when embedded",
        expected="50 or more random characters",
        help='Signs links and encrypts secrets. `python3 -c "import secrets; '
        'print(secrets.token_urlsafe(50))"` makes one.',
    )
    if key:
        return key
    if not EMBEDDED:
        raise env.wrong(
            "SECRET_KEY", "50 or more random characters (only the embedded default makes its own)"
        )
    path = DATA_DIR / "secret_key"
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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
SECRET_KEY_FALLBACKS = env.listing(
    "SECRET_KEY_FALLBACKS",
    expected="keys, separated by commas",
    help="Earlier keys that still work: docs/operating/backup.md#change-the-secret-key.",
)

env.section("Site, network and monitoring")
BIND = env.bind("BIND", "127.0.0.1:8000", help="Where `manage.py up` listens; commands need the same value.")
PROCESSES = env.whole(
    "PROCESSES", 1, most=2, help="Of `manage.py up`, without a queue. 1: pages and work in one. 2: one each."
)
SITE_URL = env.site_url(
    "SITE_URL",
    env.url_of(BIND),
    usual="`http://` and `BIND`",
    help="Public address. All links in emails start with it.",
)
SITE_HOST = urlsplit(SITE_URL).hostname or "localhost"
# Old letters link to these.
FORMER_HOSTS = env.hosts(
    "FORMER_HOSTS",
    help="Earlier host names, answered like `SITE_URL`'s: docs/operating/run.md#change-the-address.",
)
_hosts = env.hosts(
    "ALLOWED_HOSTS",
    usual="`SITE_URL`'s host and this machine",
    help="Host names to answer; others get a 400. Keep `127.0.0.1` for health checks.",
)
ALLOWED_HOSTS = [*(_hosts or [env.host_name(SITE_HOST), "127.0.0.1", "localhost", "[::1]"]), *FORMER_HOSTS]
TRUSTED_PROXIES = env.networks(
    "TRUSTED_PROXIES", help="Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers count."
)
ALLOW_PRIVATE_NETWORKS = env.networks(
    "ALLOW_PRIVATE_NETWORKS", help="Private networks that Feedletter may call, for example to read feeds."
)
TIME_ZONE = env.checked(
    "TIME_ZONE", "UTC", "a zone such as Europe/Berlin", zoneinfo.ZoneInfo, help="Time zone of the admin."
)
METRICS_TOKEN = env.text(
    "METRICS_TOKEN", help="Lets other machines read `/metrics`: docs/operating/watch.md#prometheus."
)
LOG_FORMAT = env.one_of(
    "LOG_FORMAT",
    "console" if EMBEDDED else "json",
    {"console", "json"},
    usual="`console` when embedded, else `json`",
    help="`json` writes one object a line.",
)
DEBUG = env.flag("DEBUG", help="Show errors with their context. Never on a public server.")

env.section("Email")
EMAIL_URL = env.said(
    "EMAIL_URL",
    "mailbox:" if EMBEDDED else "",
    lambda url: url and parse_email_url(url),
    usual="`mailbox:` when embedded",
    expected="a mail account: docs/sending.md#mail-accounts",
    help="How email is sent. Overrides the admin's Email set-up; `mailbox:` keeps emails in `/mailbox/`.",
)
# An IPv6 address is no domain.
SENDER_HOST = "localhost" if ":" in SITE_HOST else SITE_HOST
DEFAULT_FROM_EMAIL = env.checked(
    "DEFAULT_FROM_EMAIL",
    f"Feedletter <letters@{SENDER_HOST}>",
    "Name <letters@example.org>",
    parse_sender,
    usual="the default mail account's sender, else `Feedletter <letters@…>` with `SITE_URL`'s host",
    help="Sender for newsletters without one.",
)
BOUNCE_DOMAIN = env.checked(
    "BOUNCE_DOMAIN",
    "",
    "a domain such as bounces.example.org",
    env.domain,
    help="Domain of return addresses, and of readers’ email addresses: docs/sending.md#bounces.",
)
BOUNCE_URL = env.said(
    "BOUNCE_URL",
    "",
    parse_bounce_url,
    expected="imaps://user:password@host/INBOX, pop3s://user:password@host or maildir:///path",
    help="Mailbox from which bounces are read.",
)
DNS_SERVERS = env.name_servers(
    "DNS_SERVERS", usual="the system's", help="Name servers for the mail check: docs/sending.md#mail-check."
)
ANYMAIL_WEBHOOK_SECRET = env.checked(
    "ANYMAIL_WEBHOOK_SECRET",
    "",
    "name:password",
    env.pair,
    help="Login for webhooks of mail services, which are off without it: docs/sending.md#webhooks.",
)

env.section("Feeds")
POLL_THREADS = env.whole("POLL_THREADS", 8, help="Feeds that a worker reads at once.")
POLL_HOST_REQUESTS = env.whole("POLL_HOST_REQUESTS", 2, help="Requests to one host at once, by all workers.")
POLL_HOST_GAP = float(
    env.checked(
        "POLL_HOST_GAP",
        "1",
        "a number of seconds, 0 or more",
        env.seconds,
        help="Seconds between two requests to a host.",
    )
)

env.section("Subscribers and data")
CONFIRM_HOURS = env.whole("CONFIRM_HOURS", 48, most=8760, help="Hours until a confirmation link expires.")
SIGN_UP_LIMITS = env.checked(
    "SIGN_UP_LIMITS",
    USUAL_LIMITS,
    "limits such as ip=10/hour, ip=30/day, address=10/day",
    lambda text: parse_limits(text, USUAL_LIMITS),
    help="How many sign-ups may cause an email: docs/operating/run.md#sign-up-limits.",
)
BACKUP_DIR = env.text(
    "BACKUP_DIR",
    expected="a folder",
    help="Folder for nightly copies of the database, kept for BACKUP_KEEP_DAYS. Empty: none.",
)
BACKUP_DIR = BACKUP_DIR and str(_RELATIVE_TO / BACKUP_DIR)
BACKUP_KEEP_DAYS = env.whole("BACKUP_KEEP_DAYS", 30, most=36_500, help="Days until copies are deleted.")
KEEP_DAYS = env.whole(
    "KEEP_DAYS",
    90,
    most=36_500,
    help="Days until sent texts and failed attempts are deleted: docs/sending.md#data-retention.",
)
HOOK_MODULES = env.listing(
    "HOOK_MODULES",
    expected="Python modules, separated by commas",
    help="Modules that newsletters may load, with all modules below them: docs/hooks.md.",
)
UPSTREAM_SALT = env.text(
    "UPSTREAM_SALT",
    help="`feedletter.secret.salt` of the Scala feedletter, whose links then work here: "
    "docs/operating/upgrade.md#from-the-scala-feedletter.",
)

env.section("Discord and Telegram")
# The bot is off unless all three are set.
DISCORD_APPLICATION_ID = env.checked(
    "DISCORD_APPLICATION_ID",
    "",
    "a number of about 18 digits, from Discord's portal",
    env.snowflake,
    help="The bot's application ID. Empty: the bot is off. See docs/discord-bot.md.",
)
DISCORD_PUBLIC_KEY = env.checked(
    "DISCORD_PUBLIC_KEY",
    "",
    "64 of the characters 0-9 and a-f, from Discord's portal",
    env.hex_key,
    help="The application's public key.",
)
DISCORD_BOT_TOKEN = env.text("DISCORD_BOT_TOKEN", help="The bot's token. The bot needs all three.")
# A proxy or a compatible server may replace these.
DISCORD_API_URL = env.service_url(
    "DISCORD_API_URL", "https://discord.com/api/v10", help="Discord's API, for a proxy."
)
DISCORD_URL = env.service_url("DISCORD_URL", "https://discord.com", help="Start of links to Discord.")
TELEGRAM_API_URL = env.service_url(
    "TELEGRAM_API_URL",
    "https://api.telegram.org",
    help="Bot API server, which gets the tokens. `http://` only within `ALLOW_PRIVATE_NETWORKS`.",
)

env.section("Sign-in by OpenID Connect")
OIDC_URL = env.checked(
    "OIDC_URL",
    "",
    "an address such as https://id.example.org/realms/main",
    env.web_address,
    help="The provider, whose `/.well-known/openid-configuration` is read. Empty: none. "
    "See docs/operating/run.md#openid-connect.",
).rstrip("/")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID", help="The client that you registered there.")
OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_SECRET", help="Its secret.")
OIDC_NAME = env.text("OIDC_NAME", "OpenID Connect", help="Its name on the button of the sign-in page.")
OIDC_GROUP = env.text("OIDC_GROUP", help="Admit only people whose claim `groups` has this one.")

env.section("Reading feeds here")
READER = env.one_of(
    "READER",
    "invited",
    {"off", "staff", "invited", "open"},
    help="Who may read feeds here: docs/operating/run.md#people-who-read-here.",
)
READER_MAX_FEEDS = env.whole(
    "READER_MAX_FEEDS", 1000, help="Feeds that a person may follow, unless set for them."
)
READER_KEEP_READ_DAYS = env.whole(
    "READER_KEEP_READ_DAYS",
    60,
    most=36_500,
    help="Days until read posts are deleted, unless the channel sets it.",
)
READER_KEEP_UNREAD_DAYS = env.whole(
    "READER_KEEP_UNREAD_DAYS",
    180,
    most=36_500,
    help="Days until unread posts are deleted, unless the channel sets it.",
)
READER_STREAMS = env.whole(
    "READER_STREAMS",
    2,
    least=0,
    help="Open event streams per web process. Each uses one of eight threads. 0: programs must poll.",
)
MEDIA_CACHE_MB = env.whole("MEDIA_CACHE_MB", 500, help="Megabytes of pictures kept in `DATA_DIR`/media.")

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
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "rest_framework",
    "drf_spectacular",
    "django_celery_beat",
    "common",
    "feeds",
    "subscriptions",
    "delivery",
    "fediverse",
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
    "feedletter_site.middleware.AccountPolicyMiddleware",
    "feedletter_site.middleware.KnownBrowserMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "feedletter_site.middleware.LanguageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "feedletter_site.team.access.NewslettersOnlyMiddleware",
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
                "subscriptions.branding.brands.for_pages",
                "common.program.for_pages",
            ],
            "builtins": ["common.formats.dates", "common.admin.html"],
        },
    }
]
LETTER_TEMPLATES_DIR = BASE_DIR / "templates" / "letters"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "feedletter_site.sign_in.forms.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Of readers' pages and mails (docs/customising.md). Admin and API are English.
LANGUAGES = [
    ("en", "English"),
    ("en-gb", "English (UK)"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("pt", "Português (Portugal)"),
    ("pt-br", "Português (Brasil)"),
]
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "common.formats"
USE_I18N = True
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "static-root"
# Before Unfold's: an icon font of the icons that are used, no fonts for text, no library for charts.
STATICFILES_DIRS = [BASE_DIR / "feedletter_site/unfold_static"]
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
    "default": {"BACKEND": "common.caching.SteadyRedisCache", "LOCATION": CELERY_BROKER_URL, "VERSION": 3}
    if CELERY_BROKER_URL.startswith("redis")
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
}

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "feedletter_site.team.access.RoleBackend",
]
LOGIN_URL = "account_login"
PASSWORD_RESET_TIMEOUT = 3600
_ACCOUNTS = "feedletter_site.sign_in"
ACCOUNT_ADAPTER = f"{_ACCOUNTS}.adapters.AccountAdapter"
ACCOUNT_FORMS = {
    "login": f"{_ACCOUNTS}.forms.SignInForm",
    "reset_password": f"{_ACCOUNTS}.forms.ResetForm",
    "reset_password_from_key": f"{_ACCOUNTS}.forms.NewPasswordForm",
    "change_password": f"{_ACCOUNTS}.forms.ChangePasswordForm",
    "set_password": f"{_ACCOUNTS}.forms.FirstPasswordForm",
    "reauthenticate": f"{_ACCOUNTS}.forms.ConfirmForm",
}
ACCOUNT_DEFAULT_HTTP_PROTOCOL = urlsplit(SITE_URL).scheme
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "django.contrib.auth.tokens.PasswordResetTokenGenerator"  # noqa: S105
# Limited in rows, by `networks_of` (feedletter_site.services.password_limits).
ACCOUNT_RATE_LIMITS = {"login": None, "reset_password": None, "login_failed": None}
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_SIGNUP_ENABLED = False
MFA_ADAPTER = f"{_ACCOUNTS}.adapters.SecondFactorAdapter"
MFA_FORMS = {
    "authenticate": f"{_ACCOUNTS}.forms.CodeForm",
    "reauthenticate": f"{_ACCOUNTS}.forms.CodeAgainForm",
    "activate_totp": f"{_ACCOUNTS}.forms.AppForm",
    "add_webauthn": f"{_ACCOUNTS}.forms.PasskeyForm",
    "edit_webauthn": f"{_ACCOUNTS}.forms.PasskeyNameForm",
}
# No address here is verified.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_SUPPORTED_TYPES = ["recovery_codes", "totp", "webauthn"]
MFA_TOTP_TOLERANCE = 1
SOCIALACCOUNT_ADAPTER = f"{_ACCOUNTS}.openid.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "oidc",
                "name": OIDC_NAME,
                "client_id": OIDC_CLIENT_ID,
                "secret": OIDC_CLIENT_SECRET,
                "settings": {"server_url": OIDC_URL},
            }
        ]
        if OIDC_URL
        else [],
    }
}

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
    "DEFAULT_THROTTLE_CLASSES": ["common.api.permissions.Throttle"],
    "DEFAULT_PARSER_CLASSES": ["common.api.fields.JsonParser"],
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
        "Weekday": "subscriptions.api.bodies.WEEKDAY_NAMES",
    },
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "delivery.api.serializers.describe_webhooks",
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
    task: {"queue": queue}
    for queue, tasks in {
        "poll": "feeds.poll feeds.pushes feeds.hubs feeds.prune feeds.audience feeds.pages",
        "assign": "subscriptions.assign subscriptions.expire subscriptions.forget subscriptions.lists "
        "delivery.old_issues feedletter_site.migrate_from",
        "complete": "delivery.complete",
        "send": "delivery.send",
        "reap": "delivery.reap delivery.alert delivery.prune feedletter_site.figures feedletter_site.backup",
        "bounces": "delivery.bounces",
        "webhooks": "delivery.webhooks fediverse.exchange fediverse.tidy",
        # So that letters never wait for placing posts in channels.
        "reader": "reader.place reader.lists reader.filters reader.mentions reader.compose reader.prune",
        "chat": "chat.answer chat.notify chat.tidy",
    }.items()
    for task in tasks.split()
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
