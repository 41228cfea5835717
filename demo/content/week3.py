from demo.content.post import Post

WEEK_3 = (
    Post(
        slug="the-mail-sack",
        title="The mail sack still travels first class",
        author="Maren Holt",
        days_ago=21,
        at="08:25",
        tags=("ferry",),
        body="""
By a rule of 1904 that nobody has repealed, the mail sack has a seat of its own on the ferry, by the window,
on the side that faces the land. Passengers may sit beside it. They may not sit on it.

These days it holds parcels and, at the end of each month, exactly one letter in violet ink. We do not know
who writes it. We do know who gets it, and she smiles for a week, and that is all the information this
office is going to give.
""",
    ),
    Post(
        slug="larch-and-patience",
        title="Larch, and patience",
        author="Tom Ardley",
        days_ago=19,
        at="13:05",
        tags=("boatyard",),
        body="""
The first of the nine planks is in. It took an hour to fit and four months to find: larch of the right age,
that grew slowly, on the north side of something.

The man who sold it to me keeps his boards under a roof, in the wind, for a year for each centimetre. I
asked whether it could be hurried in a kiln. He looked at me as Ines does when people ask for the bread to
be toasted.

Eight to go.
""",
    ),
    Post(
        slug="lost-and-found",
        title="Lost and found",
        author="Ines Calvo",
        days_ago=18,
        at="15:30",
        tags=("bakery", "lists"),
        body="""
Left in the bakery this autumn, and kept behind the counter until somebody is brave enough to ask:

<ul><li>Three umbrellas, all black, all certain that they belong to someone else</li>
<li>A library book about volcanoes, due in 2009</li><li>One earring, in the shape of a herring</li>
<li>A shopping list that says only “the usual, but happier”</li></ul>

The last one we have framed.
""",
    ),
    Post(
        slug="fog-signals",
        title="How to talk to a ship you cannot see",
        author="Maren Holt",
        days_ago=17,
        at="07:45",
        tags=("harbour", "weather"),
        scene="fog",
        alt="A pale morning; sea and sky are hardly to be told apart",
        body="""
One long blast: I am here. Two long blasts: I am here and not moving. Five short ones: I do not understand
what you are doing, and I would like you to reconsider.

It is a small language, and every word of it is polite. I have often thought that it would do for the
council too.
""",
    ),
    Post(
        slug="the-clock-that-runs-on-salt",
        title="The clock that runs on salt air",
        author="Tom Ardley",
        days_ago=16,
        at="18:10",
        tags=("history",),
        body="""
The church clock loses four minutes a week in summer and gains three in winter. The maker, asked about this
in 1888, wrote back that the clock was perfectly regular and that it was the air of the place which was not.

Once a year I climb up to oil it. I have never corrected it. The ferry leaves by the church clock, the
bakery opens by it, and if it is wrong then at least we are all wrong together.
""",
    ),
    Post(
        slug="gerald-a-report",
        title="Gerald: a report",
        author="Ines Calvo",
        days_ago=15,
        at="12:15",
        tags=("gulls", "bakery"),
        body="""
Readers have asked after the gull. He is well. He has learned to knock.

He knocks at ten past six, when the first rolls come out, and again at four, when the unsold ones go into
the basket by the door. My daughter keeps a record in a school notebook. In eleven days he has been late
once, and that day the church clock had stopped.
""",
    ),
)
