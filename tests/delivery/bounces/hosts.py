"""Bounce reports in the formats of many hosts, one of each in tests/fixtures/bounces, none real.

All are about ada@example.org, and sent to letters@sender.example.
"""

from pathlib import Path

from delivery.rules.bounce_policy import BounceKind

ADA = "ada@example.org"
LETTERS = "letters@sender.example"
FILES = Path(__file__).parents[2] / "fixtures" / "bounces"
# The kind of bounce that each reports for Ada.
KINDS = {
    "activehunter": BounceKind.HARD,
    "amazon_workmail": BounceKind.SOFT,
    "apache_james": BounceKind.HARD,
    "dragonfly": BounceKind.HARD,
    "fml": BounceKind.POLICY,
    "kddi": BounceKind.SOFT,
    "mailmarshal": BounceKind.HARD,
    "mfilter": BounceKind.POLICY,
    "notes": BounceKind.HARD,
    "domino_in_japanese": BounceKind.HARD,
    "domino_another_recipient": BounceKind.SOFT,
    "sendmail_5": BounceKind.HARD,
    "sendmail_5_without_the_address": BounceKind.SOFT,
    "verizon": BounceKind.HARD,
    "x1": BounceKind.HARD,
    "x6": BounceKind.POLICY,
    "opensmtpd_text": BounceKind.HARD,
    "opensmtpd_the_words_in_the_text_only": BounceKind.HARD,
    "ezweb": BounceKind.HARD,
    "postfix_translated": BounceKind.HARD,
    "postfix_report_unavailable": BounceKind.SOFT,
    "postfix_transcript": BounceKind.SOFT,
    "yahoo_japan": BounceKind.POLICY,
    "office_365_text": BounceKind.HARD,
    "office_365_html": BounceKind.HARD,
    "messagelabs_lines_not_folded": BounceKind.POLICY,
    "sendgrid": BounceKind.SOFT,
    "zoho_delay": BounceKind.DELAYED,
    "a_boundary_that_does_not_fit": BounceKind.HARD,
    "exim_a_pipe": BounceKind.SOFT,
    "exim_another_address_failed": BounceKind.POLICY,
    "exchange_2003": BounceKind.HARD,
    "interscan": BounceKind.HARD,
    "gmail": BounceKind.HARD,
    "qmail": BounceKind.POLICY,
    "ses_by_sns_permanent": BounceKind.HARD,
    "ses_by_sns_full": BounceKind.SOFT,
    "ses_by_sns_transient": BounceKind.SOFT,
    "ses_by_sns_too_large": BounceKind.POLICY,
    "ses_by_sns_complaint": BounceKind.COMPLAINT,
    "hotmail": BounceKind.COMPLAINT,
}


def report(name: str, to: str = LETTERS) -> bytes:
    """Return that report, sent to this address."""
    return (FILES / f"{name}.eml").read_bytes().replace(LETTERS.encode(), to.encode())
