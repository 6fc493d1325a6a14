"""Are words and marks split and put together again as people write them?"""

import gzip

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tokenizers import pre_tokenizers

from course_lib.tokenization.words import WordTokenizer


@given(st.text(st.characters(max_codepoint=0x17F), max_size=30))
def test_tokens_are_those_of_tokenizers(text):
    text = "".join(c for c in text if not 0x1C <= ord(c) <= 0x1F)  # spaces to Python alone
    theirs = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)
    assert WordTokenizer().tokenize(text) == [token for token, _ in theirs]


@given(st.text(max_size=30))
def test_nothing_but_spaces_is_lost(text):
    assert "".join(WordTokenizer().tokenize(text)) == "".join(text.split())


def test_lowercase():
    assert WordTokenizer(lowercase=True).tokenize("A Cat.") == ["a", "cat", "."]
    assert WordTokenizer().tokenize("A Cat.") == ["A", "Cat", "."]


@pytest.mark.parametrize(
    "text",
    [
        "A cat, a dog (and a mouse).",
        "It's the well-known l’homme d'or!",
        "¿Qué? ¡No!",
        "Really...",
        "Well… yes…",
        "50% of [them]; or: {all}",
        "a - b",  # comes back without its spaces, see below
    ],
)
def test_text_comes_back(text):
    tokenizer = WordTokenizer()
    expected = "a-b" if text == "a - b" else text
    assert tokenizer.detokenize(tokenizer.tokenize(text)) == expected


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_nearly_all_real_sentences_come_back(course_data, language):
    path = course_data / "multi30k" / f"val.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        sentences = [" ".join(line.split()) for line in file]
    tokenizer = WordTokenizer()
    back = [tokenizer.detokenize(tokenizer.tokenize(sentence)) for sentence in sentences]
    same = sum(a == b for a, b in zip(back, sentences, strict=True))
    assert same / len(sentences) > 0.95
