"""What other sites show of a link to a page of ours (Open Graph)."""

from dataclasses import dataclass

from common.text import one_line, shortened
from delivery.rendering.page_posts import LONGEST_PAGE_DESCRIPTION
from subscriptions.branding.brands import Brand, Latest
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.views.rhythm import rhythm


@dataclass(frozen=True, slots=True)
class Share:
    """`is_wide`: the image is a picture of a post, not a mark."""

    url: str
    title: str
    site: str
    description: str = ""
    image: str = ""
    is_wide: bool = False
    type: str = "website"


def share_of(newsletter: Subscribable, brand: Brand, latest: Latest | None) -> Share:
    """Of a newsletter's page: the newest picture there is, else its own."""
    name = str(newsletter)
    picture = latest.picture if latest else ""
    return Share(
        url=page_url(newsletter),
        title=name,
        site=name,
        description=shortened(
            one_line(newsletter.description) or rhythm(newsletter), LONGEST_PAGE_DESCRIPTION
        ),
        image=picture or brand.header_picture_url or brand.logo_url,
        is_wide=bool(picture or brand.header_picture_url),
    )
