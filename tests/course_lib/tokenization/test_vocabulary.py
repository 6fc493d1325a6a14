"""Does a vocabulary number tokens as it says, there and back?"""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from course_lib.tokenization.vocabulary import BERT_SPECIALS, BOS, EOS, PAD, UNKNOWN, Vocabulary

SENTENCES = [["b", "c", "a", "b"], ["c", "b", "d"]]


def test_tokens_are_numbered_by_frequency_then_alphabet_after_the_specials():
    vocabulary = Vocabulary.build(SENTENCES)
    assert vocabulary.tokens == (PAD, BOS, EOS, UNKNOWN, "b", "c", "a", "d")
    assert Vocabulary.build(SENTENCES[::-1]) == vocabulary
    assert vocabulary.special_ids == (0, 1, 2, 3)
    assert len(vocabulary) == 8
    assert "c" in vocabulary
    assert "x" not in vocabulary
    assert Vocabulary.build(SENTENCES, min_count=2).tokens[4:] == ("b", "c")
    assert Vocabulary.build(SENTENCES, min_count=3).tokens[4:] == ("b",)
    assert Vocabulary.build([[UNKNOWN, "a"]]).tokens == (PAD, BOS, EOS, UNKNOWN, "a")


@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=6))
def test_corpus_round_trips(sentences):
    vocabulary = Vocabulary.build(sentences)
    for sentence in sentences:
        assert vocabulary.decode(vocabulary.encode(sentence)) == sentence


def test_tokens_outside_the_vocabulary_become_the_unknown():
    vocabulary = Vocabulary.build(SENTENCES)
    assert vocabulary.encode(["x", "b", "y"]) == [3, 4, 3]
    assert vocabulary.decode([3, 4, 0], skip_specials=True) == ["b"]
    assert vocabulary.decode([3, 4, 0]) == [UNKNOWN, "b", PAD]


def test_reads_the_vocabulary_of_bert(course_data):
    vocabulary = Vocabulary.read(course_data / "bert_wordpiece" / "vocab.txt")
    assert len(vocabulary) == 30522
    assert vocabulary.special_ids == (0, 100, 101, 102, 103)
    assert vocabulary.id_of("no such token") == 100


def test_written_vocabulary_is_read_again(tmp_path):
    vocabulary = Vocabulary.build([["b", "", " c", "\x85", "é", "\u2028"]])
    vocabulary.write(str(tmp_path / "made" / "vocab.txt"))
    options = {"specials": vocabulary.specials, "unknown": vocabulary.unknown}
    assert Vocabulary.read(str(tmp_path / "made" / "vocab.txt"), **options) == vocabulary
    bert = Vocabulary(tokens=(*BERT_SPECIALS, "a"), specials=BERT_SPECIALS, unknown="[UNK]")
    bert.write(tmp_path / "bert.txt")
    assert (tmp_path / "bert.txt").read_text("utf-8") == "\n".join(bert.tokens) + "\n"
    assert Vocabulary.read(tmp_path / "bert.txt") == bert


@pytest.mark.parametrize("token", ["\n", "a\r"])
def test_tokens_with_line_ends_are_not_written(tmp_path, token):
    with pytest.raises(ValueError, match="must not hold the end of a line, got "):
        Vocabulary.build([[token]]).write(tmp_path / "vocab.txt")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "must hold strings, got the string 'a b'", lambda: Vocabulary.build("a b")),
        (ValueError, "twice, got 'a'", lambda: Vocabulary(tokens=("a", "a"), specials=())),
        (ValueError, "'<start>' is missing", lambda: Vocabulary(tokens=(PAD, UNKNOWN))),
        (
            ValueError,
            "unknown must be one of the specials, got '<unknown>'",
            lambda: Vocabulary(tokens=(PAD, UNKNOWN), specials=(PAD,)),
        ),
        (ValueError, "min_count .* got 0", lambda: Vocabulary.build([], min_count=0)),
        (KeyError, "got 'x'", lambda: Vocabulary(tokens=(), specials=(), unknown=None).id_of("x")),
        (IndexError, "0 to 3, got 4", lambda: Vocabulary.build([]).decode([4])),
        (IndexError, "0 to 3, got -1", lambda: Vocabulary.build([]).decode([-1])),
    ],
)
def test_invalid_arguments_are_rejected(error, message, call):
    with pytest.raises(error, match=message):
        call()
