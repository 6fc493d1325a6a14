"""Is the toy world's French right, and does no frog turn green?"""

import random

import torch

from course_lib.data.toy_translation_pairs import (
    END,
    ENGLISH,
    FRENCH,
    PAD,
    START,
    draw_batch,
    draw_sentence,
)

FEMININE = {"souris", "grenouille", "vache", "poule"}


def test_adjectives_agree_and_negation_surrounds_the_verb():
    dice, seen = random.Random(0), set()
    for _ in range(2000):
        english, french = draw_sentence(dice)
        for place, word in enumerate(french):
            if word in ("vert", "verte"):
                assert (word == "verte") == (french[place - 1] in FEMININE)
            if word in ("petit", "petite"):
                assert (word == "petite") == (french[place + 1] in FEMININE)
        assert ("not" in english) == ("ne" in french)
        if "ne" in french:
            assert french.index("pas") == french.index("ne") + 2
        assert "green frog" not in " ".join(english)
        seen.update(french)
    assert {"vert", "verte", "petit", "petite", "grenouille", "pas"} <= seen


def test_a_batch_is_padded_behind_the_end():
    torch.manual_seed(0)
    src, tgt = draw_batch(50)
    assert len(src) == len(tgt) == 50
    assert (tgt[:, 0] == START).all()
    for rows, vocabulary in ((src, ENGLISH), (tgt, FRENCH)):
        assert rows.max() < len(vocabulary)
        assert ((rows == END).sum(dim=1) == 1).all()
        after = (rows == END).cumsum(dim=1) - (rows == END).long()
        assert torch.equal(after.bool(), rows == PAD)
