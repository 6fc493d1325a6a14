"""``corpus_bleu`` beside sacreBLEU's.

python -m benchmarks.bleu
"""

import random

import sacrebleu

from benchmarks.measure import Comparison, compare, table
from course_lib.metrics.bleu import corpus_bleu

WORDS = 20_000


def rows() -> list[Comparison]:
    """Time BLEU of a large corpus, of one with two references, and of one already in tokens."""
    return [
        corpus_row(100_000, 1, tokenised=False, pairs=3),
        corpus_row(20_000, 2, tokenised=False, pairs=5),
        corpus_row(20_000, 1, tokenised=True, pairs=5),
    ]


def corpus_row(size: int, num_references: int, *, tokenised: bool, pairs: int) -> Comparison:
    """Time our BLEU and sacreBLEU's on a corpus of ``size`` sentences of 4 to 30 words.

    If ``tokenised``, ours gets lists of words; sacreBLEU always gets strings.
    """
    candidates, streams = draw_corpus(size, num_references)
    references = [list(of_one) for of_one in zip(*streams, strict=True)]
    own_candidates: list[str] | list[list[str]] = candidates
    own_references: list[list[str]] | list[list[list[str]]] = references
    if tokenised:
        own_candidates = [candidate.split() for candidate in candidates]
        own_references = [[reference.split() for reference in each] for each in references]

    def ours(end: int | None = None) -> float:
        return corpus_bleu(own_candidates[:end], own_references[:end]).score

    def theirs(end: int | None = None) -> float:
        return sacrebleu.corpus_bleu(
            candidates[:end],
            [stream[:end] for stream in streams],
            tokenize="none" if tokenised else "13a",
            force=True,
        ).score

    assert abs(ours(2000) - theirs(2000)) < 1e-9
    return compare(
        f"{size:,} sentences, {num_references} reference{'s' * (num_references > 1)} each, "
        + ("tokens" if tokenised else "strings"),
        ours,
        "`sacrebleu.corpus_bleu`",
        theirs,
        pairs=pairs,
        note="time of the corpus" + ("; the peer is given strings" if tokenised else ""),
    )


def draw_corpus(size: int, num_references: int) -> tuple[list[str], list[list[str]]]:
    """Draw candidate sentences, and ``num_references`` lists with a reference for each of them.

    Both are changed from the same sentences, each word with probability 0.2.
    """
    rng = random.Random(0)
    words = [
        "".join(rng.choices("etaoinshrdlu", k=min(2 + rank // 400, 9))) for rank in range(WORDS)
    ]
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    supply = iter(rng.choices(words, weights, k=40 * size))

    def change(sentence: list[str]) -> str:
        changed = [next(supply) if rng.random() < 0.2 else word for word in sentence]
        changed[len(changed) // 2] += ","
        return " ".join(changed) + "."

    sources = [[next(supply) for _ in range(rng.randint(4, 30))] for _ in range(size)]
    candidates = [change(source) for source in sources]
    return candidates, [[change(source) for source in sources] for _ in range(num_references)]


if __name__ == "__main__":
    print(table(rows()))
