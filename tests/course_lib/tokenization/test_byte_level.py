"""Does a tokenizer from a file turn text into ids and back as `tokenizers` does?"""

import random

import pytest

from course_lib.models.pretrained.gguf import GGUFFile
from course_lib.tokenization.byte_level import ByteLevelTokenizer, pre_tokenize
from tests.course_lib.tokenization.random_texts import draw_text
from tests.course_lib.tokenization.trained_pairs import PEERS, SPECIALS, peer_of, trained_pair
from tests.daily import with_proofs
from tests.processor_time import limited_to

COUNTS = with_proofs([1500, 100_000], [100_000])


@pytest.fixture(params=PEERS)
def pair(request):
    return trained_pair(request.param)


def assert_alike(ours, peer, count: int) -> None:
    """Check that two tokenizers encode and decode a number of random texts alike."""
    rng = random.Random(count)
    for number in range(count):
        text = draw_text(rng)
        ids = ours.encode(text)
        assert ids == peer.encode(text, add_special_tokens=False).ids, text
        assert "".join(pre_tokenize(text, ours.pre_tokenizer)) == text
        for given in (ids, rng.choices(range(len(ours)), k=5)):  # the latter are broken UTF-8
            skip = number % 2 == 1
            assert ours.decode(given, skip_specials=skip) == peer.decode(
                given, skip_special_tokens=skip
            )


@pytest.mark.parametrize("count", COUNTS)
def test_ids_and_texts_are_those_of_tokenizers(pair, count):
    assert_alike(*pair, count)


@pytest.fixture(scope="module")
def smollm2_tokenizer(smollm2):
    return GGUFFile(smollm2).load_tokenizer()


@pytest.mark.parametrize("count", COUNTS)
def test_ids_and_texts_of_smollm2_are_those_of_tokenizers(smollm2_tokenizer, count):
    ours = smollm2_tokenizer
    assert (len(ours), ours.pre_tokenizer, len(ours.specials)) == (49_152, "smollm", 17)
    assert_alike(ours, peer_of(ours.tokens, ours.merges, ours.specials, "smollm"), count)


@pytest.mark.parametrize("text", ["a" * 100_000, "7" * 100_000, " " * 100_000, "人" * 100_000])
def test_long_run_takes_less_than_a_second(pair, text):
    ours, peer = pair
    ours.encode("a")
    with limited_to(1):
        ids = ours.encode(text)
    assert ids == peer.encode(text, add_special_tokens=False).ids


def test_special_tokens_are_plain_text_on_request(pair):
    ours, _ = pair
    text = "a<|im_start|>user b<|im_end|>"
    ids = ours.encode(text)
    assert [ours.tokens[number] for number in ids if ours.tokens[number] in SPECIALS] == [
        "<|im_start|>user",
        "<|im_end|>",
    ]
    plain = ours.encode(text, specials=False)
    assert not {ours.tokens[number] for number in plain} & set(SPECIALS)
    assert ours.decode(plain) == text


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"specials": ("<x>",)}, ValueError, "tokens must hold all specials, '<x>' is missing"),
        ({"merges": (("b", "a"),)}, ValueError, r"of tokens to a token, got \('b', 'a'\)"),
        ({"pre_tokenizer": "gpt2"}, ValueError, "pre_tokenizer must be one of .* got 'gpt2'"),
        ({"tokens": "ab"}, TypeError, "tokens must hold strings"),
    ],
)
def test_invalid_arguments_are_rejected(change, error, message):
    given = {"tokens": ("a", "b", "ab"), "merges": (("a", "b"),)}
    with pytest.raises(error, match=message):
        ByteLevelTokenizer(**(given | change))
    for wrong in (-1, 3):
        with pytest.raises(IndexError, match=f"got {wrong}"):
            ByteLevelTokenizer(**given).decode([wrong])
