"""Each wrong setting is refused at the start, in one sentence without its value."""

import os
import runpy
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from feedletter_site import env
from tests import forks
from tests.e2e.processes import clean_environment
from tests.examples import NIGHTLY, some_now

ROOT = Path(__file__).parent.parent.parent
SETTINGS = str(ROOT / "feedletter_site" / "settings.py")
GOOD = {
    "SECRET_KEY": "for-tests-only-" * 4,
    "DATABASE_URL": "sqlite:////tmp/nothing-is-made-here.db",
    "DEFAULT_FROM_EMAIL": "",
}
WRONG = [
    ("SITE_URL", "letters.example.org"),
    ("SITE_URL", "ftp://letters.example.org"),
    ("SITE_URL", "https://"),
    ("SITE_URL", "https://letters.example.org/hunter2"),
    ("SITE_URL", "https://letters.example.org:hunter2"),
    ("SITE_URL", "https://letters.example.org:99999"),
    ("SITE_URL", "https://letters.example.org?hunter2"),
    ("SITE_URL", "https://letters.example.org#hunter2"),
    ("SITE_URL", "https://u:hunter2@letters.example.org"),
    ("SITE_URL", "https://letters example.org"),
    ("SITE_URL", "http://[::1"),
    ("SITE_URL", "https://let\tters.example.org"),
    ("SITE_URL", "https://my_letters.example.org"),
    ("SITE_URL", "https://letters..example.org"),
    ("SITE_URL", "https://-letters.example.org"),
    ("SITE_URL", "https://letters%2eexample.org"),
    ("SITE_URL", "https://\N{SNOWMAN}.example"),
    ("SITE_URL", f"https://{'a' * 64}.example.org"),
    ("ALLOWED_HOSTS", "https://letters.example.org"),
    ("ALLOWED_HOSTS", "\N{SNOWMAN}.example"),
    ("FORMER_HOSTS", "https://old.example.org"),
    ("ALLOWED_HOSTS", "letters.example.org:443"),
    ("ALLOWED_HOSTS", "letters.example.org/path"),
    ("ALLOWED_HOSTS", "letters.example.org other.example.org"),
    ("BIND", "8000"),
    ("BIND", "localhost:"),
    ("BIND", "localhost:²"),
    ("BIND", "127.0.0.1:0"),
    ("BIND", "127.0.0.1:70000"),
    ("DEBUG", "perhaps"),
    ("TIME_ZONE", "Mars/Olympus"),
    ("TIME_ZONE", "/etc/passwd"),
    ("TIME_ZONE", "Europe"),
    ("LOG_FORMAT", "xml"),
    ("CONFIRM_HOURS", "0"),
    ("CONFIRM_HOURS", "-5"),
    ("CONFIRM_HOURS", "two"),
    ("CONFIRM_HOURS", "100000"),
    ("KEEP_DAYS", "0"),
    ("KEEP_DAYS", "1.5"),
    ("POLL_THREADS", "0"),
    ("POLL_THREADS", "many"),
    ("POLL_HOST_REQUESTS", "-1"),
    ("POLL_HOST_GAP", "nan"),
    ("POLL_HOST_GAP", "-1"),
    ("TRUSTED_PROXIES", "10.0.0.0/99"),
    ("TRUSTED_PROXIES", "proxy"),
    ("ALLOW_PRIVATE_NETWORKS", "all"),
    ("DISCORD_API_URL", "discord.com/api/v10"),
    ("DISCORD_API_URL", "https://u:hunter2@discord.com/api/v10"),
    ("TELEGRAM_API_URL", "https://api.telegram.org?hunter2"),
    ("TELEGRAM_API_URL", "ftp://api.telegram.org"),
    ("DNS_SERVERS", "dns.example.org"),
    ("DNS_SERVERS", "9.9.9.9:dns"),
    ("SIGN_UP_LIMITS", "ip=ten/hour"),
    ("SIGN_UP_LIMITS", "moon=10/hour"),
    ("BOUNCE_DOMAIN", "https://bounces.example.org"),
    ("BOUNCE_DOMAIN", "bounces example org"),
    ("BOUNCE_URL", "imaps://user:hunter2@"),
    ("BOUNCE_URL", "imaps://user:hunter2/2@mail.example.org"),
    ("BOUNCE_URL", "https://mail.example.org"),
    ("BOUNCE_URL", "imaps://mail.example.org"),
    ("BOUNCE_URL", "pop3s://user:hunter2@mail.example.org/INBOX"),
    ("EMAIL_URL", "mail.example.org"),
    ("EMAIL_URL", "smtp://user:hunter2/2@mail.example.org"),
    ("EMAIL_URL", "smtp://user:hunter2#@mail.example.org"),
    ("EMAIL_URL", "smtps://user@mail.example.org"),
    ("EMAIL_URL", "smtp://mail.example.org:hunter2"),
    ("EMAIL_URL", "anymail+nobody://hunter2@example.org"),
    ("DEFAULT_FROM_EMAIL", "nobody"),
    ("DEFAULT_FROM_EMAIL", "Letters <letters@>"),
    ("ANYMAIL_WEBHOOK_SECRET", "hunter2"),
    ("CELERY_BROKER_URL", "redis-host:6379"),
    ("CELERY_BROKER_URL", "localhost"),
    ("CELERY_BROKER_URL", "redis://:hunter2/2@host:6379/0"),
    ("CELERY_BROKER_URL", "http://host"),
    ("CELERY_BROKER_URL", "rediss://:hunter2@host/0?ssl_cert_reqs=maybe"),
    ("DATABASE_URL", "mysql://u:hunter2@host/name"),
    ("DATABASE_URL", "postgres://u:hunter2@host"),
    ("DATABASE_URL", "postgres://u:hunter2/2@host/name"),
    ("DATABASE_URL", "postgres://u:hunter2@host:port/name"),
    ("DATABASE_URL", "postgres://u:hunter2@[::1/name"),
    ("DATABASE_URL", "postgres://u:hunter2@host/name?sslmod=require"),
    ("DATABASE_URL", "postgres://u:hunter2@host/name?statement_timeout=soon"),
    ("DATABASE_URL", "sqlite://"),
    ("DATABASE_URL", "sqlite:////proc/hunter2/feedletter.db"),
    ("SECRET_KEY_FILE", "/nowhere/hunter2"),
    ("DATA_DIR", "/proc/nowhere"),
]
CELERY = ["celery", "--quiet", "-A", "feedletter_site"]
PROCESSES = {
    "a command": ["manage.py", "list_feeds"],
    "migrate": ["manage.py", "migrate"],
    "up": ["manage.py", "up"],
    "gunicorn": ["-m", "gunicorn", "feedletter_site.wsgi"],
    "a worker": ["-m", *CELERY, "worker", "-P", "threads", "-Q", "send"],
    "beat": ["-m", *CELERY, "beat"],
}


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_refused_by_its_name_and_never_shown(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in set(os.environ) & {known for known, _ in WRONG}:
        monkeypatch.delenv(variable)
    given = {variable: text for variable, text in GOOD.items() if text} | {name: value}
    if name in {"SECRET_KEY_FILE", "DATA_DIR"}:
        del given["SECRET_KEY"]
    for variable, text in given.items():
        monkeypatch.setenv(variable, text)
    for registry in ("declared", "read"):
        monkeypatch.setattr(env, registry, {})
    with pytest.raises(ImproperlyConfigured) as error:
        runpy.run_path(SETTINGS)
    assert name in str(error.value)
    assert len(str(error.value)) > len(f"{name} is wrong.")
    assert "hunter2" not in str(error.value)
    assert "\n" not in str(error.value)
    # Nor in its cause, in case that is printed.
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


@pytest.mark.slow
@pytest.mark.parametrize("process", some_now(PROCESSES))
@pytest.mark.parametrize(
    "wrong",
    [
        ("DATABASE_URL", "postgres://u:hunter2/2@host/name"),
        pytest.param(("EMAIL_URL", "mail"), marks=NIGHTLY),
    ],
)
def test_every_process_ends_with_one_sentence(process: str, wrong: tuple[str, str], tmp_path: Path) -> None:
    settings = {"DATA_DIR": str(tmp_path), "SECRET_KEY": GOOD["SECRET_KEY"]}
    settings["DATABASE_URL"] = f"sqlite:///{tmp_path}/feedletter.db"
    settings |= {"C_FORCE_ROOT": "1", "BIND": "127.0.0.1:1", wrong[0]: wrong[1]}
    done = forks.run(
        [sys.executable, *PROCESSES[process]],
        cwd=ROOT,
        env=clean_environment(settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr.startswith(f"{wrong[0]} is wrong"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.returncode == 1
    assert done.stdout == ""
