"""Posts of the neighbours' blog, whose server fails in the last days."""

from demo.content.post import Post

POSTS = (
    Post(
        slug="four-white-flashes",
        title="Four white flashes, then a pause",
        author="Edda Fahl",
        days_ago=27,
        at="21:30",
        tags=("lighthouse",),
        scene="night",
        alt="The moon above a dark sea, with a path of light on the water",
        body="""
Each light has its own rhythm, so that a sailor knows where she is before she sees the land. Ours is four
white flashes in fifteen seconds. The children on the quay can clap it.

The lamp is a bulb the size of a pear. The lens, which is from 1887, does the rest.
""",
    ),
    Post(
        slug="one-hundred-and-nineteen-steps",
        title="One hundred and nineteen steps",
        author="Edda Fahl",
        days_ago=18,
        at="10:40",
        tags=("lighthouse", "numbers"),
        body="""
Visitors count them on the way up and agree on one hundred and nineteen. On the way down nobody counts, but
everybody is surprised that there are still so many.
""",
    ),
    Post(
        slug="a-bird-in-the-lantern",
        title="A bird in the lantern room",
        author="Edda Fahl",
        days_ago=9,
        at="07:20",
        tags=("lighthouse",),
        scene="storm",
        alt="Grey waves under a low sky",
        body="""
A petrel came in with the storm and slept behind the lens until noon. It weighed as much as two letters. Then
it looked at the sea, decided that it had improved, and went.
""",
    ),
)
