"""Random texts of all kinds of characters, for comparison with `tokenizers`."""

import random
import unicodedata
from functools import cache

JOINED = ("👩‍👩‍👧", "🏳️‍🌈", "👍🏽", "🇫🇷🇩🇪", "é", "क्षि", "한국어", "'s", "'LL", "<|im_start|>")
SPACES = (" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2003", "\u3000", "\x85", "\u200b", "\ufeff")
PLANES = tuple(range(0x11))


@cache
def assigned(plane: int) -> tuple[str, ...]:
    """Return the characters of a Unicode plane that are assigned in this version of Python."""
    codes = range(plane << 16, plane + 1 << 16)
    return tuple(c for c in map(chr, codes) if unicodedata.category(c) not in ("Cn", "Cs"))


def draw_text(rng: random.Random) -> str:
    """Draw a text of at most 12 pieces: spaces, digits, letters, punctuation or rare characters."""
    pieces = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.randrange(7)
        if kind == 0:
            pieces.append(rng.choice(SPACES) * rng.choice((1, 1, 2, 5)))
        elif kind == 1:
            pieces.append("".join(rng.choices("0123456789٣五²Ⅻ", k=rng.randint(1, 7))))
        elif kind == 2:
            pieces.append(rng.choice(JOINED))
        elif kind == 3:
            pieces.append("".join(rng.choices("etaoin shr", k=rng.randint(1, 9))))
        elif kind == 4:
            pieces.append("".join(rng.choices("!?.,'\"()-_#\n/", k=rng.randint(1, 4))))
        else:
            plane = rng.choice((0, 0, 0, *(p for p in PLANES if assigned(p))))
            pieces.append("".join(rng.choices(assigned(plane), k=rng.randint(1, 3))))
    return "".join(pieces)
