from demo.content.post import Post

WEEK_2 = (
    Post(
        slug="the-lamp-at-the-end",
        title="The lamp at the end of the pier",
        author="Maren Holt",
        days_ago=28,
        at="19:05",
        tags=("harbour", "light"),
        scene="night",
        alt="A low moon over dark water, its light broken on the waves",
        body="""
The lamp burns for three seconds and rests for five. Nobody here can tell you that; everybody here can tap
it on a table.

It is not needed any more. Ships know where they are to the width of a door. Two years ago a kind letter
from the capital proposed to switch it off, and gave the sum that would be saved, which was about the price
of a bicycle.

We held a meeting. It was short. The bicycle was paid for by the choir, and the lamp burns for three
seconds, and rests for five.
""",
    ),
    Post(
        slug="rope-for-beginners",
        title="Rope, for beginners",
        author="Tom Ardley",
        days_ago=27,
        at="10:10",
        tags=("boatyard", "lists"),
        body="""
A visitor asked which knots one really needs. After thirty years I use four:

<ol><li><strong>Bowline.</strong> A loop that never slips and always comes undone.</li>
<li><strong>Cleat hitch.</strong> One turn, one eight, one locking turn. Not five.</li>
<li><strong>Sheet bend.</strong> For two ropes that do not like each other.</li>
<li><strong>Round turn and two half hitches.</strong> For everything else, including dogs.</li></ol>

The rest is decoration, and there is nothing wrong with decoration, as long as nobody has to untie it in the
rain.
""",
    ),
    Post(
        slug="what-the-sea-brought",
        title="What the sea brought",
        author="Maren Holt",
        days_ago=25,
        at="09:30",
        tags=("beach",),
        body="""
After three days of north wind the beach below the church had: four crates, a green glass float, one left
boot of good quality, and a door.

The door is painted blue, has a brass number, 17, and no house attached. It now leans against the office,
and so far two children and one member of the council have knocked.

If you live at number 17 of anything, and have been feeling a draught, please write.
""",
    ),
    Post(
        slug="a-script-for-the-tide-board",
        title="A few lines for the tide board",
        author="Tom Ardley",
        days_ago=24,
        at="21:15",
        tags=("boatyard", "code"),
        body="""
The chalk board at the slip shows how many hours there are until high water. My nephew, who is eleven, has
replaced the arithmetic. He let me print all of it:

<pre><code>from datetime import datetime

def hours_until(high_water: datetime, now: datetime) -> float:
    return round((high_water - now).total_seconds() / 3600, 1)</code></pre>

I asked what happens after high water, when the number becomes negative. He said: “Then you are late.” I
could not find fault with that.
""",
    ),
    Post(
        slug="soup-for-forty",
        title="Soup for forty",
        author="Ines Calvo",
        days_ago=23,
        at="11:40",
        tags=("bakery", "recipes"),
        body="""
The choir sang for the lamp, so the bakery cooked for the choir. For those who asked how:

<ul><li>6 kg of potatoes, peeled by the basses</li><li>3 kg of leeks, washed twice</li><li>2 litres of
cream</li> <li>Smoked fish, as much as Henrik will part with</li><li>Dill, at the end, and more than you
think</li></ul>

Cook the potatoes and leeks until a spoon goes through. Add the fish when the tenors arrive; they are always
last. Serves forty, or thirty-one and Gerald.
""",
    ),
    Post(
        slug="a-quiet-word",
        title="A quiet word for the off season",
        author="Maren Holt",
        days_ago=22,
        at="17:55",
        tags=("harbour", "seasons"),
        scene="dusk",
        alt="A red dusk, with two lines of hills and a boat coming home",
        body="""
There is a week, and it is always the same week, when the last visitors have gone and the first storm has
not come. The harbour is so still that the boats seem to be standing on their own reflections.

<blockquote><p>The sea is calm to-night. The tide is full, the moon lies fair upon the straits.</p>
<p>Matthew Arnold, <cite>Dover Beach</cite></p></blockquote>

Nothing happens in this week. I recommend it to everybody.
""",
    ),
)
