from demo.content.post import Post

TIDES = """
The highest tides of the season come this week. The quay by the fish hall will be under water for about an
hour, so please do not park there, whatever the sign says; the sign will be under water too.

<table><thead><tr><th>Day</th><th>High water</th><th>Metres</th></tr></thead><tbody>
<tr><td>First</td><td>{first}</td><td>4.9</td></tr>
<tr><td>Second</td><td>{second}</td><td>5.1</td></tr>
<tr><td>Third</td><td>{third}</td><td>5.0</td></tr></tbody></table>

Boots may be borrowed at the office. The left one from the beach is among them.
"""

WEEK_4 = (
    Post(
        slug="high-water",
        title="High water, three days of it",
        author="Maren Holt",
        days_ago=13,
        at="09:20",
        tags=("harbour", "numbers"),
        scene="storm",
        alt="Heavy clouds over a rough sea",
        first_body=TIDES.format(first="19:52", second="20:34", third="21:17"),
        body=TIDES.format(first="17:52", second="18:34", third="19:17")
        + "\nCorrected: the first version of this note was two hours late throughout, as was its author.",
    ),
    Post(
        slug="wet-feet",
        title="Wet feet, dry bread",
        author="Ines Calvo",
        days_ago=12,
        at="07:30",
        tags=("bakery", "weather"),
        body="""
The water came up to the second step and stopped there, as it has done since the step was cut. Somebody knew.

We sold from the window. Henrik came by in the dinghy and took forty rolls to the far quay, with the oars
shipped and the tray on his knees. Not one got wet. He says it was seamanship. Gerald, who followed him all
the way, says it was a great disappointment.
""",
    ),
    Post(
        slug="the-door-number-17",
        title="Number 17, continued",
        author="Maren Holt",
        days_ago=11,
        at="16:20",
        tags=("beach",),
        body="""
A letter has come about the blue door. It is from an island forty kilometres north of us, from a house with
a curtain where its entrance used to be.

They ask whether it could be sent back, and whether we would mind keeping the brass number, as a thank-you,
since the postman finds them anyway. The door travels on the ferry tomorrow. It has been given the seat
beside the mail sack.
""",
    ),
    Post(
        slug="blue-dinghy",
        title="Who has taken the blue dinghy",
        author="Tom Ardley",
        days_ago=10,
        at="08:40",
        tags=("harbour",),
        withdrawn=True,
        body="""
To whoever took the blue dinghy from the slip last night: she leaks, she pulls to the left, and I want her
back. I have a good idea who it was.
""",
    ),
    Post(
        slug="reading-the-water",
        title="Reading the water",
        author="Maren Holt",
        days_ago=9,
        at="17:10",
        tags=("harbour",),
        scene="noon",
        alt="Bright midday sea under a wide sky, with green hills and a small sail",
        body="""
Where it is smooth, something is holding the wind off, or something is just under the surface. Where it is
dark, there is wind coming. Where it is both, go home.

My grandmother taught me this from the kitchen window, with a teaspoon, on a bowl of soup. The first time I
stood at a tiller, it all looked familiar, and I was hungry at once.
""",
    ),
    Post(
        slug="three-planks",
        title="Three planks, and a name",
        author="Tom Ardley",
        days_ago=8,
        at="12:50",
        tags=("boatyard",),
        body="""
Under four coats of white, at the stern, there was another name. Before she was the Petrel she was called
Patience.

I have asked the owner. He thought about it for a whole day and then said that a boat may have a middle
name, like anyone. So she will: in small letters, where only the water reads it.
""",
    ),
)
