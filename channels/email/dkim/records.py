"""The DNS record that tells the world a public key (RFC 6376 §3.6). Pure."""

from dataclasses import dataclass

# RFC 1035 §3.3: a character-string has at most 255 octets; a TXT record may have several.
LONGEST_STRING = 255


@dataclass(frozen=True, slots=True)
class DkimRecord:
    """A TXT record; `name` without the final dot."""

    name: str
    value: str

    @property
    def strings(self) -> tuple[str, ...]:
        """The value in pieces that a zone file can hold; verifiers join them without anything between."""
        steps = range(0, len(self.value), LONGEST_STRING)
        return tuple(self.value[at : at + LONGEST_STRING] for at in steps)

    @property
    def zone_line(self) -> str:
        """The record as a zone file has it."""
        quoted = "\n    ".join(f'"{string}"' for string in self.strings)
        return f"{self.name}. IN TXT (\n    {quoted} )"


def record_of(*, domain: str, selector: str, algorithm: str, public: str) -> DkimRecord:
    """`public` is p=, as `keys.public_value` gives it."""
    return DkimRecord(f"{selector}._domainkey.{domain}", f"v=DKIM1; k={algorithm}; p={public}")
