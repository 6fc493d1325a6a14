"""The picture that a shared link shows: what it says is what a model learnt."""

import struct

from scripts.social_preview import FILE, INCHES, attention_after, preview

MIRRORED = list(range(7, -1, -1))


def test_a_model_learns_to_look_backwards():
    weights = attention_after(100)
    assert weights.shape == (8, 8)
    assert weights.argmax(dim=-1).tolist() == MIRRORED
    assert attention_after(1).argmax(dim=-1).tolist() != MIRRORED


def test_the_picture_has_the_size_that_is_asked_for(tmp_path):
    drawn = tmp_path / "drawn.png"
    preview().savefig(drawn)
    for file in (drawn, FILE):
        width, height = struct.unpack(">II", file.read_bytes()[16:24])
        assert (width, height) == tuple(round(100 * inches) for inches in INCHES) == (1200, 630)
