"""`dkim_key`: the key of a domain and its record."""

from pathlib import Path

import pytest

from channels.email.dkim.keys import generate, to_pem
from delivery.models import DkimKey
from tests.console import json_of, printed, refused

pytestmark = pytest.mark.django_db

ED25519 = ("--algorithm", "ed25519")


def test_it_makes_a_key_once_and_shows_it_ever_after() -> None:
    made = json_of("dkim_key", "example.org")
    keys = ["domain", "selector", "algorithm", "state", "created_at", "name", "type", "value", "strings"]
    assert list(made) == keys
    assert (made["algorithm"], made["state"], made["type"]) == ("rsa", "active", "TXT")
    assert made["name"] == "feedletter._domainkey.example.org"
    assert "".join(made["strings"]) == made["value"]
    assert json_of("dkim_key", "Example.ORG.") == made == json_of("dkim_key", "example.org", "--show")
    assert json_of("dkim_key", "example.org", "--selector", "feedletter") == made


def test_people_get_the_record_in_two_forms_and_never_the_private_key() -> None:
    shown = printed("dkim_key", "example.org")
    key = DkimKey.objects.get()
    assert f"Name   {key.record.name}\nType   TXT\nValue  {key.record.value}\n" in shown
    assert key.record.zone_line in shown
    assert "PRIVATE" not in shown


def test_each_algorithm_has_a_key_of_its_own() -> None:
    assert json_of("dkim_key", "example.org")["algorithm"] == "rsa"
    assert json_of("dkim_key", "example.org", *ED25519)["selector"] == "feedletter-ed25519"
    assert json_of("dkim_key", "example.org")["algorithm"] == "rsa"


def test_a_new_key_waits_until_it_is_activated() -> None:
    printed("dkim_key", "example.org", *ED25519)
    assert "waits" in printed("dkim_key", "example.org", *ED25519, "--new", "--selector", "second")
    assert json_of("dkim_key", "example.org", "--selector", "second", "--activate")["state"] == "active"
    first = json_of("dkim_key", "example.org", "--selector", "feedletter-ed25519", "--show")
    assert first["state"] == "retired"
    assert "is retired" in printed("dkim_key", "example.org", "--selector", "second", "--retire")
    assert json_of("dkim_key", "example.org", *ED25519)["selector"] == "feedletter-ed25519-2"


def test_a_key_is_imported_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text(to_pem(generate("ed25519")))
    made = json_of("dkim_key", "example.org", "--selector", "mail", "--import", str(file))
    assert (made["selector"], made["algorithm"]) == ("mail", "ed25519")
    file.write_text("nothing")
    assert refused("dkim_key", "example.org", "--import", str(file)).startswith(
        "--import: This isn’t a private key"
    )
    file.write_text("")
    assert refused("dkim_key", "example.org", "--import", str(file)) == "--import: the file is empty."
    assert "cannot be read" in refused("dkim_key", "example.org", "--import", str(tmp_path / "none"))


def test_mistakes_are_said_in_a_sentence() -> None:
    assert "no such key of example.org" in refused("dkim_key", "example.org", "--show")
    assert refused("dkim_key", "no domain").startswith("DOMAIN: “no domain” isn’t a domain")
    assert refused("dkim_key", "example.org", "--activate") == "--selector: say which key."
    assert "no such key" in refused("dkim_key", "example.org", "--selector", "x", "--retire")
    printed("dkim_key", "example.org", *ED25519, "--selector", "x")
    assert "has a key with the selector x" in refused(
        "dkim_key", "example.org", "--selector", "x", "--new", *ED25519
    )
    assert "has a key with the selector x" in refused(
        "dkim_key", "example.org", "--selector", "x", "--algorithm", "rsa"
    )
