"""What a score doesn't say: where a run's translations are weak, and where the model looks.

Dimensions: tgt_words, src_words (of one sentence and its translation).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from torch import Tensor, nn

from course_lib.analysis.recorders import recorded_attention
from course_lib.data.corpora.readers import Multi30kSplit, read_multi30k
from course_lib.models.transformer import Transformer
from course_lib.recipes.run_record import RunError, environment, write_json
from course_lib.recipes.translation.run_folder import RunFolder
from course_lib.recipes.translation.subwords import BOS_ID, EOS_ID
from course_lib.recipes.translation.translator import Translator, load_translator

_LENGTHS = (1, 8, 11, 14, 18)  # words of a source, where a band begins
_FREQUENCIES = (0, 1, 5, 20, 100)  # times that a word is in the training text

_split = cast(Callable[[str], str], Tokenizer13a())


def analyse_run(
    folder: RunFolder, split: Multi30kSplit, sentences: Sequence[int]
) -> dict[str, Any]:
    """Look closer at the translations that an evaluation left; write ``analysis.json``.

    Args:
        folder: The run.
        split: A test set that was evaluated.
        sentences: Lines of it, from 1, of which to show the attention.

    Returns:
        ``by_length``, ``by_frequency``, ``said_twice`` and ``attention``, of the functions below.

    Raises:
        RunError: There is no run, it was not evaluated on that set, or a line is not there.
        ValueError: ``sentences`` asks for the attention of a model that is no Transformer.
        DownloadError: The corpus could not be had.
    """
    recipe = folder.recipe()
    pairs = read_multi30k(split, recipe.src, recipe.tgt)
    sources, references = [src for src, _ in pairs], [tgt for _, tgt in pairs]
    training_text = [tgt for _, tgt in read_multi30k("train", recipe.src, recipe.tgt)]
    translations = folder.translations(split)
    if len(translations) != len(pairs):
        raise RunError(f"{split} has {len(pairs)} lines, its translation {len(translations)}")
    missing = [line for line in sentences if line > len(pairs)]
    if missing:
        raise RunError(f"{split} has {len(pairs)} lines, and no line {missing[0]}")
    translator = load_translator(folder)
    analysis = {
        "split": split,
        "by_length": score_by_length(sources, translations, references),
        "by_frequency": recall_by_frequency(training_text, translations, references),
        "said_twice": {
            "translations": share_said_twice(translations),
            "references": share_said_twice(references),
        },
        "attention": [
            {"line": line}
            | attention_to_words(translator, sources[line - 1], translations[line - 1])
            for line in sentences
        ],
        "command": environment(torch.device("cpu"))["command"],
    }
    write_json(folder.path / "analysis.json", analysis)
    return analysis


def score_by_length(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> list[dict[str, Any]]:
    """Score short and long sentences apart.

    Args:
        sources: As they were translated.
        translations: One a source.
        references: Likewise.

    Returns:
        For each band of source lengths that occurs: ``words``, such as ``"8 to 10"``;
        ``sentences``; ``bleu``, cased; and ``length_ratio``, words translated by words of the
        references.

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
    """Count how many words of the references are translated, rare and frequent ones apart.

    Args:
        training_text: Target sentences that the model was trained on.
        translations: Of a test set.
        references: Likewise.

    Returns:
        For each band of frequencies in the training text that occurs: ``times``, such as
        ``"1 to 4"``; ``words``, of the references; and ``recall``, the share of them that the
        translation of their sentence has too, each counted as often as it occurs in both.

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


def share_said_twice(sentences: Sequence[str]) -> float:
    """Count sentences that say a pair of words twice, as weak models do.

    Args:
        sentences: Translations or references.

    Returns:
        Their share of all sentences.
    """
    twice = [max(Counter(pairwise(_words(s))).values(), default=0) > 1 for s in sentences]
    return round(sum(twice) / len(twice), 4)


def attention_to_words(translator: Translator, sentence: str, translation: str) -> dict[str, Any]:
    """See which words of a sentence the decoder looks at for each word of a translation.

    A word's weight is that of its pieces together; what looks is the mean of a word's pieces, and
    of all heads.

    Args:
        translator: A Transformer.
        sentence: What is read.
        translation: What is written; the model need not have chosen it.

    Returns:
        ``source`` and ``translation``, lists of words, the ends of the texts among them; and
        ``weights``, for each layer a table ``(tgt_words, src_words)``.

    Raises:
        ValueError: The model is no Transformer: it has no layers to look at.
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
    """Join the pieces of words: ``(tgt_len, src_len)`` to ``(tgt_words, src_words)``."""
    columns = torch.split(weights, [pieces for _, pieces in read], dim=1)
    by_word = torch.stack([column.sum(dim=1) for column in columns], dim=1)
    rows = torch.split(by_word, [pieces for _, pieces in written])
    return torch.stack([row.mean(dim=0) for row in rows])


def _words(sentence: str) -> list[str]:
    return _split(sentence).split()


def _band(starts: Sequence[int], value: int) -> int:
    """Return where the band of a value begins."""
    return starts[max(0, bisect_right(starts, value) - 1)]


def _band_name(starts: Sequence[int], start: int) -> str:
    """Name the band that begins there."""
    after = starts[starts.index(start) + 1 :]
    if not after:
        return f"{start} and more"
    return f"{start} to {after[0] - 1}" if after[0] > start + 1 else str(start)
