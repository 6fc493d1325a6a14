"""Does WordPiece give the pieces of `transformers` and `tokenizers`, on the vocabulary of BERT?"""

import gzip
import random

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tokenizers import BertWordPieceTokenizer, decoders
from tokenizers import models as peer_models
from transformers import BertTokenizer

from course_lib.tokenization.vocabulary import BERT_SPECIALS, Vocabulary
from course_lib.tokenization.wordpiece import WordPiece, split_word


@pytest.fixture(scope="module")
def path(course_data):
    return course_data / "bert_wordpiece" / "vocab.txt"


@pytest.fixture(scope="module")
def ours(path):
    return WordPiece(vocabulary=Vocabulary.read(path))


@pytest.fixture(scope="module")
def theirs(path):
    return BertTokenizer(vocab=str(path))


# --- one word ------------------------------------------------------------------------------------


def test_long_words_are_unknown():
    assert split_word("a" * 100, {"a", "##a"}) == ["a"] + ["##a"] * 99
    assert split_word("a" * 101, {"a", "##a"}, unknown="?") == ["?"]
    assert split_word("", {"a"}) == []


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), unique=True),
    st.lists(st.text("ab", min_size=1, max_size=3), unique=True),
    st.text("abc", min_size=1, max_size=12),
)
def test_pieces_are_those_of_tokenizers(first, inner, word):
    tokens = ["[UNK]", *first, *(f"##{piece}" for piece in inner)]
    vocab = {token: number for number, token in enumerate(tokens)}
    peer = peer_models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=10)
    expected = [token.value for token in peer.tokenize(word)]
    assert split_word(word, set(tokens), max_characters=10) == expected


# --- text ----------------------------------------------------------------------------------------


def real_lines(course_data):
    yield from (course_data / "bert_wordpiece" / "sample_text.txt").read_text("utf-8").split("\n")
    for language in ("en", "de", "fr"):
        with gzip.open(
            course_data / "multi30k" / f"val.{language}.gz", "rt", encoding="utf-8"
        ) as f:
            yield from f.read().split("\n")[:400]
    yield from (course_data / "tinyshakespeare" / "input.txt").read_text("utf-8").split("\n")[:800]


def test_real_text_gives_the_ids_of_transformers(course_data, ours, theirs):
    lines = list(real_lines(course_data))
    expected = theirs(lines, add_special_tokens=False)["input_ids"]
    actual = [ours.encode(line) for line in lines]
    assert actual == expected
    assert sum(map(len, actual)) > 20_000


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [None, True, False])
def test_options_are_those_of_tokenizers(course_data, path, lowercase, strip_accents):
    options = {"lowercase": lowercase, "strip_accents": strip_accents}
    peer = BertWordPieceTokenizer(str(path), handle_chinese_chars=True, **options)
    ours = WordPiece(vocabulary=Vocabulary.read(path), **options)
    for line in list(real_lines(course_data))[::12]:
        assert ours.tokenize(line) == peer.encode(line, add_special_tokens=False).tokens


WORDS = [
    "the", "UNwant\u00E9d", "running", "na\u00efve", "na\u0131ve", "\u0130stanbul", "Stra\u00DFe",
    "\u4f60\u597d", "\u529b\u52a0\u52dd\u5317\u533a", "\u1d35\u1d3a\u1d40\u1d43",
    "\u099b\u099c\u099f\u09a1",
    "\ud55c\uad6d\uc5b4", "\u30b0\u30eb\u30fc\u30d7", "\U0001f600", "\U00020000", "a\u0301e\u0327",
    "x" * 100, "y" * 101, "$9.99", "e-mail", "''", "\u2026", "\u00a0", "\x00\x07", "\ufffd",
    "\u200d", "[MASK]", "[CLS]", "[mask]", "[", "##ing", "##", "antidisestablishmentarianism",
]  # fmt: skip


def test_hard_words_give_the_pieces_of_transformers(ours, theirs):
    rng = random.Random(0)
    for word in WORDS:
        assert ours.tokenize(word) == theirs.tokenize(word), word
    for _ in range(500):
        text = rng.choice(["", " "]).join(rng.choices(WORDS, k=rng.randint(2, 6)))
        assert ours.tokenize(text) == theirs.tokenize(text)
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False)


def test_decoding_joins_pieces_as_tokenizers_does(course_data, ours):
    peer = decoders.WordPiece(prefix="##", cleanup=False)
    for line in list(real_lines(course_data))[::20]:
        assert ours.decode(ours.encode(line)) == peer.decode(ours.tokenize(line))
    ids = ours.encode("[CLS] an unaffable [MASK]")
    assert ours.decode(ids) == "[CLS] an unaffable [MASK]"
    assert ours.decode(ids, skip_specials=True) == "an unaffable"


def test_special_tokens_are_pieces_only_if_the_vocabulary_has_them():
    vocabulary = Vocabulary(tokens=("?", "mask", "["), specials=("?",), unknown="?")
    assert WordPiece(vocabulary=vocabulary).tokenize("[MASK]") == ["[", "mask", "?"]
    bare = Vocabulary(tokens=(*BERT_SPECIALS, "a", "##a"), specials=BERT_SPECIALS, unknown="[UNK]")
    assert WordPiece(vocabulary=bare, max_characters=2).tokenize("aa aaa") == ["a", "##a", "[UNK]"]


# --- wrong arguments -----------------------------------------------------------------------------


def test_invalid_arguments_are_rejected():
    with pytest.raises(ValueError, match="max_characters must be at least 1, got 0"):
        split_word("a", {"a"}, max_characters=0)
    bare = Vocabulary(tokens=("a",), specials=(), unknown=None)
    with pytest.raises(ValueError, match="must have an unknown token"):
        WordPiece(vocabulary=bare)
    known = Vocabulary(tokens=("?",), specials=("?",), unknown="?")
    with pytest.raises(ValueError, match="max_characters must be at least 1, got 0"):
        WordPiece(vocabulary=known, max_characters=0)
    with pytest.raises(IndexError, match="0 to 0, got 1"):
        WordPiece(vocabulary=known).decode([1])
