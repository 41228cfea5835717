"""Mail hosts of domains (MX, RFC 7505) and names of addresses (PTR). Pure."""

from collections.abc import Mapping, Sequence

from delivery.doctor.findings import DnsAnswer, DnsStatus, DoctorVerdict, Finding

MX, PTR = "MX", "PTR"
NULL = "."


def judge_mx(
    domain: str,
    mx: DnsAnswer,
    addresses: DnsAnswer,
    *,
    purpose: str,
    without: Mapping[str, DnsAnswer] | None = None,
) -> Finding:
    """Judge whether the domain's mail is accepted. `purpose`: such as “replies”.

    `addresses`: the domain's own (used without MX, RFC 5321 §5.1); `without`: its hosts'.
    """

    def said(verdict: DoctorVerdict, says: str, change: str = "") -> Finding:
        return Finding(MX, domain, f"MX {domain}", verdict, says, mx.records or addresses.records, change)

    change = "Publish an MX record that names the domain’s mail server, such as “10 mail.example.org.”"
    if mx.failed:
        return said(DoctorVerdict.BETTER, f"No name server responded, so it’s unknown who accepts {purpose}.")
    hosts = [each.partition(" ")[2] for each in mx.records]
    if hosts == [NULL]:
        text = f"It accepts no email (null MX), so {purpose} are lost, and servers may refuse our emails."
        return said(DoctorVerdict.WRONG, text, change)
    if not hosts and not addresses.records:
        text = f"No server accepts email for it, so {purpose} are lost, and servers may refuse our emails."
        return said(DoctorVerdict.WRONG, text, change)
    if not hosts:
        text = f"It has no MX record, so {purpose} are sent to the machine of that name."
        return said(DoctorVerdict.BETTER, text, change)
    dead = [host for host, answer in (without or {}).items() if not answer.records and not answer.failed]
    if dead and len(dead) == len(hosts):
        text = f"None of its mail servers has an address: {', '.join(dead)}. {purpose.capitalize()} are lost."
        return said(DoctorVerdict.WRONG, text, "Add addresses (A or AAAA) for them, or name others.")
    if dead:
        text = f"One of its mail servers has no address: {', '.join(dead)}."
        return said(DoctorVerdict.BETTER, text, "Add an address (A or AAAA) for it, or remove it.")
    return said(DoctorVerdict.GOOD, f"{', '.join(hosts)} takes {purpose}.")


def judge_ptr(address: str, name: str, names: DnsAnswer, forward: Mapping[str, Sequence[str]]) -> Finding:
    """Judge forward-confirmed reverse DNS: the address's name has that address.

    `name`: the PTR record's. `forward`: addresses by name.
    """

    def said(verdict: DoctorVerdict, says: str, change: str = "") -> Finding:
        return Finding(PTR, address, f"PTR {name}", verdict, says, names.records, change)

    ask = "Ask the provider of the address to set its reverse DNS to your mail server’s name"
    if names.failed:
        return said(DoctorVerdict.BETTER, "No name server responded, so its name is unknown.")
    if names.status is not DnsStatus.FOUND:
        return said(DoctorVerdict.WRONG, "It has no name. Large providers refuse email from it.", f"{ask}.")
    confirmed = [each for each, addresses in forward.items() if address in addresses]
    if not confirmed:
        text = f"Its name is {', '.join(names.records)}, but that name has a different address."
        return said(DoctorVerdict.WRONG, text, f"{ask}, and give that name this address.")
    return said(DoctorVerdict.GOOD, f"Its name is {confirmed[0]}, and that name has this address.")
