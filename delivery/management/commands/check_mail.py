"""`check_mail`: the deliverability doctor."""

import textwrap
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from ipaddress import ip_address
from itertools import groupby
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result, cell
from common.clock import utcnow
from delivery.doctor.check import DoctorReport, check_mail
from delivery.doctor.findings import DoctorVerdict, Finding
from subscriptions.models import Subscribable

MARKS = {DoctorVerdict.GOOD: "good  ", DoctorVerdict.BETTER: "better", DoctorVerdict.WRONG: "WRONG "}
WIDTH = 100
INDENT = " " * 9


def address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise ArgumentTypeError(f"“{text}” is no IP address.") from error


class Command(FeedletterCommand):
    help = "Checks whether emails will arrive: SPF, DKIM, DMARC, names, servers and links. Changes nothing."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from", dest="from_address", default="", metavar="ADDRESS", help="Only this sender."
        )
        parser.add_argument("--newsletter", default="", metavar="NAME", help="Only the sender of this one.")
        parser.add_argument(
            "--sending-address",
            type=address,
            metavar="IP",
            help="The public address that emails are sent from, if this machine cannot know it.",
        )

    def run(self, **options: Any) -> Result:
        try:
            with self.progress("looking") as progress:
                report = check_mail(
                    now=utcnow(),
                    from_address=options["from_address"],
                    newsletter=options["newsletter"],
                    sending_address=options["sending_address"] or "",
                    told=progress.advance,
                )
        except Subscribable.DoesNotExist as error:
            raise CommandError(f"There is no newsletter “{options['newsletter']}”.") from error
        super().show(Printed("\n".join(self.lines(report)), facts(report)), as_json=options["json"])
        if report.verdict is DoctorVerdict.WRONG:
            raise CommandError(report.in_short)
        return None

    def show(self, result: Result, *, as_json: bool) -> None:
        """Nothing: `run` has shown it, also where it ends with what is wrong."""

    def lines(self, report: DoctorReport) -> Iterator[str]:
        for about, findings in groupby(report.findings, key=lambda finding: finding.about):
            yield self.style.MIGRATE_HEADING(cell(about)) if self.stdout.isatty() else cell(about)
            for finding in findings:
                yield from self.of(finding)
            yield ""
        if report.verdict is not DoctorVerdict.WRONG:
            yield report.in_short

    def of(self, finding: Finding) -> Iterator[str]:
        mark = MARKS[finding.verdict]
        if self.stdout.isatty():
            colour = {
                DoctorVerdict.GOOD: "SUCCESS",
                DoctorVerdict.BETTER: "WARNING",
                DoctorVerdict.WRONG: "ERROR",
            }
            mark = getattr(self.style, colour[finding.verdict])(mark)
        first, *more = _wrapped(f"{finding.topic}: {cell(finding.says)}")
        yield f"  {mark} {first}"
        yield from (f"{INDENT}{line}" for line in more)
        if finding.verdict is not DoctorVerdict.GOOD:
            yield from (f"{INDENT}found: {cell(text)}" for text in finding.found)
        yield from (f"{INDENT}{line}" for line in _wrapped(f"→ {finding.change}") if finding.change)
        if finding.publish:
            yield f"{INDENT}{finding.publish.zone_line}"


def _wrapped(text: str) -> Sequence[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]


def facts(report: DoctorReport) -> dict[str, Any]:
    return {
        "verdict": report.verdict.value,
        "problem": report.problem,
        "findings": [{**asdict(finding), "verdict": finding.verdict.value} for finding in report.findings],
    }
