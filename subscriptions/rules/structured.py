"""Structured data: the site, a newsletter, an issue. `facts` have the names of https://schema.org."""

from typing import Any

from subscriptions.rules.site import SiteFacts

Facts = dict[str, Any]


def organization(site: SiteFacts) -> Facts:
    facts = {"name": site.name, "url": site.url, "description": site.about, "logo": site.logo_url}
    return {"@type": "Organization", **facts}


def periodical(site: SiteFacts, *, url: str, **facts: Any) -> Facts:
    return {"@type": "Periodical", "@id": url, "url": url, **facts, "publisher": organization(site)}


def article(newsletter: Facts, *, url: str, **facts: Any) -> Facts:
    links = {"@id": url, "url": url, "mainEntityOfPage": url, "isPartOf": newsletter}
    return {"@type": "NewsArticle", **links, **facts, "publisher": newsletter["publisher"]}
