"""“Did you mean gmail.com?”: near misses of well-known providers, and nothing else."""

import pytest

from subscriptions.rules.sign_up import PROVIDERS, meant, webmail_of


@pytest.mark.parametrize(
    "domain",
    [
        *(
            "gmial.com",
            "gmal.com",
            "gmaill.com",
            "gnail.com",
            "gamil.com",
            "GMAIL.CON",
            "gmail.co",
            "gmai.com",
        ),
        *("gmail.co", "gmial.con", "gmail.com."),
    ],
)
def test_slips_of_gmail_are_known(domain: str) -> None:
    expected = "" if domain == "gmail.com." else "Ada@gmail.com"
    assert meant(f"Ada@{domain}") == expected


@pytest.mark.parametrize(
    ("domain", "right"),
    [
        ("hotmial.fr", "hotmail.fr"),
        ("yaho.co.uk", "yahoo.co.uk"),
        ("outlok.de", "outlook.de"),
        ("iclod.com", "icloud.com"),
        ("t-onlin.de", "t-online.de"),
        ("protn.me", "proton.me"),
    ],
)
def test_so_are_those_of_others(domain: str, right: str) -> None:
    assert meant(f"ada@{domain}") == f"ada@{right}"


@pytest.mark.parametrize(
    "domain",
    [
        *(
            "example.org",
            "mail.com",
            "email.com",
            "ymail.com",
            "yahoo.ca",
            "yahoo.ie",
            "outlook.it",
            "gmx.de",
        ),
        *("gmx.de", "gmail.example", "gm.com", "mailbox.com", "me.com", "", "x", "gmail"),
        *(f"{name}.{rest}" for name, rests in PROVIDERS.items() for rest in rests),
    ],
)
def test_nobody_elses_domain_is_doubted(domain: str) -> None:
    assert meant(f"ada@{domain}") == ""


def test_every_provider_is_one_that_people_read_mail_at() -> None:
    known = [f"{name}.{rest}" for name, rests in PROVIDERS.items() for rest in rests]
    assert [each for each in known if webmail_of(f"a@{each}") is None] == []
