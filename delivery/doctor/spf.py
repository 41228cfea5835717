"""Findings on SPF records. Pure."""

from collections.abc import Sequence

from delivery.doctor.findings import DnsStatus, DoctorVerdict, Finding, Publish
from delivery.doctor.spf_tree import MOST_LOOKUPS, MOST_VOID, Node, check_host

SPF = "SPF"
INSTEAD = "Publish the record below instead."
MERGE = "Merge them into one record. If there are two, receivers ignore both."


def judge_record(node: Node, *, suggestion: str) -> list[Finding]:
    """Judge a domain's record. `suggestion`: the record to publish if there is none."""
    if node.status is DnsStatus.FAILED:
        return [
            _said(
                node,
                DoctorVerdict.BETTER,
                "No name server responded, so its SPF record is unknown. Try again.",
            )
        ]
    if not node.found:
        return [
            _said(
                node,
                DoctorVerdict.WRONG,
                "It has no SPF record, so receivers can’t check which servers may send for it.",
                "Publish this record.",
                Publish(node.domain, suggestion),
            )
        ]
    if len(node.found) > 1:
        return [_said(node, DoctorVerdict.WRONG, f"It has {len(node.found)} SPF records.", MERGE)]
    found = [*_judge_lookups(node), *_judge_end(node)]
    if node.spf.problems:
        said = f"It can’t be read: {'; '.join(node.spf.problems)}."
        found.insert(0, _said(node, DoctorVerdict.WRONG, said, "Correct the record."))
    if found:
        return found
    said = f"One record, read without error, {node.lookups} of {MOST_LOOKUPS} questions to the DNS."
    return [_said(node, DoctorVerdict.GOOD, said)]


def judge_sender(
    node: Node, *, addresses: Sequence[str], server: str, is_own: bool, provider: str = ""
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
        said = f"It doesn’t include {provider}, which {server} sends from."
        return _said(node, DoctorVerdict.WRONG, said, INSTEAD)
    results = {address: check_host(node, address, lenient=True) for address in addresses}
    refused = [address for address, result in results.items() if result != "pass"]
    if not addresses:
        return None
    if not refused:
        return _said(node, DoctorVerdict.GOOD, f"It lets {server} send ({', '.join(addresses)}).")
    said = (
        f"It doesn’t list {server} as a sender: {', '.join(refused)} of it have the "
        f"result {results[refused[0]]}."
    )
    if is_own:
        return _said(node, DoctorVerdict.WRONG, said, INSTEAD)
    said += "Providers often send from other addresses than the one that accepts emails."
    return _said(node, DoctorVerdict.BETTER, said, "Ask your provider which “include:” to add to the record.")


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
        said = f"It needs {node.lookups} DNS lookups, and receivers give up after {MOST_LOOKUPS}."
        change = "Remove an “include:” that isn’t used any more, or list addresses with ip4: and ip6:."
        found.append(_said(node, DoctorVerdict.WRONG, said, change))
    elif node.lookups == MOST_LOOKUPS:
        said = f"It needs {MOST_LOOKUPS} DNS lookups, which is the maximum."
        found.append(
            _said(node, DoctorVerdict.BETTER, said, "Remove an “include:” that isn’t used any more.")
        )
    void = [name for each in node.nodes() for name in each.void]
    if len(void) > MOST_VOID:
        said = f"It names hosts that have no address: {', '.join(sorted(set(void))[:5])}."
        found.append(_said(node, DoctorVerdict.BETTER, said, "Remove them. Receivers may give up after two."))
    for each in list(node.nodes())[1:]:
        if each.status is DnsStatus.FAILED:
            said = f"No name server responded for {each.domain}, which it includes."
            found.append(_said(node, DoctorVerdict.BETTER, f"{said} Try again."))
        elif each.loops:
            found.append(
                _said(node, DoctorVerdict.WRONG, f"It includes {each.domain} recursively.", "Remove one.")
            )
        elif len(each.found) != 1:
            many = "no SPF record" if not each.found else f"{len(each.found)} SPF records"
            said = f"It includes {each.domain}, which has {many}, so the whole record is invalid."
            found.append(
                _said(node, DoctorVerdict.WRONG, said, f"Remove include:{each.domain}, or correct it.")
            )
        elif each.spf.problems:
            said = f"It includes {each.domain}, which can’t be read: {'; '.join(each.spf.problems)}."
            found.append(_said(node, DoctorVerdict.WRONG, said, "Ask its owner to correct it, or remove it."))
    return found


def _judge_end(node: Node) -> list[Finding]:
    everybody = node.spf.catch_all
    found = []
    if everybody is None and not node.spf.redirect:
        said = "It doesn’t end with “all”, so servers that it doesn’t list aren’t rejected."
        found.append(_said(node, DoctorVerdict.BETTER, said, INSTEAD))
    if everybody is not None and everybody.qualifier == "+":
        said = "“+all” lets anyone send for this domain, which attracts spammers."
        found.append(_said(node, DoctorVerdict.WRONG, said, INSTEAD))
    if everybody is not None and everybody.qualifier == "?":
        said = "“?all” is neutral about servers that it doesn’t list."
        found.append(_said(node, DoctorVerdict.BETTER, said, INSTEAD))
    if any(term.name == "ptr" for term in node.spf.terms):
        said = "“ptr” is slow and unreliable, and shouldn’t be used (RFC 7208 §5.5)."
        found.append(_said(node, DoctorVerdict.BETTER, said, "List the servers with a:, mx or ip4: instead."))
    return found


def _said(
    node: Node, verdict: DoctorVerdict, says: str, change: str = "", publish: Publish | None = None
) -> Finding:
    return Finding(SPF, node.domain, f"TXT {node.domain}", verdict, says, node.found, change, publish)
