"""The guide for people who move from feedletter names all that they know."""

from pathlib import Path

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
