"""The words by which mail servers say what they mean: a table by meaning, with who says so.

Each phrase is a pattern over words in lower case, in which an address is @ and links and names of hosts are
left out. Gaps are bounded, so that a search stays linear. The first meaning that is found counts.
"""

import re

from delivery.rules.meaning import Meaning

Table = tuple[tuple[Meaning, re.Pattern[str]], ...]


def _table(phrases: dict[Meaning, tuple[str, ...]]) -> Table:
    return tuple((meaning, re.compile("|".join(words))) for meaning, words in phrases.items())


_MAILBOX = r"(?:user|mail ?box|recipient|account|address|addressee|alias|person|local ?part|userid)"
_BOX = r"(?:(?:user'?s? ?)?mail ?box|in-?box|mail ?folder|mail ?drop|account)"

# They say who is meant, whatever any code says.
SURE = _table(
    {
        Meaning.SIZE: (
            r"(?:message|e?mail|letter)(?: size| length| line)? (?:is )?(?:too (?:big|large|long)|exceeds)",
            r"exceeds (?:the )?(?:maximum|fixed|maximal) (?:message )?size",  # sendmail, Postfix (RFC 1870)
            r"size limit exceeded",  # 1&1
            r"line limit exceeded",  # Exim
            r"recipsizelimit",  # Exchange
            r"message file too big|headers too large",  # qmail; sendmail
        ),
        Meaning.RATE: (
            r"too many (?:\w+ ){0,2}(?:connection|message|e?mail|recipient|session)(?!s? in\b)",
            r"\brate (?:limit|(?:\w+ ){0,3}exceed)|\brate-limit|throttl|frequency limited|unusual rate",
            r"unexpected volume|\btss0\d",  # Yahoo
            r"(?:daily|hourly|sending) (?:\w+ )?(?:limit|quota)|reached your daily",
        ),
        Meaning.FULL: (
            r"\bover ?-?(?:the )?(?:\w+ )?quota|storage quota",  # Dovecot, qmail, Messaging Server; Gmail
            r"quota (?:\w+ ){0,3}exceeded|(?:exceed\w{0,3}|out of) (?:\w+ ){0,3}quota",  # Dovecot, Postfix
            r"quotaexceeded",  # Exchange
            rf"{_BOX} (?:\(.{{0,80}}\) )?(?:is |has been |was )?(?:currently |almost |over)?full",  # sendmail
            rf"{_BOX} (?:size )?(?:has )?(?:exceeded|exceeds)|exceeded the local limit",  # IMail; Biglobe
            r"out of storage|not enough (?:disk |storage )?space|no space left",  # Gmail
            r"insufficient (?:disk |system |user )?(?:space|storage)",  # RFC 5321 §4.2.3
            r"too much mail data",  # sendmail
            r"receiving mail (?:too quickly|at a rate)",  # Gmail
            r"postfach (?:ist )?(?:voll|überfüllt)",  # GMX
            r"bo[iî]te (?:\w+ ){0,4}pleine|casella (?:\w+ ){0,4}piena",  # Orange; Libero
            r"容量を(?:超|越)え|(?:一杯|いっぱい)です",  # Yahoo Japan, docomo
        ),
        Meaning.SENDER: (
            r"sender(?:'s)?(?: address| domain)?(?: was| is)?"
            r" (?:rejected|refused|denied|blocked|invalid|not allowed)",  # Postfix, Cox, Spectrum
            r"(?:sender|originator|(?:from|return) address)(?:'s)?(?: \w{1,20}){0,3}"
            r" (?:unknown|not (?:found|exist|known|valid)|does not|doesn't|could not)",
            r"(?:invalid|unknown|bad|illegal|no such|non-?existent) (?:sender|originator|from|return)\b",
            r"\babsender|exp[ée]diteur|remitente|mittente",
            r"sender verify|unrout(?:e)?able sender",  # Exim
            r"domain of sender",  # sendmail
            r"not owned by user",  # Postfix: reject_sender_login_mismatch
            r"unauthenticated senders",  # SendGrid
            r"not (?:allowed|permitted|authorized) to send (?:from|as)|from: domain is invalid",  # GoDaddy
            r"(?:mail from|sender|originator) <?@>? (?:is )?(?:rejected|refused|denied|not)",
            r"mail ?from domain|sending to/from an address",  # Exim's local blocklists
            r"sending this from a different address",  # Google Workspace
            # Where in the dialogue it was said.
            r"in reply to mail from|after mail from:|\[mail_from\]|but sender was rejected",
        ),
        Meaning.IDENTITY: (
            r"\bspf\b|\bdkim\b|\bdmarc\b|sender id\b|purported responsible",
            r"authentication (?:checks|information|level)|required authentication",  # Gmail, Microsoft
            r"unauthenticated (?:e-?mail|sender)|sender is unauthenticated",  # Gmail
            r"reverse[ -]?(?:dns|lookup|hostname)|\br(?:ev)?dns\b|\bptr\b|cannot find your hostname",
            r"ip name lookup|unverify?able sending",  # sendmail
            r"valid sender domain|mismatches client ip|invalid ip for sending",  # Outlook, Yahoo
            r"my name was rejected|(?:helo|ehlo)(?: command)? (?:rejected|refused)",  # qmail; Postfix
        ),
        Meaning.BLOCKED: (
            r"(?:black|block|deny)[ -]?list|blocked (?:using|for|due)|\bd?n?s?rbl\b|dns-?bl\b",  # Postfix
            r"(?:poor|bad|low|ip|sender|domain|its|your) reputation|user complaints|spamming",  # Gmail, Yahoo
            r"(?:banned|blocked) (?:sending )?ip\b",  # Microsoft
            r"\bip\b(?: address)?(?: \[?[\d.]{7,15}\]?)? (?:is |has been |was )?(?:temporarily )?"
            r"(?:blocked|banned|listed|rejected|black)",
            r"client (?:host |address )?(?:\S{0,80} )?(?:rejected|blocked)",  # Postfix
            r"blocked - see|host network not allowed|recipient preferences",  # Proofpoint; Mimecast; Facebook
            r"messages from \S{0,80} ?(?:weren't sent|are blocked)|smtp server of your isp",  # Outlook
            r"open relay\b|no access from|not accepting connections",  # sendmail; iCloud
            r"bloqu[ée]e? pour",  # Orange
            # Of the account that sends.
            r"\byour (?:e?-?mail )?(?:account|user|domain|server|ip|host|hostname|network|address)\b.{0,40}"
            r"(?:disabled|suspended|blocked|locked|closed|rejected|denied|unknown|exist|not (?:a|f|k|l|p))",
            # Where in the dialogue it was said.
            r"refused to talk to me: 5|after (?:initial connection|ehlo|helo)",  # Postfix; Exim
        ),
        Meaning.RELAY: (
            r"relay(?:ing)? (?:access )?(?:is )?(?:denied|refused|prohibited|not|forbidden)|\bto relay\b",
            r"(?:does not|do not|don't|no|not|cannot|unable to|insecure(?: mail)?) relay",
            r"rcpthosts",  # qmail
            r"e-?mail address is not verified",  # Amazon SES
        ),
        Meaning.LOGIN: (
            r"smtp auth|authentication (?:is )?required(?! ##)",  # not Exchange's, which is the recipient's
            r"(?:must|need to|please) (?:first )?(?:authenticate|log ?in)",
        ),
    }
)

# They say who is meant, unless the server would have been asked again.
LIKELY = _table(
    {
        Meaning.AWAY: (r"temporar\w{1,3} (?:locked|disabled|suspended|blocked|unavailable|deactivated)",),
        Meaning.NO_HOST: (
            # Postfix, sendmail, qmail, OpenSMTPD
            r"(?:host|domain)(?: or domain)?(?: name)? (?:was |is )?(?:unknown|not found(?!, try))",
            r"(?:unknown|no such|illegal) (?:host|domain)|bad destination system",
            r"domain (?:does not|doesn't) exist|any host named",
            r"unrout(?:e)?able (?:address|mail domain|recipient)",  # Exim
            r"(?:find|found) (?:a |any )?(?:mail exchanger|mx\b)|\bno mx\b",
            r"(?:does not|doesn't|never) (?:accept|receive)s? (?:e-?)?mail(?! (?:from|sent|with|by|that))",
            r"null ?mx",  # RFC 7505
            r"indicated no smtp service|domain is not reachable|nxdomain",  # Exim; Outlook; Google
        ),
        Meaning.NO_ADDRESS: (
            rf"(?<!ip ){_MAILBOX}s?\b(?: \S{{1,80}}){{0,2}} (?:is |was |are )?"
            r"(?:unknown|not (?:found|known|exist|listed|valid|local)|unavail?able"
            r"|(?:does not|doesn't|do not|don't|did not|didn't) (?:currently )?exist"
            r"|(?:couldn't|could not) be found)",
            r"(?:unknown|no such|invalid|non-?existent|illegal)"
            rf"(?: \w{{1,20}}){{0,3}} {_MAILBOX}\b(?! error)",
            r"(?:@|\))[>'\"]?(?:\.\.\.|:)? (?:does not|doesn't|not) exist|unknown user\b",
            r"tried to reach does not exist",  # Gmail
            r"no (?:mail ?box|account|user|one|recipient)(?: \w{1,20}){0,3}"
            r" (?:here|by that name|at this|found)",
            rf"no valid recipients|not a (?:valid|known|registered|local)(?: \w{{1,20}})? {_MAILBOX}",
            r"(?:doesn't|does not) have an? (?:\S{1,80} )?account",  # Yahoo
            r"recip(?:ient)?not ?found",  # Exchange
            r"not listed in (?:public|domino)|not in (?:our|the) (?:directory|list)",  # Notes, Domino
            r"badrcptto|not our (?:user|customer)|no longer on server",
            r"(?:user|mail ?box|recipient|person) has moved",  # Courier  # qmail
            r"address(?:es)? rejected\b(?!:)",
            r"destinataire invalide|utilisateur inconnu|n'existe pas(?! ou)",  # Orange, La Poste
            r"no existe|desconocid[oa]|não existe|nessun utente|inesistente|sconosciuto",
            r"(?:empfänger|benutzer|adresse).{0,40}"
            r"(?:unbekannt|existiert nicht|nicht (?:gefunden|vorhanden))",
            r"nie istnieje|bestaat niet|onbekende gebruiker|не существует|не найден",
            r"見つかりません|存在しません|リストにありません",  # Domino, Notes
        ),
        Meaning.CLOSED: (
            # Gmail, Yahoo, vpopmail, EZweb, La Poste, i.ua, Apple
            rf"{_MAILBOX}(?:\(s\))?\b.{{0,40}}\b(?:disabled|suspended|inactive|deactivated|discontinued"
            r"|locked|closed|frozen|blocked|expired|terminated|no longer|abandoned)",
            rf"(?:disabled|inactive|suspended|closed|deactivated) (?:\w{{1,20}} )?{_MAILBOX}",
            r"no longer (?:accepts (?:e-?)?mail(?! from)|in use|works|valid)",
            r"has left the (?:company|organi[sz]ation)",
            r"compte du destinataire est bloqu[ée]",
        ),
        Meaning.CONTENT: (
            r"\bspam|\bvirus|malware|phish|unsolicited|\bube\b|suspicious|scored as",
            r"content (?:was )?(?:rejected|refused|denied)|message content|its content|url in message",
            r"illegal attachment|header error|duplicate header|addresses in from|rfc ?5322|8-bit data",
            r"message filtered|mail rejet[ée]",
        ),
    }
)

# They say so where no code does.
VAGUE = _table(
    {
        Meaning.POLICY: (
            r"\bpolic(?:y|ies)\b|(?:not|insufficient) (?:\w{1,20} )?(?:permi|allow|author)|not a member",
            r"\bdenied\b|\bblocked\b|\bforbidden\b|\bunauthori[sz]ed",
        ),
        Meaning.AWAY: (
            r"timed? ?-?out|connection (?:refused|reset|lost|closed)|lost connection|try (?:again|later)",
            r"temporar|gr[ea]y-?\s?list|unable to connect|no route|not reachable|giv(?:en|ing) (?:it )?up",
            r"too many hops|hop count|routing loop|name server|lookup failure",
            r"expired|too long|delayed|service (?:not |currently )?(?:un)?available",
        ),
    }
)

# Lists of blocked addresses, by the names that stand in links to them.
LISTS = re.compile(
    r"spamhaus|spamcop|\bsorbs\b|barracudacentral|proofpoint\.com/dnsbl|uceprotect|\bsurbl\b|\buribl\b"
    r"|spamrats|abuseat|invaluement|mailspike|senderscore|\bbackscatterer",
    re.IGNORECASE,
)
