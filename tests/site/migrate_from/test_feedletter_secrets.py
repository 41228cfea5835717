"""feedletter's secrets and settings: read, written to a private file, never printed.

The guide for people who move from feedletter names all that they know.
"""

import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from migrate_from.feedletter.environment import as_file, email_url, environment
from migrate_from.secret_files import read_properties
from tests.site.migrate_from.feedletter_dump import SALT, dump, run, site

PAGE = (Path(__file__).parents[3] / "docs" / "coming-from" / "feedletter.md").read_text()
COMMANDS = {
    *("add-feed", "alter-feed", "daemon", "db-dump", "db-init", "db-migrate", "define-bluesky-subscribable"),
    *("define-email-subscribable", "define-mastodon-subscribable", "drop-feed-and-subscribables"),
    *("drop-subscribable", "edit-subscribable", "export-subscribers", "generate-starter-untemplates"),
    *("list-config", "list-feeds", "list-items-excluded", "list-subscribables", "list-subscribers"),
    *("list-untemplates", "send-test-email", "set-config", "set-extra-params", "set-untemplates"),
    "feedletter subscribe",
}
SETTINGS = {
    *("bluesky-max-retries", "confirm-hours", "dump-db-dir", "mail-batch-size", "mail-batch-delay-seconds"),
    *("mail-max-retries", "mastodon-max-retries", "time-zone", "web-daemon-interface", "web-daemon-port"),
    *("web-api-protocol", "web-api-host-name", "web-api-base-path", "web-api-port"),
}
__all__ = ["dump", "site"]
SECRETS = (
    Path(__file__).parents[2] / "fixtures" / "migrations" / "feedletter" / "feedletter-secrets.properties"
)
HIDDEN = ("very secret", "masto-token-fixture", "bsky-app-password-fixture", "fixture salt", "pa\\ss")


@pytest.mark.django_db
def test_settings_and_secrets_are_in_a_file_of_mode_600_and_nowhere_else(dump: Path, tmp_path: Path) -> None:
    file, report = tmp_path / "feedletter.env", tmp_path / "report.csv"
    given = ("--secrets", str(SECRETS), "--env-out", str(file), "--report", str(report))
    dry = run(dump, "--dry-run", *given)
    assert not file.exists()
    facts = run(dump, *given)
    assert file.stat().st_mode & 0o777 == 0o600
    values = dict(line.split("=", 1) for line in file.read_text().splitlines())
    assert {name: shlex.split(value)[0] for name, value in values.items()} == {
        "SITE_URL": "https://letters.example.org",
        "BIND": "127.0.0.1:8024",
        "TRUSTED_PROXIES": "127.0.0.1/32,::1/128",
        "TIME_ZONE": "Europe/Paris",
        "CONFIRM_HOURS": "72",
        "UPSTREAM_SALT": SALT,
        "EMAIL_URL": "smtps://letters%40example.org:very%20secret%20and%20long@smtp.example.org:465",
    }
    assert "UPSTREAM_SALT" in str(facts["notes"])
    said = f"{dry}{facts}{report.read_text()}"
    assert not [secret for secret in HIDDEN if secret in said]


@pytest.mark.django_db
def test_a_file_that_exists_is_never_overwritten(dump: Path, tmp_path: Path) -> None:
    file = tmp_path / "there.env"
    file.write_text("mine")
    with pytest.raises(CommandError, match="exists already"):
        run(dump, "--env-out", str(file))
    assert file.read_text() == "mine"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("octets", "why"), [(b"key=\\u12", "valid properties"), (b"#" * 1_000_001, "larger")]
)
def test_an_unreadable_secrets_file_is_refused_without_its_text(
    dump: Path, tmp_path: Path, octets: bytes, why: str
) -> None:
    file = tmp_path / "secrets"
    file.write_bytes(octets)
    for place in (file, tmp_path / "missing"):
        with pytest.raises(CommandError, match=why if place == file else "can’t be read"):
            run(dump, "--secrets", str(place))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1\nb:2\nc 3\nd = 4\n e\t:\t5", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}),
        ("# a=1\n  ! b=2\n\n\nc=#3!", {"c": "#3!"}),
        ("a=one \\\n    two\\\r\n three", {"a": "one twothree"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a\\ b\\=c\\:d=e\\tf\\q", {"a b=c:d": "e\tfq"}),
        ("a=\\u00e4\\ud83d\\ude00", {"a": "ä😀"}),
        ("a\nb=\n=c", {"a": "", "b": "", "": "c"}),
        ("a=1  \na=2", {"a": "2"}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("# comment \\\na=1\\", {"a": "1"}),
        ("", {}),
    ],
)
def test_java_properties(text: str, values: dict[str, str]) -> None:
    assert read_properties(text) == values


@pytest.mark.parametrize(
    ("mail", "url"),
    [
        ({}, ""),
        ({"host": "m.example"}, "smtp://m.example:25"),
        ({"host": "m.example", "user": "u", "password": "p/#"}, "smtps://u:p%2F%23@m.example:465"),
        ({"host": "m.example", "user": "u", "password": "p", "auth": "false"}, "smtp://m.example:25"),
        (
            {"host": "m.example", "user": "u", "password": "p", "starttls.enable": "true"},
            "smtp+starttls://u:p@m.example:587",
        ),
        (
            {"host": "m.example", "user": "u", "password": "p", "port": "587"},
            "smtp+starttls://u:p@m.example:587",
        ),
        ({"host": "::1", "port": "2525"}, "smtp://[::1]:2525"),
    ],
)
def test_mail_servers(mail: dict[str, str], url: str) -> None:
    assert email_url({f"mail.smtp.{name}": value for name, value in mail.items()}) == url


@pytest.mark.parametrize("value", ["a b", "it's", 'a"$`\\b', 'it\'s $HOME "`x`" \\', "äöü=1", ""])
def test_values_are_quoted_for_shells(value: str) -> None:
    name, _, quoted = as_file({"NAME": value}).rstrip("\n").partition("=")
    assert (name, "".join(shlex.split(quoted.replace("\\$", "$").replace("\\`", "`")))) == ("NAME", value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"ConfirmHours": "-3"}, {"BIND": "127.0.0.1:8024"}),
        ({"ConfirmHours": "0"}, {"BIND": "127.0.0.1:8024", "CONFIRM_HOURS": "1"}),
        ({"WebDaemonInterface": "::", "WebDaemonPort": "80"}, {"BIND": "[::]:80"}),
        (
            {"WebApiHostName": "a.example", "WebApiPort": "81"},
            {"SITE_URL": "http://a.example:81", "BIND": "127.0.0.1:8024"},
        ),
    ],
)
def test_settings(config: dict[str, Any], expected: dict[str, str]) -> None:
    assert environment(config, {}) == expected


def left_column() -> str:
    rows = (
        line.split(" | ") for line in PAGE.splitlines() if line.startswith("| `") or line.startswith("| …")
    )
    return "\n".join(row[0] for row in rows)


def test_each_command_has_its_equivalent() -> None:
    assert len(COMMANDS) == 25
    named = left_column()
    assert {each for each in COMMANDS if f"`{each} " not in named and f"`{each}`" not in named} == set()


def test_each_setting_has_its_equivalent() -> None:
    assert {each for each in SETTINGS if f"`--{each}`" not in left_column()} == set()
