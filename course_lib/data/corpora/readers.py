"""Readers of the corpora: pairs of sentences, or texts with labels, as plain Python.

Each downloads its corpus if it is missing; ``catalog`` has the terms of use.
"""

import csv
import gzip
import io
import json
import zipfile
from typing import Literal, NamedTuple, get_args

from course_lib.data.corpora.catalog import BANKING77, BLIMP, MULTI30K, TINY_SHAKESPEARE, fetch

Language = Literal["en", "de", "fr"]
Multi30kSplit = Literal[
    "train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr"
]


class MinimalPair(NamedTuple):
    """Two sentences that differ in one point of grammar.

    >>> pair = MinimalPair(good="Cats sleep.", bad="Cats sleeps.", paradigm="agreement")
    >>> pair.bad
    'Cats sleeps.'

    Attributes:
        good: The grammatical sentence.
        bad: The ungrammatical sentence.
        paradigm: The kind of the pair, such as ``adjunct_island``.
    """

    good: str
    bad: str
    paradigm: str


def read_multi30k(split: Multi30kSplit, src: Language, tgt: Language) -> list[tuple[str, str]]:
    """Read pairs of a caption in language ``src`` and its translation in ``tgt``.

    ``train`` has 29,000 pairs, ``val`` 1,014, ``test_2016_flickr`` 1,000.

    Source: Elliott et al. (2016), section 2.
    """
    _check("split", split, get_args(Multi30kSplit))
    sides = []
    for name, language in (("src", src), ("tgt", tgt)):
        _check(name, language, get_args(Language))
        packed = fetch(MULTI30K, f"{split}.{language}.gz").read_bytes()
        # Some lines contain characters that splitlines takes for line ends.
        lines = gzip.decompress(packed).decode("utf-8").removesuffix("\n").split("\n")
        sides.append([line.strip() for line in lines])
    return list(zip(*sides, strict=True))


def read_banking77(split: Literal["train", "test"]) -> list[tuple[str, str]]:
    """Read pairs of a question to a bank and the name of its intent, one of 77.

    ``train`` has 10,003 pairs, ``test`` 3,080.

    Source: Casanueva et al. (2020), section 3.
    """
    _check("split", split, ("train", "test"))
    with fetch(BANKING77, f"{split}.csv").open(encoding="utf-8", newline="") as file:
        return [(row["text"].strip(), row["category"]) for row in csv.DictReader(file)]


def read_blimp() -> list[MinimalPair]:
    """Read 67,000 pairs of a grammatical and an ungrammatical sentence.

    There are 67 paradigms, in alphabetical order, of 1,000 pairs each. In 7 pairs both sentences
    are the same; published results count these too.

    Source: Warstadt et al. (2020), section 3.
    """
    pairs = []
    with zipfile.ZipFile(fetch(BLIMP, "BLiMP.zip")) as archive:
        # The archive also has files of macOS under __MACOSX/.
        names = [name for name in archive.namelist() if name.startswith("data/")]
        for name in sorted(name for name in names if name.endswith(".jsonl")):
            for line in io.TextIOWrapper(archive.open(name), encoding="utf-8"):
                row = json.loads(line)
                pairs.append(MinimalPair(row["sentence_good"], row["sentence_bad"], row["UID"]))
    return pairs


def read_tiny_shakespeare() -> tuple[str, str]:
    """Read Shakespeare's plays: 1,003,854 characters for training, then 111,540 for validation.

    Source: Karpathy (2015), char-rnn; nanoGPT, ``data/shakespeare_char``.
    """
    text = fetch(TINY_SHAKESPEARE, "input.txt").read_text(encoding="utf-8")
    end = int(0.9 * len(text))
    return text[:end], text[end:]


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise a ValueError unless the argument ``name`` has one of the ``known`` values."""
    if value not in known:
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
