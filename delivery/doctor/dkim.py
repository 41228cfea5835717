"""Published DKIM keys, compared with ours (RFC 6376 §3.6.1). Pure."""

from dataclasses import dataclass

from channels.email.dkim.keys import DkimRecord
from common.program import MANAGE
from delivery.doctor.dmarc import read_tags
from delivery.doctor.findings import DnsAnswer, DoctorVerdict, Finding, Publish

DKIM = "DKIM"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """Published record. `key`: p= without white space; "" if revoked."""

    key: str = ""
    algorithm: str = "rsa"
    is_test: bool = False
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Publication:
    """State of a key: whether its signatures count now, and why."""

    verdict: DoctorVerdict
    says: str
    change: str = ""

    @property
    def is_good(self) -> bool:
        return self.verdict is not DoctorVerdict.WRONG


def read_key(text: str) -> PublicKey:
    """Parse a record, with mistakes in `problems`. Raises nothing."""
    tags, wrong = read_tags(text)
    problems = list(wrong)
    if "v" in tags and tags["v"] != "DKIM1":
        problems.append(f"v={tags['v'][:20]} is not DKIM1")
    if "p" not in tags:
        problems.append("p= is missing")
    if "h" in tags and "sha256" not in [name.strip().lower() for name in tags["h"].split(":")]:
        problems.append(f"h={tags['h'][:40]} doesn’t allow sha256")
    if "s" in tags and not {"*", "email"} & {name.strip().lower() for name in tags["s"].split(":")}:
        problems.append(f"s={tags['s'][:40]} isn’t for email")
    return PublicKey(
        key="".join(tags.get("p", "").split()),
        algorithm=tags.get("k", "rsa").lower(),
        is_test="y" in [flag.strip().lower() for flag in tags.get("t", "").split(":")],
        problems=tuple(problems),
    )


def publication(ours: DkimRecord, algorithm: str, answer: DnsAnswer) -> Publication:
    """Judge the TXT records at our record's name."""
    if answer.failed:
        return Publication(
            DoctorVerdict.BETTER, "No name server responded, so it’s unknown whether the record is published."
        )
    there = [text for text in answer.records if "p=" in text.replace(" ", "")]
    if not there:
        return Publication(
            DoctorVerdict.WRONG,
            "Its record isn’t published, so its signatures aren’t valid.",
            "Publish this record.",
        )
    if len(there) > 1:
        return Publication(
            DoctorVerdict.WRONG, f"There are {len(there)} records at its name.", "Keep only this one."
        )
    found, instead = read_key(there[0]), "Publish this record instead."
    if found.problems:
        return Publication(
            DoctorVerdict.WRONG, f"Its record can’t be used: {'; '.join(found.problems)}.", instead
        )
    if not found.key:
        return Publication(DoctorVerdict.WRONG, "The DNS says that it was revoked (p= is empty).", instead)
    if found.key != read_key(ours.value).key or found.algorithm != algorithm:
        said = "The DNS has a different key under this name, so our signatures aren’t valid."
        return Publication(DoctorVerdict.WRONG, said, instead)
    if found.is_test:
        said = "The record is marked as a test (t=y), so some receivers treat emails as unsigned."
        return Publication(DoctorVerdict.BETTER, said, instead)
    return Publication(DoctorVerdict.GOOD, "Its record is published and matches.")


def judge_key(
    ours: DkimRecord, *, domain: str, algorithm: str, is_active: bool, answer: DnsAnswer
) -> Finding:
    """Return a key's finding. An unused key may be unpublished."""
    selector = ours.name.partition("._domainkey.")[0]
    judged = publication(ours, algorithm, answer)
    verdict, says = judged.verdict, judged.says
    publish = Publish(ours.name, ours.value) if judged.change else None
    if not is_active:
        says = f"The key {selector} isn’t used yet. {says}"
        verdict = DoctorVerdict.GOOD if verdict is DoctorVerdict.GOOD else DoctorVerdict.BETTER
    else:
        says = f"Emails are signed with the key {selector}. {says}"
    return Finding(DKIM, domain, f"TXT {ours.name}", verdict, says, answer.records, judged.change, publish)


def judge_no_key(domain: str, *, signer: str) -> Finding:
    """Return a finding without a key. `signer` may sign instead."""
    says = "Feedletter doesn’t sign emails from this domain."
    change = (
        f"That’s fine only if {signer} signs them with d={domain} (look for “dkim=pass” in the "
        "Authentication-Results of an email that you received). Otherwise create a "
        f"key and publish its record: {MANAGE} dkim_key {domain}"
    )
    return Finding(DKIM, domain, "DKIM keys", DoctorVerdict.BETTER, says, (), change)
