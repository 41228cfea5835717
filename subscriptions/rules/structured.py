"""Structured data about the site, a newsletter and an issue (https://schema.org)."""

from collections.abc import Sequence
from typing import Any

from subscriptions.rules.site import SiteFacts


def organization(site: SiteFacts) -> dict[str, Any]:
    return {
        "@type": "Organization",
        "name": site.name,
        "url": site.url,
        "description": site.about,
        "logo": site.logo_url,
    }


def periodical(
    *,
    url: str,
    name: str,
    site: SiteFacts,
    description: str = "",
    language: str = "",
    image: str = "",
    accounts: Sequence[str] = (),
) -> dict[str, Any]:
    """`accounts` are the newsletter's pages at other services."""
    return {
        "@type": "Periodical",
        "@id": url,
        "url": url,
        "name": name,
        "description": description,
        "inLanguage": language,
        "image": image,
        "publisher": organization(site),
        "sameAs": list(accounts),
    }


def article(
    *,
    url: str,
    title: str,
    published: str,
    updated: str,
    part_of: dict[str, Any],
    summary: str = "",
    language: str = "",
    picture: str = "",
) -> dict[str, Any]:
    """Times are in ISO 8601."""
    return {
        "@type": "NewsArticle",
        "@id": url,
        "url": url,
        "mainEntityOfPage": url,
        "headline": title,
        "description": summary,
        "datePublished": published,
        "dateModified": updated,
        "inLanguage": language,
        "image": picture,
        "publisher": part_of["publisher"],
        "isPartOf": part_of,
    }
