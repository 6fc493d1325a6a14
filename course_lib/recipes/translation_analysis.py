"""Analysis of a translation run: scores by length and frequency, repetitions, attention.

Dimensions: src_words and src_len, words and tokens of a sentence; tgt_words and tgt_len, of its
translation.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from torch import Tensor, nn

from course_lib.analysis.recorders import recorded_attention
from course_lib.data.corpora.readers import Multi30kSplit, read_multi30k
from course_lib.models.transformer import Transformer
from course_lib.recipes.run_folder import RunError, environment, write_json
from course_lib.recipes.translation_model import BOS_ID, EOS_ID
from course_lib.recipes.translation_run import Translator, load_run, load_translator

_LENGTHS = (1, 8, 11, 14, 18)  # starts of bands of source lengths (words)
_FREQUENCIES = (0, 1, 5, 20, 100)  # starts of bands of a word's frequency in the training text

_split = cast(Callable[[str], str], Tokenizer13a())


def analyse_run(path: Path, split: Multi30kSplit, lines: Sequence[int]) -> dict[str, Any]:
    """Analyse the translations of an evaluated test set; write and return ``analysis.json``.

    It has the scores by length, the recall by frequency, the share of repeated bigrams, and the
    attention for ``lines``, numbers of sentences from 1; with lines, the model must be a
    Transformer.
    """
    folder, recipe = load_run(path)
    pairs = read_multi30k(split, recipe.src, recipe.tgt)
    sources, references = [src for src, _ in pairs], [tgt for _, tgt in pairs]
    training_text = [tgt for _, tgt in read_multi30k("train", recipe.src, recipe.tgt)]
    written = folder.translations_of(split)
    if not written.exists():
        raise RunError(f"{written} is not there: evaluate the run on {split} first")
    translations = written.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    if len(translations) != len(pairs):
        raise RunError(f"{split} has {len(pairs)} lines, its translation {len(translations)}")
    missing = [line for line in lines if line > len(pairs)]
    if missing:
        raise RunError(f"{split} has {len(pairs)} lines, and no line {missing[0]}")
    translator = load_translator(path)
    analysis = {
        "split": split,
        "by_length": score_by_length(sources, translations, references),
        "by_frequency": recall_by_frequency(training_text, translations, references),
        "repeated_bigrams": {
            "translations": repeated_bigram_share(translations),
            "references": repeated_bigram_share(references),
        },
        "attention": [
            {"line": line}
            | attention_to_words(translator, sources[line - 1], translations[line - 1])
            for line in lines
        ],
        "command": environment(torch.device("cpu"))["command"],
    }
    write_json(path / "analysis.json", analysis)
    return analysis


def score_by_length(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> list[dict[str, Any]]:
    """Score sentences by length.

    Return for each band of source lengths that occurs: ``words``, the band, such as ``"8 to 10"``;
    ``sentences``, their number; ``bleu``, cased, 0 to 100; and ``length_ratio``, the number of
    words in translations divided by that in references.

    Source: Koehn and Knowles (2017), section 3.4.
    """
    bands: dict[int, list[int]] = {}
    for number, source in enumerate(sources):
        bands.setdefault(_band(_LENGTHS, len(_words(source))), []).append(number)
    rows = []
    for start, numbers in sorted(bands.items()):
        score = BLEU().corpus_score(
            [translations[number] for number in numbers],
            [[references[number] for number in numbers]],
        )
        rows.append({
            "words": _band_name(_LENGTHS, start),
            "sentences": len(numbers),
            "bleu": round(score.score, 2),
            "length_ratio": round(score.sys_len / score.ref_len, 4),
        })  # fmt: skip
    return rows


def recall_by_frequency(
    training_text: Iterable[str], translations: Sequence[str], references: Sequence[str]
) -> list[dict[str, Any]]:
    """Compute which share of the references' words is in the translations, by frequency.

    Return for each band of frequencies in the training text that occurs: ``times``, the band, such
    as ``"1 to 4"``; ``words``, the number of such words in the references; and ``recall``, the
    share of these that the translation of the same sentence has too, 0 to 1.

    Source: Koehn and Knowles (2017), section 3.3.
    """
    frequency = Counter(word for sentence in training_text for word in _words(sentence))
    words: Counter[int] = Counter()
    found: Counter[int] = Counter()
    for translation, reference in zip(translations, references, strict=True):
        wanted, said = Counter(_words(reference)), Counter(_words(translation))
        for word, count in wanted.items():
            band = _band(_FREQUENCIES, frequency[word])
            words[band] += count
            found[band] += min(count, said[word])
    return [
        {
            "times": _band_name(_FREQUENCIES, band),
            "words": words[band],
            "recall": round(found[band] / words[band], 4),
        }
        for band in sorted(words)
    ]


def repeated_bigram_share(sentences: Sequence[str]) -> float:
    """Return the share of sentences with a repeated bigram, 0 to 1."""
    twice = [max(Counter(pairwise(_words(s))).values(), default=0) > 1 for s in sentences]
    return round(sum(twice) / len(twice), 4)


def attention_to_words(translator: Translator, sentence: str, translation: str) -> dict[str, Any]:
    """Return the decoder's attention to source words for each word of a given translation.

    Weights are averaged over heads and over the tokens of a target word, and summed over the tokens
    of a source word. Return ``source`` and ``translation``, lists of words that end with ``[END]``,
    and ``weights``, for each layer a table ``(tgt_words, src_words)``.
    """
    model: nn.Module = translator.model
    if not isinstance(model, Transformer):
        raise ValueError("only a Transformer's attention can be shown, by layer and word")
    src, tgt = translator.subwords.encode([sentence, translation])
    with torch.no_grad(), recorded_attention(model) as recorded:
        device = next(model.parameters()).device
        model(*(torch.tensor([ids], device=device) for ids in ([*src, EOS_ID], [BOS_ID, *tgt])))
    read, written = ([*translator.subwords.words(ids), ("[END]", 1)] for ids in (src, tgt))
    tables = [
        _merge(weights[0].mean(dim=0), written, read)
        for name, weights in recorded.items()
        if name.endswith("cross_attention")
    ]
    return {
        "source": [word for word, _ in read],
        "translation": [word for word, _ in written],
        "weights": [[[round(w, 4) for w in row] for row in table.tolist()] for table in tables],
    }


def _merge(
    weights: Tensor, written: Sequence[tuple[str, int]], read: Sequence[tuple[str, int]]
) -> Tensor:
    """Merge weights ``(tgt_len, src_len)`` of tokens to words: ``(tgt_words, src_words)``.

    ``written`` and ``read`` are the words of target and source with their numbers of tokens.
    """
    columns = torch.split(weights, [pieces for _, pieces in read], dim=1)
    by_word = torch.stack([column.sum(dim=1) for column in columns], dim=1)
    rows = torch.split(by_word, [pieces for _, pieces in written])
    return torch.stack([row.mean(dim=0) for row in rows])


def _words(sentence: str) -> list[str]:
    """Split a sentence into the words that BLEU counts."""
    return _split(sentence).split()


def _band(starts: Sequence[int], value: int) -> int:
    """Return the start of the band that contains a value, given the starts of all bands."""
    return starts[max(0, bisect_right(starts, value) - 1)]


def _band_name(starts: Sequence[int], start: int) -> str:
    """Return the name of the band that begins at ``start``, such as ``1 to 4``."""
    after = starts[starts.index(start) + 1 :]
    if not after:
        return f"{start} and more"
    return f"{start} to {after[0] - 1}" if after[0] > start + 1 else str(start)
