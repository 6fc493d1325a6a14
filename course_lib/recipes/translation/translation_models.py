"""The two models of the recipe, and the three things that are asked of them.

Dimensions: batch; src_len, tgt_len (tokens); vocab_size.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from course_lib.data.batching import Batch
from course_lib.generation.cached import CachedTransformer
from course_lib.generation.recurrent_step import SteppedDecoder
from course_lib.generation.step_model import StepModel
from course_lib.models.bahdanau import AttentionDecoder
from course_lib.models.seq2seq import RecurrentEncoder, Seq2Seq
from course_lib.models.transformer import Transformer
from course_lib.recipes.translation.presets import TranslationRecipe
from course_lib.recipes.translation.subwords import PAD_ID
from course_lib.training.losses import label_smoothed_cross_entropy

TranslationModel = Transformer | Seq2Seq


def build_model(recipe: TranslationRecipe, vocab_size: int) -> TranslationModel:
    """Make a model with random weights, drawn from PyTorch's global generator.

    Args:
        recipe: Its sizes.
        vocab_size: Tokens of the joint vocabulary.

    Returns:
        The model.

    Raises:
        ValueError: Sizes do not go together.
    """
    if recipe.architecture == "gru":
        return _build_gru(recipe, vocab_size)
    return Transformer(recipe.model_config(vocab_size))


def _build_gru(recipe: TranslationRecipe, vocab_size: int) -> Seq2Seq:
    """Bahdanau's model, with dropout on the embeddings and before the output."""
    width = recipe.d_model
    encoder = RecurrentEncoder(vocab_size, width, width, bidirectional=True)
    decoder = AttentionDecoder(vocab_size, width, width, encoder.d_memory)
    dropout = nn.Dropout(recipe.dropout)
    dropped: dict[str, nn.Module] = {
        "encoder": nn.Sequential(encoder.embedding, dropout),
        "decoder": nn.Sequential(decoder.embedding, dropout),
        "output": nn.Sequential(dropout, decoder.output),
    }
    encoder.add_module("embedding", dropped["encoder"])
    decoder.add_module("embedding", dropped["decoder"])
    decoder.add_module("output", dropped["output"])
    return Seq2Seq(encoder, decoder)


def batch_logits(model: nn.Module, batch: Batch) -> Tensor:
    """Say for each target token what comes next, given the true ones before it.

    Args:
        model: As ``build_model`` made it.
        batch: Sources and targets.

    Returns:
        Logits ``(batch, tgt_len, vocab_size)``.
    """
    if isinstance(model, Seq2Seq):
        return model(batch.src, batch.tgt_input, source_lengths(batch.src))
    return model(batch.src, batch.tgt_input)


def mean_loss(model: nn.Module, batches: Iterable[Batch], device: torch.device | str) -> float:
    """Measure a model on a corpus, without smoothing.

    Args:
        model: In evaluation mode.
        batches: The corpus.
        device: Where the model is.

    Returns:
        Mean negative log-probability of a target token, in nats.
    """
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in batches:
            moved = batch.to(device)
            loss = label_smoothed_cross_entropy(
                batch_logits(model, moved).float(),
                moved.tgt_output,
                smoothing=0.0,
                ignore_index=PAD_ID,
                reduction="sum",
            )
            total += loss.item()
            count += batch.num_tokens
    return total / count


def begin(model: nn.Module, src: Tensor) -> StepModel:
    """Encode sources, ready for a search.

    Args:
        model: In evaluation mode.
        src: ``(batch, src_len)``, filled up with padding.

    Returns:
        A model that has read no target token.
    """
    if isinstance(model, Seq2Seq):
        assert isinstance(model.decoder, AttentionDecoder)
        return SteppedDecoder(model.decoder, model.encoder(src, source_lengths(src)))
    assert isinstance(model, Transformer)
    return CachedTransformer(model, *model.encode(src))


def source_lengths(src: Tensor) -> Tensor:
    """Count the tokens of sources.

    Args:
        src: ``(batch, src_len)``, filled up with padding.

    Returns:
        ``(batch,)``, int64, on the CPU, where packing a recurrent network's input wants it.
    """
    return (src != PAD_ID).sum(dim=1).cpu()
