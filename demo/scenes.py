from dataclasses import dataclass

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Scene:
    """`sky` and `sea` are gradients downwards; `sun` is x, y and radius in pixels."""

    sky: tuple[Colour, Colour]
    sea: tuple[Colour, Colour]
    light: Colour
    sun: tuple[int, int, int] | None = None
    hills: tuple[Colour, ...] = ()
    rough: float = 1.0
    boat: int | None = None


SCENES = {
    "dawn": Scene(
        sky=((86, 118, 160), (250, 208, 178)),
        sea=((226, 186, 170), (70, 96, 128)),
        light=(255, 236, 206),
        sun=(500, 215, 26),
        hills=((128, 122, 148), (92, 92, 122)),
        rough=0.6,
        boat=170,
    ),
    "dusk": Scene(
        sky=((56, 48, 92), (238, 128, 92)),
        sea=((196, 104, 92), (38, 38, 70)),
        light=(255, 196, 140),
        sun=(250, 232, 30),
        hills=((104, 66, 92), (62, 46, 76)),
        rough=0.9,
        boat=520,
    ),
    "night": Scene(
        sky=((10, 16, 36), (48, 66, 104)),
        sea=((36, 52, 86), (8, 12, 26)),
        light=(226, 230, 214),
        sun=(540, 110, 20),
        hills=((18, 26, 48),),
    ),
    "noon": Scene(
        sky=((72, 144, 200), (206, 230, 238)),
        sea=((88, 166, 186), (22, 88, 124)),
        light=(250, 254, 255),
        hills=((120, 152, 120),),
        rough=1.3,
        boat=260,
    ),
    "storm": Scene(
        sky=((44, 52, 60), (136, 146, 148)),
        sea=((86, 104, 108), (26, 38, 44)),
        light=(196, 208, 206),
        hills=((70, 80, 84),),
        rough=2.2,
    ),
    "fog": Scene(
        sky=((196, 202, 204), (224, 226, 224)),
        sea=((206, 212, 212), (164, 174, 178)),
        light=(236, 238, 236),
        hills=((194, 200, 202),),
        rough=0.4,
    ),
    "workshop": Scene(
        sky=((92, 110, 128), (248, 202, 132)),
        sea=((214, 168, 120), (62, 74, 86)),
        light=(255, 232, 180),
        sun=(600, 236, 22),
        hills=((98, 88, 84), (58, 54, 58)),
        rough=0.7,
    ),
}
