"""Does byte-pair encoding learn the merges of `tokenizers`, and give back every text?"""

import gzip
import json
import unicodedata

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from course_lib.tokenization.bpe import ALPHABET, BytePairEncoding, split_chunks
from tests.daily import with_proofs
from tests.processor_time import limited_to

SPECIALS = ("<pad>", "<end>")
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)


# GPT-2's table of the character for each byte, as `tokenizers` writes them.
VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
HIDDEN = [byte for byte in range(256) if byte not in VISIBLE]
SIGNS = {chr(byte): byte for byte in VISIBLE} | {chr(256 + i): b for i, b in enumerate(HIDDEN)}


def shown(token: bytes) -> str:
    return "".join(sign for byte in token for sign, other in SIGNS.items() if other == byte)


def peer_of(encoding: BytePairEncoding) -> Tokenizer:
    """Return the same encoding as a tokenizer of `tokenizers`."""
    ids = {shown(token): token_id for token_id, token in enumerate(encoding.tokens)}
    pairs = [(shown(left), shown(right)) for left, right in encoding.merges]
    peer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
    peer.pre_tokenizer = GPT2
    return peer


def train_peer(texts, vocab_size) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = GPT2
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(SPECIALS),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def merges_of(peer: Tokenizer):
    written = json.loads(peer.to_str())["model"]["merges"]
    return tuple(tuple(bytes(SIGNS[sign] for sign in part) for part in pair) for pair in written)


def vocabulary_of(peer: Tokenizer):
    by_id = sorted(peer.get_vocab(), key=peer.token_to_id)
    return tuple(
        token.encode() if token in SPECIALS else bytes(SIGNS[sign] for sign in token)
        for token in by_id
    )


def read(course_data, name):
    """Return the lines of a file of Multi30k, such as ``val.en``."""
    with gzip.open(course_data / "multi30k" / f"{name}.gz", "rt", encoding="utf-8") as file:
        return file.read().split("\n")


@pytest.mark.parametrize("language", with_proofs(["en", "de", "fr"], ["en", "fr"]))
def test_merges_and_ids_of_real_text_are_those_of_tokenizers(course_data, language):
    texts = read(course_data, f"train.{language}")[:1500]
    ours = BytePairEncoding.train(texts, vocab_size=1000, specials=SPECIALS)
    peer = train_peer(texts, 1000)
    assert ours.merges == merges_of(peer)
    assert ours.tokens == vocabulary_of(peer)
    assert len(ours) == 1000
    new_text = "\n".join(read(course_data, f"val.{language}"))
    ids = ours.encode(new_text)
    assert ids == peer.encode(new_text).ids
    assert ours.decode(ids) == new_text
    assert len(ids) < 0.4 * len(new_text)


@given(st.lists(st.text("ab ", max_size=25), max_size=6))
@settings(deadline=None, max_examples=150)
def test_merges_with_many_ties_and_repeats_are_those_of_tokenizers(texts):
    """Texts of two letters have equal counts, overlaps (aaa), and tokens made by several pairs."""
    ours = BytePairEncoding.train(texts, vocab_size=300, specials=SPECIALS)
    peer = train_peer(texts, 300)
    assert ours.merges == merges_of(peer)
    assert ours.tokens == vocabulary_of(peer)
    for text in [*texts, "aababbb abba aaaa bbbb"]:
        assert ours.encode(text) == peer.encode(text).ids


@given(st.data())
@settings(max_examples=150)
def test_any_merges_are_applied_as_by_tokenizers(data):
    """Merges are in any order, so a token may be used in a merge before the one that makes it."""
    tokens, merges = [b"a", b"b", b"c"], []
    for _ in range(data.draw(st.integers(1, 12))):
        pair = (data.draw(st.sampled_from(tokens)), data.draw(st.sampled_from(tokens)))
        if pair not in merges and len(pair[0] + pair[1]) < 9:
            merges.append(pair)
            tokens.append(pair[0] + pair[1])
    merges = data.draw(st.permutations(merges))
    ours = BytePairEncoding(merges=tuple(merges))
    peer = peer_of(ours)
    for text in data.draw(st.lists(st.text("abc", max_size=40), min_size=5, max_size=5)):
        assert ours.encode(text) == peer.encode(text).ids


LONG = {
    "one letter": "a" * 100_000,
    "Chinese": "人工智能是计算机科学的一个分支" * 6_666,
    "spaces": " " * 100_000,
    "mixed": "aß人1😀é.\n'" * 11_111,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_text_without_spaces_is_encoded_in_seconds(text):
    """In quadratic time each would take minutes."""
    ours = BytePairEncoding.train([text[:500]], vocab_size=330)
    with limited_to(10):
        ids = ours.encode(text)
    assert ids == peer_of(ours).encode(text).ids


def test_long_text_is_encoded_in_seconds_whatever_the_merges():
    """Merging a with bc makes the token abc, whose merge with d comes earlier in the list."""
    merges = ((b"b", b"c"), (b"ab", b"c"), (b"abc", b"d"), (b"a", b"bc"), (b"a", b"b"))
    encoding = BytePairEncoding(merges=merges)
    with limited_to(10):
        assert encoding.tokenize("abcd" * 25_000) == [b"abcd"] * 25_000


@pytest.fixture(scope="module")
def small():
    return BytePairEncoding.train(["low low lower newest newest widest"] * 3, vocab_size=270)


@given(st.text(max_size=40))
@settings(deadline=None)
def test_every_text_round_trips(small, text):
    assert small.decode(small.encode(text)) == text
    assert b"".join(small.tokenize(text)).decode() == text
    assert "".join(split_chunks(text)) == text


def gpt2_chunks(text: str) -> list[str]:
    return [text[start:end] for _, (start, end) in GPT2.pre_tokenize_str(text)]


@given(st.text(max_size=30) | st.text("ab'sltrevmd 19_é५ \n\u00a0²Ⅻ.😀\u0301", max_size=30))
@example("it's we're I've I'm he'll I'd don't DON'T 'tis l'oiseau '' 's ' s 'é's 's\u0301 é't")
@example("room101 3,141.59 x2y 1st 2² Ⅻ½ ٣٤ 五 snake_case  two  spaces \n\n line\ttab \r\n end  ")
@example(
    "no-break\u00a0space\u2003 em\u3000 ideographic\u2028line \x1c \x85next —dash \u200b\ufeff"
)
@settings(deadline=None, max_examples=400)
def test_chunks_of_any_text_are_those_of_gpt2(text):
    # Versions of Unicode differ in the characters that are not assigned (Cn).
    known = "".join(c for c in text if unicodedata.category(c) != "Cn")
    assert split_chunks(known) == gpt2_chunks(known)


@pytest.mark.proof
def test_every_character_is_of_gpt2s_kind():
    """The chunk that a character joins, among a letter, a digit and a mark, shows its kind."""
    for code in range(0x80, 0x110000):
        character = chr(code)
        if unicodedata.category(character) not in ("Cn", "Co", "Cs"):
            text = f"a{character}1{character}!{character} "
            assert split_chunks(text) == gpt2_chunks(text), hex(code)


def test_cache_of_earlier_texts_is_bounded(monkeypatch):
    monkeypatch.setattr("course_lib.tokenization.bpe._CACHE_SIZE", 3)
    encoding = BytePairEncoding(merges=((b" ", b"9"),))
    text = " ".join(map(str, range(10))) + " 9 9"
    assert encoding.decode(encoding.encode(text)) == text
    assert 0 < len(encoding._known) <= 3


def test_ids_count_specials_then_bytes_then_merges():
    trained = BytePairEncoding.train(["abab"], vocab_size=259, specials=SPECIALS)
    assert trained.tokens == (b"<pad>", b"<end>", *ALPHABET, b"ab")
    assert trained.encode("ab") == [258]
    assert trained.decode([0, 258, 1]) == "ab"
    assert trained.decode(trained.encode("<pad>")) == "<pad>"
    assert 0 not in trained.encode("<pad>")


def test_merges_written_to_a_file_are_read_by_tokenizers_and_again(tmp_path):
    texts = ["naïve 日本 # ## \n\t  \x00 the cat"] * 3
    trained = BytePairEncoding.train(texts, vocab_size=290, specials=SPECIALS)
    trained.write(str(tmp_path / "made" / "merges.txt"))
    path = tmp_path / "made" / "merges.txt"
    assert BytePairEncoding.read(path, specials=SPECIALS) == trained
    assert BytePairEncoding.read(str(path)).merges == trained.merges
    ids = {shown(token): i for i, token in enumerate(trained.tokens[2:], start=2)}
    (tmp_path / "vocab.json").write_text(json.dumps(ids), "utf-8")
    peer = Tokenizer(models.BPE.from_file(str(tmp_path / "vocab.json"), str(path)))
    peer.pre_tokenizer = GPT2
    assert peer.encode(texts[0]).ids == trained.encode(texts[0])
    assert path.read_text("utf-8").startswith("#version: 0.2\n")


def test_merges_without_a_version_line_are_read(tmp_path):
    path = tmp_path / "merges.txt"
    path.write_bytes("# #\r\nĠ t\r\nĠt h".encode())
    assert BytePairEncoding.read(path).merges == ((b"#", b"#"), (b" ", b"t"), (b" t", b"h"))
    path.write_text("")
    assert BytePairEncoding.read(path).merges == ()


@pytest.mark.parametrize("line", ["a", "a b c", "", "a 日", "a  b", "\xad b"])
def test_file_without_merges_is_rejected(tmp_path, line):
    path = tmp_path / "merges.txt"
    path.write_text(f"#version: 0.2\na b\n{line}\n", "utf-8")
    with pytest.raises(ValueError, match=r"merges\.txt must hold two tokens a line, got line 3: '"):
        BytePairEncoding.read(path)


def test_bytes_of_half_a_letter_are_replaced(small):
    first, _ = small.encode("é")
    assert small.decode([first]) == "\ufffd"


def test_invalid_arguments_are_rejected(small):
    with pytest.raises(TypeError, match="texts must hold strings, got the string 'low lower'"):
        BytePairEncoding.train("low lower", vocab_size=300)
    for make in (
        lambda specials: BytePairEncoding.train(["low"], vocab_size=300, specials=specials),
        lambda specials: BytePairEncoding(merges=(), specials=specials),
    ):
        with pytest.raises(TypeError, match="specials must hold strings, got the string '<end>'"):
            make("<end>")
    with pytest.raises(ValueError, match=r"at least 258, .* got 257"):
        BytePairEncoding.train([], vocab_size=257, specials=SPECIALS)
    with pytest.raises(ValueError, match="must not hold a token twice"):
        BytePairEncoding(merges=(), specials=("a", "a"))
    with pytest.raises(ValueError, match=r"of bytes and what merges make, got \(b'ab', b'c'\)"):
        BytePairEncoding(merges=((b"a", b"a"), (b"ab", b"c")))
    for wrong in (-1, len(small)):
        with pytest.raises(IndexError, match=f"0 to {len(small) - 1}, got {wrong}"):
            small.decode([wrong])
