"""The preview image of shared links, which shows the attention of a trained model."""

import struct

from scripts.social_preview import FILE, INCHES, attention_after, preview

MIRRORED = list(range(7, -1, -1))


def test_model_learns_to_attend_backwards():
    weights = attention_after(100)
    assert weights.shape == (8, 8)
    assert weights.argmax(dim=-1).tolist() == MIRRORED
    assert attention_after(1).argmax(dim=-1).tolist() != MIRRORED


def test_picture_has_the_requested_size(tmp_path):
    drawn = tmp_path / "drawn.png"
    preview().savefig(drawn)
    for file in (drawn, FILE):
        width, height = struct.unpack(">II", file.read_bytes()[16:24])
        assert (width, height) == tuple(round(100 * inches) for inches in INCHES) == (1200, 630)
