"""Findings on SPF records. Pure."""

from collections.abc import Sequence

from delivery.doctor.findings import DnsStatus, DoctorVerdict, Finding, Publish
from delivery.doctor.spf_tree import MOST_LOOKUPS, MOST_VOID, Node, check_host

SPF = "SPF"
INSTEAD = "Publish the record below in its place."
MERGE = "Make one record of them: receivers that find two count neither."


def judge_record(node: Node, *, suggestion: str) -> list[Finding]:
    """Judge a domain's record. `suggestion`: the record to publish if there is none."""
    if node.status is DnsStatus.FAILED:
        return [
            _said(
                node, DoctorVerdict.BETTER, "No name server answered: its SPF record is not known. Try again."
            )
        ]
    if not node.found:
        return [
            _said(
                node,
                DoctorVerdict.WRONG,
                "It has no SPF record: nobody can tell which servers may send for it.",
                "Publish this record.",
                Publish(node.domain, suggestion),
            )
        ]
    if len(node.found) > 1:
        return [_said(node, DoctorVerdict.WRONG, f"It has {len(node.found)} SPF records.", MERGE)]
    found = [*_judge_lookups(node), *_judge_end(node)]
    if node.spf.problems:
        said = f"It cannot be read: {'; '.join(node.spf.problems)}."
        found.insert(0, _said(node, DoctorVerdict.WRONG, said, "Mend that in the record."))
    if found:
        return found
    said = f"One record, read without error, {node.lookups} of {MOST_LOOKUPS} questions to the DNS."
    return [_said(node, DoctorVerdict.GOOD, said)]


def judge_sender(
    node: Node,
    *,
    addresses: Sequence[str],
    server: str,
    is_own: bool,
    provider: str = "",
) -> Finding | None:
    """Judge whether the record allows the server; None if unknown.

    `is_own`: letters leave from `addresses`, not a provider's. `provider`: the include: that it asks for, if
    known.
    """
    if not node.found or len(node.found) > 1 or node.spf.problems or node.failed:
        return None
    if provider and any(child.domain == provider for child in node.nodes()):
        return _said(node, DoctorVerdict.GOOD, f"It includes {provider}, as {server} wants it.")
    if provider:
        said = f"It does not include {provider}, from which {server} sends."
        return _said(node, DoctorVerdict.WRONG, said, INSTEAD)
    results = {address: check_host(node, address, lenient=True) for address in addresses}
    refused = [address for address, result in results.items() if result != "pass"]
    if not addresses:
        return None
    if not refused:
        return _said(node, DoctorVerdict.GOOD, f"It lets {server} send ({', '.join(addresses)}).")
    said = f"It does not name {server} as a sender: of {', '.join(refused)} it says {results[refused[0]]}."
    if is_own:
        return _said(node, DoctorVerdict.WRONG, said, INSTEAD)
    said += " Providers often send from other addresses than the one they take letters at."
    return _said(
        node, DoctorVerdict.BETTER, said, "Ask your provider which “include:” belongs into the record."
    )


def proposal(node: Node, mechanisms: Sequence[str] = ()) -> Publish:
    """Return the record with these mechanisms and an end, without broken includes."""
    broken = {child.domain for child in node.below.values() if len(child.found) != 1}
    words = node.found[0].split()
    end = [word for word in words if word.lower().startswith("redirect=")]
    if node.spf.catch_all or not end:
        strict = node.spf.catch_all is not None and node.spf.catch_all.qualifier == "-"
        end = ["-all" if strict else "~all"]
    kept = []
    for word in words[1:]:
        bare = word.lower().lstrip("+-~?")
        is_end = bare.startswith("redirect=") or bare == "all"
        is_vain = bare.startswith("include:") and bare.removeprefix("include:").rstrip(".") in broken
        if not is_end and not is_vain:
            kept.append(word)
    added = [each for each in mechanisms if each.lower() not in map(str.lower, kept)]
    return Publish(node.domain, " ".join([words[0], *kept, *added, *end]))


def _judge_lookups(node: Node) -> list[Finding]:
    """Judge the number of lookups, and the includes."""
    found = []
    if node.lookups > MOST_LOOKUPS:
        said = (
            f"Reading it takes {node.lookups} questions to the DNS; receivers give up after {MOST_LOOKUPS}."
        )
        change = "Remove an “include:” that is not used any more, or name addresses with ip4: and ip6:."
        found.append(_said(node, DoctorVerdict.WRONG, said, change))
    elif node.lookups == MOST_LOOKUPS:
        said = f"Reading it takes {MOST_LOOKUPS} questions to the DNS, and more are not allowed."
        found.append(
            _said(node, DoctorVerdict.BETTER, said, "Remove an “include:” that is not used any more.")
        )
    void = [name for each in node.nodes() for name in each.void]
    if len(void) > MOST_VOID:
        said = f"It names hosts that have no address: {', '.join(sorted(set(void))[:5])}."
        found.append(_said(node, DoctorVerdict.BETTER, said, "Remove them: receivers may give up after two."))
    for each in list(node.nodes())[1:]:
        if each.status is DnsStatus.FAILED:
            said = f"No name server answered about {each.domain}, which it includes."
            found.append(_said(node, DoctorVerdict.BETTER, f"{said} Try again."))
        elif each.loops:
            found.append(
                _said(node, DoctorVerdict.WRONG, f"It includes {each.domain} in a circle.", "Remove one.")
            )
        elif len(each.found) != 1:
            many = "no SPF record" if not each.found else f"{len(each.found)} SPF records"
            said = f"It includes {each.domain}, which has {many}: the whole record does not count."
            found.append(_said(node, DoctorVerdict.WRONG, said, f"Remove include:{each.domain}, or mend it."))
        elif each.spf.problems:
            said = f"It includes {each.domain}, which cannot be read: {'; '.join(each.spf.problems)}."
            found.append(_said(node, DoctorVerdict.WRONG, said, "Tell whom that belongs to, or remove it."))
    return found


def _judge_end(node: Node) -> list[Finding]:
    everybody = node.spf.catch_all
    found = []
    if everybody is None and not node.spf.redirect:
        said = "It does not end with “all”: it says nothing of servers that it does not name."
        found.append(_said(node, DoctorVerdict.BETTER, said, INSTEAD))
    if everybody is not None and everybody.qualifier == "+":
        said = "“+all” lets everybody in the world send for this domain: spammers look for that."
        found.append(_said(node, DoctorVerdict.WRONG, said, INSTEAD))
    if everybody is not None and everybody.qualifier == "?":
        said = "“?all” says nothing of servers that it does not name."
        found.append(_said(node, DoctorVerdict.BETTER, said, INSTEAD))
    if any(term.name == "ptr" for term in node.spf.terms):
        said = "“ptr” is slow, unreliable and not to be used any more (RFC 7208 §5.5)."
        found.append(_said(node, DoctorVerdict.BETTER, said, "Name the servers with a:, mx or ip4: instead."))
    return found


def _said(
    node: Node, verdict: DoctorVerdict, says: str, change: str = "", publish: Publish | None = None
) -> Finding:
    return Finding(SPF, node.domain, f"TXT {node.domain}", verdict, says, node.found, change, publish)
