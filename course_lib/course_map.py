"""The course map: which module belongs to which chapter and homework."""

from typing import NamedTuple


class MapRow(NamedTuple):
    """One row of the course's map.

    Attributes:
        module: File of ``course_lib`` without its ending.
        chapter: File of ``book/`` without its ending that explains it: imports it, shows its
            source, or names it.
        homework: Id of the first homework that asks students to write it, or None.
    """

    module: str
    chapter: str
    homework: str | None


COURSE_MAP: tuple[MapRow, ...] = (
    MapRow("models.ngram", "language-models", None),
    MapRow("models.neural_lm", "language-models", None),
    MapRow("models.rnn_lm", "language-models", None),
    MapRow("metrics.perplexity", "language-models", None),
    MapRow("models.word2vec", "language-models", None),
    MapRow("data.context_pairs", "language-models", None),
    MapRow("tokenization.vocabulary", "language-models", None),
    MapRow("layers.recurrent_cells", "recurrent-networks", "hw01-recurrent-seq2seq"),
    MapRow("layers.recurrent", "recurrent-networks", "hw01-recurrent-seq2seq"),
    MapRow("models.seq2seq", "sequence-to-sequence", "hw01-recurrent-seq2seq"),
    MapRow("data.translation_grammar.english_french", "sequence-to-sequence", None),
    MapRow("data.translation_grammar.sentence_pair", "sequence-to-sequence", None),
    MapRow("data.batching", "sequence-to-sequence", None),
    MapRow("generation.step_model", "decoding", None),
    MapRow("generation.greedy_search", "decoding", "hw01-recurrent-seq2seq"),
    MapRow("generation.beam_search", "decoding", "hw01-recurrent-seq2seq"),
    MapRow("analysis.beam_tree", "decoding", None),
    MapRow("generation.length_penalty", "decoding", None),
    MapRow("generation.sampling", "decoding", "hw06-kv-cache"),
    MapRow("generation.diagnosis", "decoding", "hw01-recurrent-seq2seq"),
    MapRow("generation.recurrent_step", "decoding", None),
    MapRow("generation.recomputing", "decoding", None),
    MapRow("metrics.bleu", "bleu", "hw07-bleu"),
    MapRow("metrics.bleu_statistics", "bleu", "hw07-bleu"),
    MapRow("metrics.tokenizer_13a", "bleu", None),
    MapRow("layers.additive_attention", "bahdanau-attention", "hw02-bahdanau-attention"),
    MapRow("models.bahdanau", "bahdanau-attention", "hw02-bahdanau-attention"),
    MapRow("metrics.alignment", "bahdanau-attention", "hw02-bahdanau-attention"),
    MapRow("models.captioning", "image-captioning", None),
    MapRow("data.shape_pictures", "image-captioning", None),
    MapRow("data.shape_captions", "image-captioning", None),
    MapRow("layers.attention", "self-attention", "hw03-self-attention"),
    MapRow("data.toy_tasks", "self-attention", None),
    MapRow("data.agreement", "self-attention", None),
    MapRow("analysis.attention_reader", "self-attention", None),
    MapRow("analysis.recorders", "multi-head-attention", None),
    MapRow("layers.masks", "masking", "hw03-self-attention"),
    MapRow("analysis.complexity", "cost-of-attention", "hw06-kv-cache"),
    MapRow("layers.positional", "positional-encoding", "hw04-transformer-blocks"),
    MapRow("layers.feed_forward", "feed-forward", "hw04-transformer-blocks"),
    MapRow("layers.residual", "residual-connections", "hw04-transformer-blocks"),
    MapRow("analysis.depth_experiment", "residual-connections", None),
    MapRow("layers.normalization", "layer-normalization", "hw04-transformer-blocks"),
    MapRow("models.transformer", "transformer", "hw05-transformer"),
    MapRow("layers.transformer_layers", "transformer", "hw05-transformer"),
    MapRow("layers.embedding", "transformer", None),
    MapRow("training.loop", "training", None),
    MapRow("training.checkpoint", "training", None),
    MapRow("training.losses", "training", "hw05-transformer"),
    MapRow("training.schedules", "training", "hw05-transformer"),
    MapRow("tokenization.bpe", "training", None),
    MapRow("training.distributed", "training", None),
    MapRow("models.gpt", "transformer-families", None),
    MapRow("models.pretrained.gpt2", "transformer-families", None),
    MapRow("models.pretrained.marian", "transformer-families", None),
    MapRow("models.pretrained.huggingface", "transformer-families", None),
    MapRow("layers.kv_cache", "kv-caching", "hw06-kv-cache"),
    MapRow("generation.cached", "kv-caching", None),
    MapRow("generation.static", "kv-caching", None),
    MapRow("models.bert", "bert", "hw08-bert"),
    MapRow("models.bert_heads", "bert", "hw08-bert"),
    MapRow("data.bert_pretraining", "bert", "hw08-bert"),
    MapRow("models.pretrained.bert", "bert", None),
    MapRow("tokenization.wordpiece", "bert", "hw08-bert"),
    MapRow("tokenization.basic", "bert", None),
)
"""Module, chapter and homework, in the book's order; the README's and the book's tables are made
from it. ``plotting``, ``testing`` and ``recipes`` are no chapter's own and stand in no row.
A chapter that the book does not have yet is named all the same.
"""
