from demo.content.post import Post

WEEK_5 = (
    Post(
        slug="a-timetable-for-light",
        title="A timetable for the light",
        author="Maren Holt",
        days_ago=7,
        at="08:00",
        tags=("light", "seasons"),
        scene="dawn",
        alt="First light behind the hills, the water pink and grey",
        body="""
Between now and the turn of the year we lose about two minutes a day. It does not sound like much. It is a
cup of tea every evening, taken from you while you look the other way.

The harbour answers with lamps. The fish hall lights one at four, the bakery at half past three in the
morning, the ferry carries three, and there is the one at the end of the pier. If you stand on the church
hill at five you can see all of them at once, and you may find that nothing is missing.
""",
    ),
    Post(
        slug="how-to-launch-a-boat",
        title="How to launch a boat with six people and a cake",
        author="Tom Ardley",
        days_ago=6,
        at="14:25",
        tags=("boatyard", "lists"),
        body="""
<ol><li>Two at the bow, who do as they are told.</li><li>Two at the stern, who do not talk.</li>
<li>One on the rope. This is me.</li><li>One with the cake, as far from the water as can be arranged.</li>
<li>Wait for the seventh wave. There is no such thing, but it gives everyone time to breathe.</li></ol>

Henrik’s boat is in, dry, and on a new mooring. The cake was lemon.
""",
    ),
    Post(
        slug="salt-butter",
        title="In praise of salt butter",
        author="Ines Calvo",
        days_ago=5,
        at="07:05",
        tags=("bakery", "recipes"),
        body="""
Someone from the mainland asked for the butter without salt. I explained that we have none, that the cows
stand in the wind from the sea, and that it comes like this.

This is not entirely true. But she took the salted one, and an hour later she was back for two more.
""",
    ),
    Post(
        slug="the-choir-rehearses",
        title="The choir rehearses in the ice house",
        author="Maren Holt",
        days_ago=4,
        at="19:40",
        tags=("music",),
        body="""
The parish hall has a new roof that is not finished, so the choir has moved into the old ice house behind
the fish hall. It is round, has no windows, and smells faintly of cod.

It also has an echo of almost four seconds. They began a canon for three voices and, to their surprise,
heard it in five. The conductor has asked the roofers not to hurry.
""",
    ),
    Post(
        slug="small-repairs",
        title="Small repairs",
        author="Tom Ardley",
        days_ago=2,
        at="10:45",
        tags=("boatyard",),
        scene="workshop",
        alt="The yard at the end of the day, the last sun on the water",
        body="""
A hinge, a kettle, a rowlock, a music box, the left stem of a pair of glasses. None of this is boat
building, and I could say no. But people put the thing on the bench, and stand there, and tell me where it
comes from.

I charge nothing for the repair. The story is the price, and I have never been cheated.
""",
    ),
    Post(
        slug="tomorrow-the-first-ferry",
        title="The first ferry of the winter timetable",
        author="Maren Holt",
        days_ago=1,
        at="16:30",
        tags=("ferry", "harbour"),
        scene="dusk",
        alt="A boat on its way home under a red sky",
        body="""
From tomorrow the ferry leaves at ten to seven instead of ten past. Twenty minutes are nothing, unless they
are these twenty minutes.

Captain Brandt has promised to sound the horn at half past six for a week, once, softly. Ines will open at
six. The lamp at the end of the pier needs no timetable. Bring gloves.
""",
    ),
)
