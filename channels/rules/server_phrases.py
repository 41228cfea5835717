"""Phrases of mail servers by meaning, with the servers that use them.

Patterns match lower-case words, with @ for addresses and without links and host names. Gaps are bounded, so
searching is linear. The first matching meaning counts.
"""

import re

from channels.rules.meaning import Meaning

Table = tuple[tuple[Meaning, str], ...]
_MAILBOX = (
    r"(?:user|mail ?box|recipient|account|address|addressee|alias|person|local[ -]?part|user ?name|userid)"
)
_BOX = r"(?:(?:user'?s? ?)?mail ?box|in-?box|mail ?(?:folder|drop|dir|file)|account)"
_UP_TO_2, _UP_TO_4 = r"(?:\S{1,30} ){0,2}", r"(?:\S{1,30} ){0,4}"
_MAIL = r"(?:message|e-?mail|mail|letter|attachment|header)s?"
# Blocklists by the names in their links.
LISTS = re.compile(
    r"spamhaus|spamcop|\bsorbs\b|barracudacentral|proofpoint\.com/dnsbl|uceprotect|\bsurbl\b|\buribl\b"
    r"|spamrats|abuseat|invaluement|mailspike|senderscore|\bbackscatterer",
    re.IGNORECASE,
)


def _table(phrases: dict[Meaning, tuple[str, ...]]) -> Table:
    return tuple((meaning, "|".join(words)) for meaning, words in phrases.items())


# Decisive whatever any code says.
SURE = _table(
    {
        Meaning.SIZE: (
            rf"{_MAIL}(?: size| length| line)? (?:is |was |has )?(?:too (?:big|large|long)"
            r"|exceed(?!\w* (?:\S{1,30} ){0,3}(?:spam|score|threshold|quota|per\b|hop))"
            rf"|larger than(?!.{{0,60}}mail ?box))",
            # sendmail, Postfix (RFC 1870), Exchange, Gmail
            rf"exceed(?:s|ed|ing)? {_UP_TO_4}(?:message |mail )size",
            r"(?<!box )exceeds (?:the )?(?:maximum|fixed|maximal|max|allowed) size(?! allowed for mail)",
            r"(?<!box )size limit (?:is |was |has been )?(?:exceeded|reached)",  # 1&1
            rf"max(?:imum|imal)?\.? {_UP_TO_2}(?:message|mail) size",
            r"(?:message|mail) ?(?:size limit|length limit|size (?:\w+ ){0,2}violat)",
            rf"taille {_UP_TO_2}(?:du |des )?(?:message|mail|courriel)s?|message {_UP_TO_2}volumineux",
            r"message trop (?:gros|grand|lourd)",
            r"nachricht(?:engröße)? (?:ist |war )?(?:zu (?:groß|gross|lang)|überschreitet)"
            r"|mail ist zu gro(?:ß|ss)",
            rf"größe der (?:nachricht|e-?mail)|tama[ñn]o {_UP_TO_2}del mensaje|tamanho {_UP_TO_2}da mensagem",
            r"mensaje (?:es )?demasiado grande|mensagem (?:é )?(?:muito|demasiado) grande",
            rf"messaggio {_UP_TO_2}troppo grande|dimension[ei] {_UP_TO_2}del messaggio",
            r"bericht is te groot|grootte van het bericht",
            r"line limit exceeded",  # Exim
            r"recipsizelimit",  # Exchange
            r"message file too big|headers too large",  # qmail; sendmail
        ),
        Meaning.RATE: (
            r"too many (?:\w+ ){0,2}(?:connection|message|e?mail|recipient|session)"
            r"(?!s? in\b|s? on (?:\w+ )?(?:server|mail ?box))",
            r"\brate (?:limit|(?:\w+ ){0,3}exceed)|\brate-?limit|throttl|frequency limited|unusual rate",
            r"unexpected volume|\btss0\d",  # Yahoo
            r"(?:daily|hourly|sending) (?:\w+ )?(?:limit|quota)|reached your daily",
            r"connection limit|connections? (?:\w+ ){0,3}per|(?:e-?mails|messages"
            r"|recipients) per (?:hour|day|min)",
            r"excessive volume|message threshold|thread limit|per connection reached|submission quota",
            r"too many errors from|(?:send\w{0,3}|connect\w{0,3}|messages) too (?:fast|quickly"
            r"|frequent)|slow(?:er)? down|again slower",
            r"trop de (?:connexions|messages|mails)|zu viele (?:verbindungen|nachrichten|e?-?mails)",
            r"demasiad[oa]s (?:conexiones|mensajes|correos)|muitas conex|troppe connessioni"
            r"|te veel verbindingen",
        ),
        Meaning.FULL: (
            # Dovecot, qmail, Messaging Server; Gmail
            rf"\bover ?-?{_UP_TO_2}quota|overdrawn {_UP_TO_2}quota|(?:storage|disk ?space|disk) quota",
            r"quota (?:\w+ ){0,3}(?:exceed|reached|full|violat)",
            r"(?:exceed\w{0,3}|out of|reach\w{0,3}|violat\w{1,3}) (?:\w+ ){0,3}quota",  # Dovecot, Postfix
            r"quotaexceeded",  # Exchange
            rf"{_BOX} (?:\(.{{0,80}}\) )?(?:is |has been |was )?(?:currently |almost |over)?full",  # sendmail
            # IMail, Postfix, Domino; Biglobe
            rf"{_BOX} (?:size )?(?:has |would |will |is |limit )?(?:exceed|over\b|reached (?:the"
            rf"|its) limit)",
            r"exceeded the local limit|full (?:mail ?box|in-?box)|mail ?box (?:\w+ ){0,2}at capacity",
            r"too many messages (?:in|on) (?:\w+ )?(?:mail ?box|in-?box|server|folder)",
            r"exceed(?:ed|s|ing)? (?:\w+ ){0,3}(?:storage|mail ?box|disk ?space|receiving limits)",
            # Gmail
            r"out of (?:disk |mail ?box )?(?:storage|space)|no (?:more |free )?(?:disk |storage )?space",
            r"(?:not|n't) (?:have )?(?:enough|sufficient) (?:\w+ )?(?:space|storage|room)"
            r"|space (?:\w+ ){0,3}used up",
            r"insufficient (?:disk |system |user |mail ?box )?(?:space|storage)",  # RFC 5321 §4.2.3
            r"storage (?:\w+ ){0,2}(?:exceeded|is full|limit)",
            r"too much mail data",  # sendmail
            r"receiving mail (?:too quickly|at a rate)",  # Gmail
            # GMX, T-Online
            rf"(?:postfach|posteingang|mailbox|konto) {_UP_TO_4}(?:voll|überfüllt|überschritten"
            rf"|uberschritten)\b",
            rf"(?:speicher\w{{0,20}}|kontingent|quota) {_UP_TO_4}(?:voll|überschritten|erschöpft"
            rf"|ausgeschöpft)",
            # Orange, Free; Libero
            rf"bo[iîí]te {_UP_TO_4}(?:pleine|satur)|quota {_UP_TO_2}(?:d[ée]pass|atteint|satur)",
            rf"espace {_UP_TO_4}(?:insuffisant|satur)|casella {_UP_TO_4}(?:piena|esaurit)",
            rf"spazio {_UP_TO_4}(?:esaurito|insufficiente)|quota {_UP_TO_2}superat",
            rf"(?:buz[oó]n|bandeja|casilla) {_UP_TO_4}(?:llen[oa]|excedid|super)",
            rf"(?:cuota|cota|quota) {_UP_TO_4}(?:excedid|superad|sobrepasad|ultrapassad|atingid)",
            rf"(?:excedi|super|ultrapass|exced)\w{{0,6}} {_UP_TO_2}(?:cuota|cota|quota)",
            r"espa[cç]i?o (?:\w+ ){0,2}insuficiente|(?:sin|sem) espa[cç]i?o",
            rf"caixa {_UP_TO_4}(?:cheia|lotada|esgotad)",
            rf"(?:mailbox|postvak|postbus|brievenbus|inbox) {_UP_TO_2}(?:vol|overvol)\b",
            rf"quotum {_UP_TO_2}overschreden|skrzynka {_UP_TO_2}(?:jest )?(?:pełna|przepełniona|zapełniona)",
            rf"ящик {_UP_TO_2}(?:переполнен|полон|заполнен)|превышен\w{{0,2}} {_UP_TO_2}(?:квот|лимит)",
            r"邮箱(?:空间)?(?:已满|不足)|容量(?:已满|不足)",
            r"容量を(?:超|越)え|(?:一杯|いっぱい)です",  # Yahoo Japan, docomo
        ),
        Meaning.SENDER: (
            # Postfix, Cox, Spectrum
            r"sender(?:'s)?(?: e-?mail)?(?: address| domain)?(?: was| is)?"
            r" (?:rejected|refused|denied|blocked|invalid|empty|not (?:allowed|verified))",
            r"(?:sender|originator|(?:from|return) address)(?:'s)?(?: \w{1,20}){0,3}"
            r" (?:unknown|not (?:found|exist|known|valid)|does not|doesn't|could not)",
            r"(?:invalid|unknown|bad|illegal|no such|non-?existent) (?:sender|originator|from|return)\b",
            r"\babsender|exp[ée]diteur|[ée]metteur|remitente|remetente|mittente|\bafzender",
            r"bogus (?:mail ?from|sender|return)|dns check failed",
            r"sending domain has no|unresolvable .{0,20}domain",
            r"sender verify|callback setup|while verifying|unrout(?:e)?able sender",  # Exim
            r"domain of sender",  # sendmail
            r"not owned by user",  # Postfix: reject_sender_login_mismatch
            r"unauthenticated senders",  # SendGrid
            r"not (?:allowed|permitted|authorized) to send (?:from|as)|from: domain is invalid",  # GoDaddy
            r"(?:mail ?from|sender|originator|return[ -]path):? <?@>?:? (?:is |was )?"
            r"(?:rejected|refused|denied|not|unknown|invalid|does)",
            r"mail ?from domain|sending to/from an address",  # Exim's local blocklists
            r"sending this from a different address",  # Google Workspace
            # Position in the dialogue.
            r"in reply to mail from|after mail from:|\[mail[_ ]from\]|but sender was rejected",
        ),
        Meaning.IDENTITY: (
            r"\bspf\b|\bdkim\b|\bdmarc\b|sender id\b|purported responsible",
            r"authentication (?:checks|information|level)|required authentication",  # Gmail, Microsoft
            r"unauthenticated (?:e-?mail|sender)|sender is unauthenticated",  # Gmail
            r"reverse[ -]?(?:dns|lookup|hostname)|\br(?:ev)?dns\b|\bptr\b|cannot find your hostname",
            r"ip name lookup|unverify?able sending|unresolvable relay|forward dns",  # sendmail
            r"anti-?spoof|spoofed|not passed validation|batv\b|unsigned dsn|backscatter",
            r"(?:bad|invalid) (?:helo|ehlo)|impersonat|ehlo argument|verify (?:the )?sender",
            r"valid sender domain|mismatches client ip|invalid ip for sending",  # Outlook, Yahoo
            # qmail; Postfix
            r"my name was rejected|(?:helo|ehlo)(?: command| hostname| name)? (?:rejected|refused)",
        ),
        Meaning.BLOCKED: (
            r"(?:black|block|deny)[ -]?list|blocked (?:using|for|due)|\bd?n?s?rbl\b|dns-?bl\b",  # Postfix
            # Gmail, Yahoo, Cisco
            r"(?:poor|bad|low|ip|sender|domain|its|your|e-?mail|network) reputation|reputation (?:score"
            r"|filter)",
            r"user complaints|spamming|bad ip profile|permanently deferred",
            r"dynamic(?:ally assigned)? ip|open proxy",
            r"\bip-?adres|\badresses? ip\b|(?:direcci[oó]n|endere[cç]o|indirizzo) ip\b",
            r"sperrliste|schwarzen? liste|liste noire|lista (?:negra|nera)|zwarte lijst",
            r"(?<!not )(?<!n't )\blisted (?:by|in|on|at|as)\b|\b(?:spamhaus|spamcop|barracuda|uceprotect"
            r"|sorbs)\b",
            r"(?:from|access from) (?:your |this )?(?:ip|network|host|server)\b.{0,60}(?:block|refus"
            r"|reject|denied|ban)",
            # Cisco; T-Online; Orange
            r"your access to|\bip=\S{3,45} -|service refus[eé]|accepting mail from your ip",
            r"(?:banned|blocked) (?:sending )?ip\b",  # Microsoft
            r"\bip\b(?: address)?(?: \[?[\d.]{7,15}\]?)? (?:is |has been |was )?(?:temporarily )?"
            r"(?:blocked|banned|listed|rejected|black)",
            r"client (?:host |address )?(?:\S{0,80} )?(?:rejected|blocked)",  # Postfix
            r"blocked - see|host network not allowed|recipient preferences",  # Proofpoint; Mimecast; Facebook
            r"messages from \S{0,80} ?(?:weren't sent|are blocked)|smtp server of your isp",  # Outlook
            r"\b(?:sc|dy|ou|rl)-00\d\b",  # Outlook's codes
            r"open relay\b|no access from|not accepting connections",  # sendmail; iCloud
            r"bloqu[ée]e? pour",  # Orange
            # Our account.
            r"\byour (?:e?-?mail )?(?:account|user|domain|server|ip|host|hostname|network|address)\b.{0,40}"
            r"(?:disabled|suspended|blocked|locked|closed|rejected|denied|unknown|exist|not (?:a|f|k|l|p))",
            # Position in the dialogue.
            r"refused to talk to me: 5|after (?:initial connection|ehlo|helo)",  # Postfix; Exim
        ),
        Meaning.RELAY: (
            r"relay(?:ing)? (?:access )?(?:is )?(?:denied|refused|prohibited|not|forbidden)|\bto relay\b",
            r"(?:does not|do not|don't|no|not|cannot|unable to|insecure(?: mail)?) relay",
            r"rcpthost",  # qmail
            r"e-?mail address is not verified",  # Amazon SES
        ),
        Meaning.LOGIN: (
            r"smtp auth|authentication (?:is )?required(?! ##)",  # not Exchange's, which is the recipient's
            r"(?:must|need to|please) (?:first )?(?:authenticate|log ?in)|requires authentication",
            r"must issue a starttls",
        ),
        # Challenge/response systems, and a reader's own filters.
        Meaning.POLICY: (
            r"sender (?:is )?not (?:pre-?approved|accepted)|senderfilterconfig|list of senders",
            r"receive limit|exceeded their limit for",
            r"from address is not (?:in|on|allow)",
            r"confirmation (?:is )?required|require\w{0,3} (?:\w+ ){0,2}confirmation|challenge[ /-]?response",
            r"blocked by (?:our|the|a|an) (?:\w+ )?filter",
            r"\bboxbe\b|spam ?arrest|\btmda\b|(?:confirm|prove) (?:that )?you(?:r|'re| are)\b",
            r"(?:blocked|rejected|refused) by (?:the |this )?(?:recipient|user|addressee)\b"
            r"(?!'?s? (?:domain|server|host|mail))|(?:due to|by) user rules",
            rf"(?:recipient|user|addressee) {_UP_TO_2}(?:has blocked|blocks|refuses?) (?:you|this|mail"
            rf"|messages|to)",
            r"only registered users|does not want (?:e-?)?(?:mail|messages)|must be signed",
            rf"only accept\w{{0,3}} {_UP_TO_2}(?:mail|messages) from|members?-only|non-?member"
            rf"|closed mailing list",
        ),
        # qmail also says this of failed look-ups.
        Meaning.NO_HOST: (r"(?:find|found) any host (?:named|by that name)",),
    }
)

# Decisive unless the server would be asked again.
LIKELY = _table(
    {
        Meaning.AWAY: (
            r"temporar\w{1,3} (?:locked|disabled|suspended|blocked(?! by)|unavailable|deactivated)",
        ),
        Meaning.NO_HOST: (
            # Postfix, sendmail, qmail, OpenSMTPD
            r"(?:host|domain)(?: or domain)?(?: name)? (?:was |is )?(?:unknown|not found(?!, try))",
            r"domain \S{1,80} (?:is |was )?(?:unknown|not found|does not exist|doesn't exist)",
            r"(?:unknown|no such|illegal) (?:host|domain)|bad destination system",
            r"domain (?:does not|doesn't|must) exist|non-?existent (?:host|domain)",
            # Resolver errors of Linux, macOS and Windows.
            r"name or service not known|nodename nor servname|no address associated with"
            r"|no such host is known",
            r"domain (?:\S{1,80} )?existiert nicht|domaine (?:inconnu|inexistant)"
            r"|dominio (?:\w+ )?(?:inesistente|no )",
            r"unrout(?:e)?able (?:address|mail domain|recipient)",  # Exim
            r"(?:find|found) (?:a |any )?(?:mail exchanger|mx\b)|\bno mx\b",
            r"(?:does not|doesn't|never) (?:accept|receive)s? (?:e-?)?mail"
            r"(?! (?:from|sent|with|by|that|over|via|on|unless))",
            r"no (?:valid |usable )?(?:mail (?:servers?|exchangers?|hosts?)|mx (?:records?|hosts?))\b"
            r"(?! (?:is |are )?(?:currently |temporarily )?(?:available|reachable|respond))",  # hMailServer
            r"null ?mx",  # RFC 7505
            r"indicated no smtp service|domain is not reachable|nxdomain",  # Exim; Outlook; Google
        ),
        Meaning.NO_ADDRESS: (
            rf"(?<!ip ){_MAILBOX}(?:e?s|\(e?s\))?\b(?: \S{{1,80}}){{0,2}} (?:is |was |are |were )?"
            r"(?:unknown|not (?:found|known|exist|listed|valid|local|present|active|recogni[sz]ed"
            r"|in directory)"
            r"|unavail?able|non-?existent|undefined"
            r"|(?:does not|doesn't|do not|don't|did not|didn't) (?:currently )?exist"
            r"|(?:couldn't|could not) be found)",
            rf"(?<!ip ){_MAILBOX}:? (?:is |was )?(?:invalid|missing|unrecogni[sz]ed)\b",
            r"(?:unknown|no such|invalid|non-? ?existent|illegal|unrecogni[sz]ed|bad)[ -]"
            rf"(?:\w{{1,20}} ){{0,3}}{_MAILBOX}\b(?! error)",
            r"@[>'\")]{0,2} (?:is |was )?(?:not found|unknown|invalid)\b|(?:user|recipient)unknown"
            r"|nosuchuser",
            rf"(?:not an?|no longer an?|isn't an?|in)[ -]?active {_MAILBOX}",
            r"(?:@|\))[>'\"]?(?:\.\.\.|:)? (?:does not|doesn't|not) exist|unknown user\b",
            r"(?:tried|trying) to reach does not exist",  # Gmail
            r"no (?:mail ?box|account|user|one|recipient)(?: \w{1,20}){0,3}"
            r" (?:here|by that name|at this|found|available|for this|with that)",
            r"(?:couldn't|could not|can't|cannot) find (?:\w{1,4} )?(?:user|mail ?box|account|recipient)",
            r"can't accept user|missing home dir",
            rf"no valid recipients?\b|not a (?:valid|known|registered|local)(?: \w{{1,20}})? {_MAILBOX}",
            r"(?:doesn't|does not) have an? (?:\S{1,80} )?account",  # Yahoo
            r"recip(?:ient)?not ?found",  # Exchange
            # Notes, Domino
            r"reserved by rfc 2606|not listed in (?:public|domino)|not in (?:our|the) (?:directory|list)",
            r"bad(?:rcpt|recipient)to|validrcptto|not our (?:user|customer)|no longer on server",  # qmail
            r"(?:user|mail ?box|recipient|person) has moved",  # Courier
            r"address(?:es)? rejected\b(?! ?:)",
            # Orange, La Poste
            r"(?:destinataire|utilisateur|compte|bo[iî]te|adresse(?! ip)) (?:\S{1,30} ){0,3}"
            r"(?:invalide|inconnue?|inexistante?)|n'existe pas(?! ou)",
            r"no existe|desconocid[oa]|n[ãa]o existe|desconhecid[oa]|nessun utente|inesistente|inexistente",
            r"sconosciuto|(?:utente|destinatario|indirizzo|casella|account) non (?:[èe] )?(?:stat[oa] )?"
            r"(?:esist|trovat|valid|attiv)",
            r"(?:usuario|destinat[aá]rio|usu[aá]rio|direcci[oó]n|endere[cç]o|buz[oó]n) (?:\S{1,30} ){0,2}"
            r"(?:no (?:ha sido )?(?:encontrad|v[aá]lid)|n[aã]o encontrad|inv[aá]lid|incorrect)",
            r"(?:empfänger|benutzer|nutzer|adresse|postfach|mailbox|teilnehmer).{0,40}"
            r"(?:unbekannt|existiert nicht|nicht (?:gefunden|vorhanden|bekannt|gültig)|ungültig)",
            r"(?:unbekannter?|ungültiger?|kein) (?:empfänger|benutzer|nutzer|adresse|postfach)",
            r"nie istnieje|bestaat niet|niet gevonden|ongeldig adres|nie ma takiego|nieznany",
            r"n'existe plus|n'est plus|gibt es nicht",
            r"n[ãa]o [ée] v[áa]lid|no (?:es|est[áa]) (?:v[áa]lid|activ)",
            rf"onbekende (?:gebruiker|ontvanger)|(?:gebruiker|ontvanger|adres) {_UP_TO_2}onbekend",
            r"не существует|нет таког|не найден|неизвестн\w{2,3} (?:пользовател|получател)",
            r"收件人(?:邮件地址)?.{0,80}不存在|用户不存在",
            r"見つかりません|存在しません|リストにありません",  # Domino, Notes
        ),
        Meaning.CLOSED: (
            # Gmail, Yahoo, vpopmail, EZweb, La Poste, i.ua, Apple
            rf"(?<!ip ){_MAILBOX}(?:\(s\))?\b.{{0,40}}\b(?:disabled|suspended|inactive|deactivated"
            r"|discontinued|locked|closed|frozen|expired|terminated|no longer|abandoned)",
            rf"(?<!ip ){_MAILBOX} {_UP_TO_4}(?:is|was|were|has been|have been) (?:\w{{1,20}} )?"
            r"(?:deleted|removed|cancel+ed|retired|archived)",
            rf"(?<!ip ){_MAILBOX}(?:\(s\))?(?: @\S?)? (?:is|was|has been|are) (?:\w{{1,20}} )?"
            r"blocked\b(?! by)",
            rf"(?:disabled|inactive|suspended|closed|deactivated|deleted"
            rf"|archived) (?:\w{{1,20}} )?{_MAILBOX}",
            r"expired (?:account|mail ?box)",
            r"no longer at this|konto (?:\S{1,30} ){0,2}(?:nieaktywne|zablokowane|usunięte)",
            r"no longer (?:accepts (?:e-?)?mail(?! from)|in use|works|valid|exists|employed|with (?:us"
            r"|the|this))",
            r"left (?:the|our|this) (?:company|organi[sz]ation|school|firm)|extended inactivity",
            r"mail receiving disabled|accountdisabled|mailboxdisabled|is not accepting any mail",
            r"(?:compte|bo[iî]te|adresse|destinataire) (?:\S{1,30} ){0,4}(?:d[ée]sactiv|bloqu[ée]"
            r"|ferm[ée]|archiv|supprim)",
            r"(?:konto|postfach|adresse|benutzer) (?:\S{1,80} ){0,3}(?:deaktiviert|gesperrt|gelöscht"
            r"|geschlossen)",
            r"(?:cuenta|buz[oó]n|conta|casella|caixa|account) (?:\S{1,30} ){0,3}"
            r"(?:desactivad|suspendid|cancelad|bloquead|desativad|inativ|suspens|disattivat|sospes"
            r"|disabilitat)",
        ),
        Meaning.CONTENT: (
            r"\bspam|\bvirus|malware|phish|unsolicited|\bube\b|suspicious|scored as",
            r"content (?:was )?(?:rejected|refused|denied)|message content|its content|url in message"
            r"|\bdt:(?:spm|sum)",
            r"anti-?spam|\bas bulk|bulk[ .]?(?:e-?mail|advert)|advertis|\bjunk\b|content (?:filter|restrict"
            r"|policy)|mail content",
            r"(?:banned|unsafe|malicious|unacceptable|prohibited|forbidden) (?:content|attachment|file)",
            r"mime (?:header|error|structure)|improperly-?formatted|base64|attachments?\b|executable",
            r"classifi|pattern detection|conform to|bounce attack",
            r"headers? (?:fail|syntax)|missing (?:message-?id|date|from|header)|lines? too long",
            r"ind[ée]sirable|unerwünscht|no deseado|indesejad|indesiderat|ongewenst",
            r"header size|headers? (?:are|is) (?:not|invalid|missing)|messages with multiple addresses",
            r"illegal attachment|header error|duplicate header|addresses in from|rfc ?5322|8-bit data",
            r"message filtered|mail rejet[ée]",
        ),
    }
)

# Decisive without a code.
VAGUE = _table(
    {
        Meaning.POLICY: (
            r"\bpolic(?:y|ies)\b|(?:not|insufficient) (?:\w{1,20} )?(?:permi|allow|author)|not a member",
            r"\bdenied\b|\bblocked\b|\bforbidden\b|\bunauthori[sz]ed|prohibit|\bbanned\b|restricted"
            r"|protected by",
            rf"(?:{_MAIL}|connection|session|access) (?:\w{{1,20}} ){{0,3}}"
            r"(?:rejected|(?<!connection )refused|not accepted|declined)",
            r"requires (?:encryption|tls|high)|failed to authenticate|incorrect authentication",
            r"authenti(?:fi)?cation (?:credentials|failed|failure|invalid|requise)",
            r"(?:starttls|tls|encryption) (?:is )?(?:required|needed)",
            r"relaying (?:mail )?(?:to|for)\b|as a relay|not a gateway|(?:don't|do not) handle mail for",
            r"pol[ií]tica|politique|richtlinien?\b|unacceptable|members may post",
            rf"(?:mensaje|correo|mensagem|messaggio|nachricht|bericht|courriel|{_MAIL}) {_UP_TO_4}"
            r"(?:rechazad|recusad|rejeitad|rejet[ée]|refus[ée]e?\b|abgelehnt|abgewiesen|zurückgewiesen"
            r"|rifiutat|respint|geweigerd)",
            r"refus\w{1,3} to (?:receive|accept)|organi[sz]ational settings|captcha|mass mail"
            r"|protocol violation",
            r"(?:do|does) not (?:currently )?accept|not subscribed to|low priority|rejecting\b",
        ),
        Meaning.AWAY: (
            r"timed? ?-?out|connection (?:refused|reset|lost|closed)|lost connection|try (?:again|later)",
            r"temporar|gr[ea]y-?\s?list|unable to connect|no route|not reachable|giv(?:en|ing) (?:it )?up",
            r"too many hops|hop count|routing loop|name server|lookup failure",
            r"expired|too long|delayed|service (?:not |currently )?(?:un)?available",
        ),
    }
)
