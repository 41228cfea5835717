"""Posts from before the feed was added, which nobody gets by mail."""

from demo.content.post import Post

BEFORE = (
    Post(
        slug="why-a-notebook",
        title="Why a harbour keeps a notebook",
        author="Maren Holt",
        days_ago=44,
        at="09:15",
        tags=("harbour",),
        body="""
There has been a notebook on the windowsill of the harbour office since 1931. It holds the weather, the boats,
the price of diesel and, on one page, a drawing of a very angry gull.

When the office got a website, somebody had to decide what to put on it. We put the notebook there. Three of
us take turns: Tom from the boatyard, Ines from the bakery, and me, who has the key.
""",
    ),
    Post(
        slug="the-bell-on-the-pier",
        title="The bell on the pier",
        author="Tom Ardley",
        days_ago=40,
        at="17:40",
        tags=("harbour", "history"),
        scene="fog",
        alt="Fog over grey water, the far shore a pale stripe",
        body="""
Visitors ask whether the bell still works. It does, and it needs no one: the swell rocks the float, the float
pulls the rope, and the bell says the same word it has said for ninety years.

In thick fog the fishermen do not look at a screen first. They cut the engine and listen.
""",
    ),
    Post(
        slug="before-the-first-storm",
        title="Before the first storm",
        author="Maren Holt",
        days_ago=38,
        at="08:05",
        tags=("harbour", "lists"),
        body="""
The list that hangs in the office, copied here because somebody spilled tea on it:

<ul><li>Double the lines on the windward side.</li><li>Take the flowerpots in. All of them, Ines.</li>
<li>Lift the dinghies.</li><li>Put the kettle on early.</li></ul>
""",
    ),
)
