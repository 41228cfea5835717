from demo.content.post import Post

WEEK_1 = (
    Post(
        slug="the-ferry-comes-in-backwards",
        title="The ferry comes in backwards",
        author="Maren Holt",
        days_ago=35,
        at="08:10",
        tags=("ferry",),
        scene="dawn",
        alt="Sunrise over still water, with hills behind and a small sail",
        body="""
Everyone who arrives here for the first time believes that something has gone wrong. The ferry passes the
pier, stops, thinks, and then comes in with its back to us.

The reason is a shelf of rock that the charts have called the Table since 1840. A ship that enters with its
bow first cannot turn on it; one that enters with its stern first need not turn at all. In the morning it
leaves the way a sensible person leaves a party: facing the door.

Captain Brandt has done this some eleven thousand times. When asked how, she said: “Slowly, and without an
audience.”
""",
    ),
    Post(
        slug="bread-and-barometers",
        title="Bread and barometers",
        author="Ines Calvo",
        days_ago=34,
        at="06:50",
        tags=("bakery", "weather"),
        body="""
A baker has no need of a weather forecast. When the pressure falls, the dough rises faster, and by four in the
morning I know what the ferry will only learn at six.

Yesterday the first batch was over the rim of the bowl before I had found my apron. I baked it anyway, put the
shutters up, and went to tell Tom to move the scaffold. He laughed. By noon he had stopped.

So, for those who asked: yes, the loaves were a little flat, and no, they were not late.
""",
    ),
    Post(
        slug="counting-boats",
        title="Counting boats",
        author="Maren Holt",
        days_ago=32,
        at="18:20",
        tags=("harbour", "numbers"),
        body="""
On the last evening of each month I walk the quay and count. It takes half an hour, or two if people are at
home.

<table><thead><tr><th>Kind</th><th>Last month</th><th>Now</th></tr></thead><tbody>
<tr><td>Fishing boats</td><td>14</td><td>14</td></tr>
<tr><td>Sailing boats</td><td>31</td><td>22</td></tr>
<tr><td>Dinghies</td><td>27</td><td>28</td></tr>
<tr><td>Rafts built by children</td><td>3</td><td>1</td></tr></tbody></table>

The two missing rafts are in my garden, at the request of several parents.
""",
    ),
    Post(
        slug="a-plank-at-a-time",
        title="A plank at a time",
        author="Tom Ardley",
        days_ago=31,
        at="12:30",
        tags=("boatyard",),
        scene="workshop",
        alt="Evening light over the slipway, the hills dark behind it",
        body="""
The Petrel came up the slip this week. She is sixty-two, of larch on oak, and has never been hurried by
anyone.

People expect a restoration to begin with taking things out. It begins with looking. I spent two days with a
torch and a piece of chalk, and marked every plank with one of three signs: leave it, watch it, sorry.

There are nine sorries. That is fewer than I feared, and about as many as there are Saturdays before spring.
""",
    ),
    Post(
        slug="gulls-an-apology",
        title="Gulls: an apology",
        author="Ines Calvo",
        days_ago=30,
        at="16:45",
        tags=("bakery", "gulls"),
        body="""
In an earlier note I called the gull who lives on our roof a thief. This was unfair. A thief takes what is not
offered, and I have since found out that my daughter offers it daily, from the back window, on a plate.

His name, I am told, is Gerald. He prefers the seeded rolls.
""",
    ),
)
