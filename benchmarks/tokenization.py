"""Byte-pair encoding beside `tokenizers`, whose program is compiled (Rust), with the same merges.

python -m benchmarks.tokenization
"""

import random

from tokenizers import Tokenizer, models, pre_tokenizers

from benchmarks.measure import Comparison, compare, table
from course_lib.tokenization.bpe import ALPHABET, BytePairEncoding

LENGTH = 100_000  # characters
NUM_MERGES = 400


def rows() -> list[Comparison]:
    """Time texts with spaces, and texts without, in which any neighbouring tokens may merge."""
    rng = random.Random(0)
    chinese = [chr(code) for code in range(0x4E00, 0x4E00 + 500)]
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(5_000)]
    spaced = " ".join(rng.choices(words, [1 / (rank + 3) for rank in range(5_000)], k=LENGTH))
    return [
        row("words with spaces", spaced),
        row("one letter", "a" * 2 * LENGTH),
        row("letters without spaces", "".join(rng.choices("etaoin", k=2 * LENGTH))),
        row("Chinese without punctuation", "".join(rng.choices(chinese, k=2 * LENGTH))),
    ]


def row(what: str, text: str, *, length: int = LENGTH, pairs: int = 7) -> Comparison:
    """Time the encoding of the first ``length`` characters of a text beside ``tokenizers``.

    ``what`` describes the text, which has at least ``2 * length`` characters. The row's note says
    how much longer the first ``2 * length`` take.
    """
    ours = BytePairEncoding.train([text[:3_000]], vocab_size=256 + NUM_MERGES)
    theirs = peer_of(ours)
    once, twice = text[:length], text[: 2 * length]

    def encode(chosen: str) -> list[int]:
        ours._known.clear()  # chunks of the call before
        return ours.encode(chosen)

    assert encode(twice) == theirs.encode(twice).ids
    growth = compare("", lambda: encode(once), "", lambda: encode(twice), pairs=pairs).ratio
    return compare(
        f"byte-pair encoding: {length:,} characters, {what}",
        lambda: encode(once),
        "`tokenizers`",
        lambda: theirs.encode(once).ids,
        pairs=pairs,
        target=None,
        note=f"twice the text takes {growth:.2f} times as long",
    )


def peer_of(ours: BytePairEncoding) -> Tokenizer:
    """Return a tokenizer of ``tokenizers`` with the merges and ids of ours."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    sign_of = dict(zip(b"".join(ALPHABET), signs, strict=True))

    def shown(token: bytes) -> str:
        return "".join(sign_of[byte] for byte in token)

    ids = {shown(token): token_id for token_id, token in enumerate(ours.tokens)}
    pairs = [(shown(left), shown(right)) for left, right in ours.merges]
    peer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return peer


if __name__ == "__main__":
    print(table(rows()))
