"""BLEU as sacreBLEU gives it, with the signature that says how."""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.bleu import BLEU


def score(translations: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Score translations twice: as they are, and lower-cased.

    Papers on this corpus give BLEU on lower-cased text that Moses' tokeniser split. The second
    score is as near to it as sacreBLEU comes: lower-cased, split by its own ``13a``.

    Args:
        translations: One a source sentence.
        references: Likewise.

    Returns:
        Under ``cased`` and ``lowercased`` each: ``bleu``, from 0 to 100; ``signature``; and
        ``details``, the precisions and lengths.

    Raises:
        ValueError: There are none, or the numbers differ.

    Source: Post (2018), section 2; Papineni et al. (2002).
    """
    if not translations or len(translations) != len(references):
        raise ValueError(
            "translations and references must be as many, and some, got "
            f"{len(translations)} and {len(references)}"
        )
    scores = {}
    for name, lowercase in (("cased", False), ("lowercased", True)):
        metric = BLEU(lowercase=lowercase)
        result = metric.corpus_score(list(translations), [list(references)])
        scores[name] = {
            "bleu": round(result.score, 2),
            "signature": str(metric.get_signature()),
            "details": str(result),
        }
    return scores
