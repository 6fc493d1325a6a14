"""Does BERT's basic tokeniser treat every character of Unicode as the field's tokeniser does?"""

import sys
import unicodedata

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from tokenizers import normalizers, pre_tokenizers

from course_lib.tokenization.basic import basic_tokenize, remove_accents
from tests.processor_time import limited_to

# Every assigned character, but only the first few of the private ones, which are all alike.
ALL_CHARACTERS = [
    chr(code)
    for code in range(sys.maxunicode + 1)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co") or 0xE000 <= code <= 0xE010
]

# `tokenizers` has the categories of an older Unicode than Python, and by mistake (U+2B920 for
# U+2B820) it lacks a block of Chinese characters that Google's own tokeniser has.
YOUNG_CATEGORIES = {"Mn", "Mc", "Cf", "Po", "Pd", "Ps", "Pe", "So", "Cn"}
FORGOTTEN = range(0x2B820, 0x2B920)


def peer(*, lowercase=True, strip_accents=None):
    """Return the function of `tokenizers` that splits a text into words."""
    normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=True,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    splitter = pre_tokenizers.BertPreTokenizer()
    return lambda text: [
        word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
    ]


@pytest.mark.parametrize(
    ("lowercase", "strip_accents", "end"),
    [(True, None, 20_000), (False, None, 10_000), (True, False, 10_000), (False, True, 10_000)],
)
def test_every_character_is_treated_as_by_tokenizers(lowercase, strip_accents, end):
    def ours(text):
        return basic_tokenize(text, lowercase=lowercase, strip_accents=strip_accents)

    theirs = peer(lowercase=lowercase, strip_accents=strip_accents)
    differing = []
    for start in range(0, len(ALL_CHARACTERS[:end]), 256):
        # Each character between two letters, which show what became of it.
        texts = [f"a{character}b" for character in ALL_CHARACTERS[start : start + 256]]
        if ours(" ".join(texts)) != theirs(" ".join(texts)):
            differing += [text[1] for text in texts if ours(text) != theirs(text)]
    differing = [character for character in differing if ord(character) not in FORGOTTEN]
    assert {unicodedata.category(character) for character in differing} <= YOUNG_CATEGORIES
    assert len(differing) < 600
    assert not [f"{ord(c):x}" for c in differing if ord(c) < 0x600]


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
     (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)],
)  # fmt: skip
def test_blocks_of_chinese_characters_are_whole(first, last):
    for code in (first, last):
        assert basic_tokenize(f"a{chr(code)}b", strip_accents=False) == ["a", chr(code), "b"]
    for code in (first - 1, last + 1):
        if code not in (0x2B73F, 0x2B740, 0x2B81F, 0x2B820):  # three of the blocks touch
            assert len(basic_tokenize(f"a{chr(code)}b", strip_accents=False)) == 1


characters = st.one_of(
    st.sampled_from(" \t\n\r\x00\x0b\x85\u00a0\u200b\u2028\ufeff\ufffd\u3000"),
    st.sampled_from("aZéÅßİıΣςǅﬁ한グ中\u0301\u0327$+^`~_—«»’"),
    st.characters(max_codepoint=0x600, exclude_categories=["Cs"]),
)


@given(st.text(characters, max_size=30), st.booleans())
@settings(deadline=None, max_examples=400)
def test_any_text_is_split_as_by_tokenizers(text, lowercase):
    assert basic_tokenize(text, lowercase=lowercase) == peer(lowercase=lowercase)(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2_000_000,
        "0" * 2_000_000,
        "😀" * 600_000,
        "한" * 300_000,
        "e" + "\u0301\u0323" * 200_000,
    ],
    ids=["letters", "digits", "emoji", "letters taken apart", "marks out of order"],
)
def test_long_word_is_split_in_seconds(text):
    """In quadratic time each would take minutes."""
    with limited_to(10):
        (word,) = basic_tokenize(text)
    assert word == remove_accents(text[: len(word)])


def test_remaining_marks_are_in_canonical_order():
    text = "a\u302e\u0301\U0001d165\u0323b"  # of categories Mc, Mn, Mc, Mn
    decomposed = unicodedata.normalize("NFD", text)
    expected = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    assert remove_accents(text) == expected == "a\U0001d165\u302eb"
