"""Are the corpora read as they were written?"""

import gzip
from collections import Counter

import pytest

from course_lib.data.corpora import readers
from course_lib.data.corpora.readers import (
    read_banking77,
    read_blimp,
    read_multi30k,
    read_tiny_shakespeare,
)


@pytest.fixture
def real_data(course_data, no_network, monkeypatch):
    """Make the corpora's readers use the folder of real data, without a network."""
    monkeypatch.setenv("COURSE_DATA", str(course_data))


@pytest.mark.parametrize(
    ("split", "count"), [("train", 29000), ("val", 1014), ("test_2018_flickr", 1071)]
)
def test_multi30k_has_its_pairs_in_every_direction(real_data, split, count):
    there = read_multi30k(split, "en", "de")
    assert len(there) == count
    assert there == [(src, tgt) for tgt, src in read_multi30k(split, "de", "en")]
    assert all(src and tgt and src == src.strip() and tgt == tgt.strip() for src, tgt in there)
    assert [src for src, _ in there] == [src for src, _ in read_multi30k(split, "en", "fr")]


def test_lines_of_multi30k_end_at_line_feeds_alone(monkeypatch, tmp_path):
    text = "one\u2028still one\x0b\n two \n"  # characters that splitlines takes for ends
    (tmp_path / "file.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(readers, "fetch", lambda *_: tmp_path / "file.gz")
    assert [src for src, _ in read_multi30k("val", "en", "de")] == ["one\u2028still one", "two"]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(("dev", "en", "de"), "split"), (("val", "cs", "de"), "src"), (("val", "en", "e"), "tgt")],
)
def test_unknown_split_or_language_is_rejected(real_data, arguments, name):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        read_multi30k(*arguments)


def test_banking77_has_its_questions(real_data):
    train, test = read_banking77("train"), read_banking77("test")
    assert (len(train), len(test)) == (10003, 3080)
    assert len({intent for _, intent in train}) == 77
    assert set(Counter(intent for _, intent in test).values()) == {40}
    assert train[0] == ("I am still waiting on my card?", "card_arrival")
    with pytest.raises(ValueError, match="split must be one of"):
        read_banking77("val")


def test_blimp_has_its_pairs(real_data):
    pairs = read_blimp()
    counts = Counter(pair.paradigm for pair in pairs)
    assert len(counts) == 67
    assert set(counts.values()) == {1000}
    assert list(counts) == sorted(counts)
    assert sum(pair.good == pair.bad for pair in pairs) == 7  # a slip of the corpus
    assert pairs[0].good == "Who should Derek hug after shocking Richard?"


def test_tiny_shakespeare_is_divided_as_nanogpt_divides_it(real_data):
    train, validation = read_tiny_shakespeare()
    assert (len(train), len(validation)) == (1003854, 111540)
    assert len(set(train + validation)) == 65
    assert train.startswith("First Citizen:\nBefore we proceed")
