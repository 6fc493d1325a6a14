"""Pairs of our byte-level tokenizer and the same one of `tokenizers`, trained on random texts."""

import json
import random
from functools import cache

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from course_lib.tokenization.byte_level import ByteLevelTokenizer
from tests.course_lib.tokenization.random_texts import draw_text

SPECIALS = ("<|im_start|>", "<|im_end|>", "<|im_start|>user")
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False)
MODERN = (  # copied from the tokenizer.json of Llama 3 and Qwen2
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
NO_REGEX = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def modern(digits: str):
    """Return the pre-tokenizer of Llama 3 and Qwen2, with the regex ``digits`` for numbers."""
    split = pre_tokenizers.Split(Regex(MODERN.replace("DIGITS", digits)), behavior="isolated")
    return pre_tokenizers.Sequence([split, NO_REGEX])


PEERS = {
    "gpt-2": BYTES,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTES]),
    "llama-bpe": modern(r"\p{N}{1,3}"),
    "qwen2": modern(r"\p{N}"),
}


def peer_of(tokens, merges, specials, pre_tokenizer) -> Tokenizer:
    """Return the tokenizer of `tokenizers` with the arguments of ``ByteLevelTokenizer``."""
    ids = {token: number for number, token in enumerate(tokens)}
    peer = Tokenizer(models.BPE(vocab=ids, merges=list(merges)))
    peer.pre_tokenizer, peer.decoder = PEERS[pre_tokenizer], decoders.ByteLevel()
    peer.add_special_tokens([AddedToken(token, normalized=False) for token in specials])
    return peer


@cache
def trained_pair(name: str) -> tuple[ByteLevelTokenizer, Tokenizer]:
    """Train a tokenizer for a pre-tokenizer in PEERS; return it as ours and as `tokenizers`'.

    Its vocabulary is shuffled and lacks some bytes.
    """
    rng = random.Random(1)
    peer = Tokenizer(models.BPE())
    peer.pre_tokenizer = PEERS[name]
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())[:250],
        limit_alphabet=250,
        special_tokens=list(SPECIALS),
        show_progress=False,
    )
    peer.train_from_iterator([draw_text(rng) for _ in range(2000)], trainer)
    model = json.loads(peer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    rng.shuffle(tokens)
    merges = tuple(map(tuple, model["merges"]))
    ours = ByteLevelTokenizer(
        tokens=tuple(tokens), merges=merges, specials=SPECIALS, pre_tokenizer=name
    )
    return ours, peer_of(tokens, merges, SPECIALS, name)
