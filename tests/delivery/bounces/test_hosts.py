"""Nonstandard reports of hosts: the recipient and the kind of bounce."""

import pytest

from delivery.bounces.parsing import read_report
from tests.delivery.bounces.hosts import ADA, FILES, KINDS, LETTERS, report

SOMEBODY_ELSE = {"bo@example.net", "help@host.test", LETTERS}


def test_each_file_has_its_kind() -> None:
    assert {file.stem for file in FILES.iterdir()} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_report_of_any_host_says_who_and_what(name: str) -> None:
    told = {
        address: found.kind for found in read_report(report(name)).findings for address in found.addresses
    }
    assert told[ADA] is KINDS[name]
    # One report named two recipients.
    assert name == "opensmtpd_the_words_in_the_text_only" or not SOMEBODY_ELSE & told.keys()
