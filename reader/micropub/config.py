"""What sites say that they can do, remembered for an hour."""

import hashlib

from django.core.cache import cache

from reader.micropub.site import Site, ask_config
from reader.rules.micropub import Config, Target

AN_HOUR, A_MINUTE = 3600, 60


def config_at(site: Site) -> Config:
    """Asks the site (network), unless it said so within the hour; nothing holds for a minute."""
    key = f"micropub-{hashlib.sha256(f'{site.endpoint} {site.token}'.encode()).hexdigest()}"
    known = cache.get(key)
    if known is not None:
        return Config(known[0], tuple(Target(*one) for one in known[1]))
    found = ask_config(site)
    targets = [(one.uid, one.name) for one in found.targets]
    cache.set(key, (found.media, targets), AN_HOUR if found != Config() else A_MINUTE)
    return found
