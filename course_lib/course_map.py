"""The course map: which module belongs to which chapter and homework."""

from typing import NamedTuple


class MapRow(NamedTuple):
    """One row of the course's map.

    Attributes:
        module: File of ``course_lib`` without its ending; empty in the row of a chapter, or a
            homework, that needs no module of its own.
        chapter: File of ``book/``, without its ending, that explains the module: imports it, shows
            its source, or names it.
        homework: Id of the first homework that asks students to write it, or None.
    """

    module: str
    chapter: str
    homework: str | None = None


COURSE_MAP: tuple[MapRow, ...] = (
    MapRow("models.ngram", "language-models"),
    MapRow("models.neural_lm", "language-models"),
    MapRow("models.rnn_lm", "language-models"),
    MapRow("metrics.perplexity", "language-models"),
    MapRow("models.word2vec", "language-models"),
    MapRow("data.context_pairs", "language-models"),
    MapRow("tokenization.vocabulary", "language-models"),
    MapRow("layers.recurrent_cells", "recurrent-networks", "hw01-recurrent-seq2seq"),
    MapRow("layers.recurrent", "recurrent-networks", "hw01-recurrent-seq2seq"),
    MapRow("models.seq2seq", "sequence-to-sequence", "hw01-recurrent-seq2seq"),
    MapRow("data.translation_grammar.english_french", "sequence-to-sequence"),
    MapRow("data.translation_grammar.sentence_pair", "sequence-to-sequence"),
    MapRow("data.batching", "sequence-to-sequence"),
    MapRow("generation.step_models", "decoding"),
    MapRow("generation.greedy_search", "decoding", "hw01-recurrent-seq2seq"),
    MapRow("generation.beam_search", "decoding", "hw01-recurrent-seq2seq"),
    MapRow("analysis.beam_tree", "decoding"),
    MapRow("generation.length_penalty", "decoding"),
    MapRow("generation.sampling", "decoding", "hw06-kv-cache"),
    MapRow("generation.diagnosis", "decoding", "hw01-recurrent-seq2seq"),
    MapRow("metrics.bleu", "bleu", "hw07-bleu"),
    MapRow("metrics.bleu_statistics", "bleu", "hw07-bleu"),
    MapRow("metrics.tokenizer_13a", "bleu"),
    MapRow("layers.additive_attention", "bahdanau-attention", "hw02-bahdanau-attention"),
    MapRow("models.bahdanau", "bahdanau-attention", "hw02-bahdanau-attention"),
    MapRow("metrics.alignment", "bahdanau-attention", "hw02-bahdanau-attention"),
    MapRow("models.captioning", "image-captioning"),
    MapRow("data.shape_pictures", "image-captioning"),
    MapRow("data.shape_captions", "image-captioning"),
    MapRow("layers.attention", "self-attention", "hw03-self-attention"),
    MapRow("data.agreement", "self-attention"),
    MapRow("data.toy_tasks", "what-attention-learns"),
    MapRow("analysis.attention_reader", "what-attention-learns"),
    MapRow("analysis.recorders", "multi-head-attention"),
    MapRow("layers.masks", "masking", "hw03-self-attention"),
    MapRow("analysis.complexity", "cost-of-attention", "hw06-kv-cache"),
    MapRow("layers.positional", "positional-encoding", "hw04-transformer-blocks"),
    MapRow("layers.feed_forward", "feed-forward", "hw04-transformer-blocks"),
    MapRow("layers.residual", "residual-connections", "hw04-transformer-blocks"),
    MapRow("analysis.depth_experiment", "residual-connections"),
    MapRow("layers.normalization", "layer-normalization", "hw04-transformer-blocks"),
    MapRow("models.transformer", "transformer", "hw05-transformer"),
    MapRow("layers.transformer_layers", "transformer", "hw05-transformer"),
    MapRow("layers.embedding", "transformer"),
    MapRow("data.translation_grammar.lexicon", "living-transformer"),
    MapRow("training.export", "living-transformer"),
    MapRow("tokenization.bpe", "tokenization"),
    MapRow("tokenization.wordpiece", "tokenization", "hw08-bert"),
    MapRow("tokenization.basic", "tokenization"),
    MapRow("training.loop", "training"),
    MapRow("training.checkpoint", "training"),
    MapRow("training.losses", "training", "hw05-transformer"),
    MapRow("training.schedules", "training", "hw05-transformer"),
    MapRow("training.distributed", "real-translation"),
    MapRow("models.gpt", "decoder-only-language-models"),
    MapRow("models.pretrained.gpt2", "decoder-only-language-models"),
    MapRow("models.pretrained.marian", "decoder-only-language-models"),
    MapRow("models.pretrained.huggingface", "decoder-only-language-models"),
    MapRow("layers.kv_cache", "kv-caching", "hw06-kv-cache"),
    MapRow("models.llama", "modern-language-model", "hw09-modern-decoder"),
    MapRow("models.pretrained.llama", "modern-language-model"),
    MapRow("models.pretrained.gguf", "modern-language-model"),
    MapRow("models.pretrained.installed", "modern-language-model"),
    MapRow("tokenization.chat_template", "modern-language-model"),
    MapRow("", "language-model-to-take-apart"),
    MapRow("", "transformer-families"),
    MapRow("models.bert", "bert", "hw08-bert"),
    MapRow("models.bert_heads", "bert", "hw08-bert"),
    MapRow("data.bert_pretraining", "bert", "hw08-bert"),
    MapRow("models.pretrained.bert", "bert"),
    MapRow("data.toy_translation_pairs", "sentence-vectors"),
)
"""Module, chapter and homework, in the book's order; the README's and the book's tables are made
from it. ``plotting``, ``testing`` and ``recipes`` are no chapter's own and stand in no row.
A chapter that the book does not have yet is named all the same.
"""
