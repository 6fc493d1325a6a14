"""The reference library of the course: one concept a file, in the words of the field.

This module holds the course's map and nothing else, so that importing it costs nothing.
"""

from typing import NamedTuple


class Room(NamedTuple):
    """One row of the course's map.

    Attributes:
        module: File of ``course_lib`` without its ending.
        chapter: File of ``book/`` without its ending that derives and uses it.
        homework: Id of the homework that asks students to write it, or None.
    """

    module: str
    chapter: str
    homework: str | None


COURSE_MAP: tuple[Room, ...] = (
    Room("language_models", "language-models", None),
    Room("ngram_model", "language-models", None),
    Room("neural_language_model", "language-models", None),
    Room("recurrent_language_model", "language-models", None),
    Room("perplexity", "language-models", None),
    Room("word_vectors", "language-models", None),
    Room("context_pairs", "language-models", None),
    Room("vocabulary", "language-models", None),
    Room("word_tokenizer", "language-models", None),
    Room("recurrent_cells", "recurrent-networks", "hw01-recurrent-seq2seq"),
    Room("recurrent", "recurrent-networks", "hw01-recurrent-seq2seq"),
    Room("fused_recurrent", "recurrent-networks", None),
    Room("seq2seq", "sequence-to-sequence", "hw01-recurrent-seq2seq"),
    Room("encoded", "sequence-to-sequence", None),
    Room("embedding", "sequence-to-sequence", None),
    Room("translation_grammar", "sequence-to-sequence", None),
    Room("translation_rules", "sequence-to-sequence", None),
    Room("translation_words", "sequence-to-sequence", None),
    Room("translation_lexicon", "sequence-to-sequence", None),
    Room("synchronous_grammar", "sequence-to-sequence", None),
    Room("realisation", "sequence-to-sequence", None),
    Room("surface_form", "sequence-to-sequence", None),
    Room("sentence_pair", "sequence-to-sequence", None),
    Room("batching", "sequence-to-sequence", None),
    Room("decoding", "decoding", None),
    Room("step_model", "decoding", None),
    Room("hypothesis", "decoding", None),
    Room("greedy_search", "decoding", "hw01-recurrent-seq2seq"),
    Room("beam_search", "decoding", "hw01-recurrent-seq2seq"),
    Room("beam_tree", "decoding", None),
    Room("length_penalty", "decoding", None),
    Room("sampling", "decoding", "hw06-kv-cache"),
    Room("diagnosis", "decoding", "hw01-recurrent-seq2seq"),
    Room("stepped_decoder", "decoding", None),
    Room("recomputing_model", "decoding", None),
    Room("bleu", "bleu", "hw07-bleu"),
    Room("bleu_score", "bleu", None),
    Room("bleu_statistics", "bleu", "hw07-bleu"),
    Room("bleu_tokenizer", "bleu", None),
    Room("additive_attention", "bahdanau-attention", "hw02-bahdanau-attention"),
    Room("alignment", "bahdanau-attention", "hw02-bahdanau-attention"),
    Room("captioning", "image-captioning", None),
    Room("shape_pictures", "image-captioning", None),
    Room("shape_captions", "image-captioning", None),
    Room("attention", "self-attention", "hw03-self-attention"),
    Room("toy_tasks", "self-attention", None),
    Room("agreement_task", "self-attention", None),
    Room("attention_reader", "self-attention", None),
    Room("attention_recording", "multi-head-attention", None),
    Room("masks", "masking", "hw03-self-attention"),
    Room("complexity", "cost-of-attention", "hw06-kv-cache"),
    Room("positional", "positional-encoding", "hw04-transformer-blocks"),
    Room("feed_forward", "feed-forward", "hw04-transformer-blocks"),
    Room("residual", "residual-connections", "hw04-transformer-blocks"),
    Room("depth_experiment", "residual-connections", None),
    Room("normalization", "layer-normalization", "hw04-transformer-blocks"),
    Room("transformer", "transformer", "hw05-transformer"),
    Room("transformer_stacks", "transformer", "hw05-transformer"),
    Room("training", "training", None),
    Room("checkpoint", "training", None),
    Room("losses", "training", "hw05-transformer"),
    Room("schedules", "training", "hw05-transformer"),
    Room("recording_optimizer", "training", None),
    Room("byte_pair_encoding", "training", None),
    Room("data_parallel", "training", None),
    Room("corpora", "training", None),
    Room("corpus_readers", "training", None),
    Room("download", "training", None),
    Room("language_model", "transformer-families", None),
    Room("gpt2_checkpoint", "transformer-families", None),
    Room("marian_checkpoint", "transformer-families", None),
    Room("huggingface_folder", "transformer-families", None),
    Room("kv_cache", "kv-caching", "hw06-kv-cache"),
    Room("cached_attention", "kv-caching", "hw06-kv-cache"),
    Room("recording_cache", "kv-caching", None),
    Room("memory_layout", "kv-caching", None),
    Room("static_decoder", "kv-caching", None),
    Room("bert", "bert", "hw08-bert"),
    Room("bert_heads", "bert", "hw08-bert"),
    Room("bert_data", "bert", "hw08-bert"),
    Room("bert_checkpoint", "bert", None),
    Room("wordpiece", "bert", "hw08-bert"),
    Room("basic_tokenizer", "bert", None),
    Room("plotting", "notation", None),
    Room("plotting_beams", "notation", None),
    Room("plotting_positions", "notation", None),
    Room("picture", "notation", None),
    Room("testing", "notation", None),
)
"""Module, chapter and homework, in the book's order; the README's and the book's tables are made
from it. A chapter that the book does not have yet is named all the same.
"""
