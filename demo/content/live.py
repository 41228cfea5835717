"""Short notes, repeated while the demo runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """`{at}` in the title is its time."""

    title: str
    author: str
    body: str
    scene: str = ""
    alt: str = ""


NOTES = (
    Note(
        "From the quay, {at}",
        "Maren Holt",
        "The ferry is in. Eleven passengers, nine bicycles, one cello, which had a seat. The wind has "
        "gone round to the west and the flag on the fish hall has noticed.",
    ),
    Note(
        "Out of the oven, {at}",
        "Ines Calvo",
        "Seeded rolls, a second batch. The first went to a school class on its way to the lighthouse, who "
        "paid in coins and, in one case, with a shell.",
    ),
    Note(
        "At the slip, {at}",
        "Tom Ardley",
        "Another plank is steaming. For the next half hour I can think of nothing else, so please "
        "do not bring me any kettles.",
        "workshop",
        "Late light over the slipway",
    ),
    Note(
        "Weather, {at}",
        "Maren Holt",
        "Cloud from the north, in no hurry. Pressure steady. Gerald is facing the wind, which he only does "
        "when there is going to be less of it.",
    ),
    Note(
        "Seen from the office, {at}",
        "Maren Holt",
        "A seal, beside the mail boat, on its back. It looked at the office for some time, and the office "
        "looked back.",
        "noon",
        "A wide bright sea under a high sky",
    ),
    Note(
        "A question, {at}",
        "Ines Calvo",
        "Who ordered a cake that says “sorry about the dinghy”? It has been ready since this morning, "
        "and Tom has begun to guess.",
    ),
)
