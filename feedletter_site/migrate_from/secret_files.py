"""Files with the other program's secrets, and with ours. Their values are never printed."""

import os
from collections.abc import Mapping
from pathlib import Path

from common.refused import Refused
from common.text import joined
from feedletter_site.migrate_from.feedletter.environment import as_file
from feedletter_site.migrate_from.feedletter.properties import read_properties

MOST_BYTES = 1_000_000


def read_secrets(file: Path) -> dict[str, str]:
    """Read Java properties. Raises Refused."""
    try:
        with file.open("rb") as stream:
            return parse_secrets(stream.read(MOST_BYTES + 1))
    except OSError as error:
        raise Refused(f"--secrets: {file} can’t be read: {error.strerror}.") from error
    except Refused as error:
        raise Refused(f"--secrets: {file} {error}") from None


def parse_secrets(octets: bytes) -> dict[str, str]:
    """Raises Refused; the message is about the file, such as “is larger …”."""
    if len(octets) > MOST_BYTES:
        raise Refused("is larger than a megabyte. Give feedletter-secrets.properties.")
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        # Java's older encoding.
        text = octets.decode("latin-1")
    try:
        return read_properties(text)
    except ValueError:
        # `from None`: the error may show a secret.
        raise Refused("isn’t a valid properties file.") from None


def refuse_existing(file: Path) -> None:
    """Raises Refused."""
    if file.exists() or file.is_symlink():
        raise Refused(f"--env-out: {file} exists already. Give another name, or move it away first.")


def write_environment(file: Path, values: Mapping[str, str]) -> str:
    """Write a new file that only its owner reads. Return a sentence. Raises Refused."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(descriptor, 0o600)
            stream.write(as_file(values))
    except OSError as error:
        raise Refused(f"--env-out: {file} can’t be written: {error.strerror}.") from error
    return f"{file} has {joined(values)}. Start Feedletter with these settings."
