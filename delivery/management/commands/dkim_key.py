"""`dkim_key DOMAIN`: the key that signs a domain's letters, made if there is none, and its DNS record."""

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from channels.email.dkim.keys import ALGORITHMS, MAX_PEM
from common.cli.commands import FeedletterCommand, Printed, Result, shown_fields
from common.clock import utcnow
from common.program import MANAGE
from delivery.accounts.dkim_keys import activate_key, find_key, make_key, retire_key
from delivery.doctor.check import look_up
from delivery.models import DkimKey

STANDING = {
    "active": "{} signs emails from {}.",
    "waiting": "{} waits. When its record is published, activate it: "
    f"{MANAGE} dkim_key {{}} --selector {{}} --activate",
    "retired": "{} is retired. Leave its record for a week: emails may still be in transit.",
}


def pem_file(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_PEM + 1)
    except OSError as error:
        raise ArgumentTypeError(f"“{name}” cannot be read: {error.strerror}.") from error


class Command(FeedletterCommand):
    help = "Shows the DNS record of the key that signs a domain's emails (DKIM); creates the key if needed."

    option_names = {"domain": "DOMAIN"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("domain", metavar="DOMAIN", help="What follows the @ of the sender.")
        parser.add_argument("--selector", default="", help="The key's name in the DNS.")
        parser.add_argument("--algorithm", default="", choices=ALGORITHMS, help="A new key is rsa.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--show", action="store_true", help="Make none, only show it.")
        act.add_argument("--new", action="store_true", help="Create another key, to replace the first.")
        act.add_argument(
            "--import", type=pem_file, metavar="FILE", dest="pem", help="Read a private key from a PEM file."
        )
        act.add_argument("--activate", action="store_true", help="Let this one sign; the other one retires.")
        act.add_argument("--retire", action="store_true", help="Let this one sign no more.")

    def run(self, **options: Any) -> Result:
        key = self.key(**options)
        if options["activate"]:
            key = activate_key(key, now=utcnow())
            self.warn(key)
        elif options["retire"]:
            key = retire_key(key, now=utcnow())
        return Printed(sentence(key), facts(key))

    def warn(self, key: DkimKey) -> None:
        """Says what is wrong with its record in the DNS, if anything is."""
        found = look_up(key)
        if not found.is_good:
            self.note(f"{found.says} {found.change}")

    def key(self, **options: Any) -> DkimKey:
        named = {name: options[name] for name in ("domain", "selector", "algorithm")}
        if (options["activate"] or options["retire"]) and not options["selector"]:
            raise CommandError("--selector: say which key.")
        is_other = options["new"] or options["pem"] is not None
        if not is_other and (found := find_key(**named)):
            return found
        if options["show"] or options["activate"] or options["retire"]:
            domain = options["domain"]
            raise CommandError(f"There is no such key of {domain}; “{MANAGE} dkim_key {domain}” makes one.")
        if options["pem"] == b"":
            raise CommandError("--import: the file is empty.")
        return make_key(**named, pem=options["pem"] or b"", now=utcnow())


def facts(key: DkimKey) -> dict[str, Any]:
    """The key for programs; never its private part."""
    record = key.record
    return {
        **shown_fields(key, "domain selector algorithm state created_at"),
        "name": record.name,
        "type": "TXT",
        "value": record.value,
        "strings": list(record.strings),
    }


def sentence(key: DkimKey) -> str:
    record = key.record
    standing = STANDING[key.state].format(f"The {key.algorithm} key {key.selector}", key.domain, key.selector)
    return (
        f"{standing}\n\n"
        f"The record for the DNS of {key.domain}, without which no signature counts:\n\n"
        f"Name   {record.name}\nType   TXT\nValue  {record.value}\n\n"
        "The same for a zone file, where a string has 255 characters at most:\n\n"
        f"{record.zone_line}"
    )
