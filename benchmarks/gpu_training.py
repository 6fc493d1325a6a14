"""A training step on a GPU, beside ``transformers``, and its share of the card's peak."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from benchmarks.gpu_models import Bench, draw_tokens, gpt_models
from course_lib.models.bert import BertConfig
from course_lib.models.bert_heads import BertForPreTraining, pretraining_loss


def peak_operations(bench: Bench) -> float:
    """Return the floating-point operations per second of a large matrix product in bfloat16."""
    size = bench.sizes.product
    left, right = (
        torch.randn(size, size, device=bench.device, dtype=torch.bfloat16) for _ in range(2)
    )
    return 2 * size**3 / bench.seconds(lambda: left @ right)


@dataclasses.dataclass(frozen=True)
class Trained:
    """A model to train.

    Attributes:
        name: The model and its batch, in words.
        model: The model.
        loss: Function that returns the model's loss on a fixed batch.
    """

    name: str
    model: nn.Module
    loss: Callable[[nn.Module], Tensor]


def bert_pair(bench: Bench) -> tuple[Trained, Trained, int, int]:
    """Return our BERT-Base and that of ``transformers``, each with its pre-training loss.

    The numbers are those of texts in a batch and of tokens in a text.
    """
    sizes = bench.sizes
    batch, length = sizes.bert_batch
    tokens, labels = draw_tokens(bench, batch, length), draw_tokens(bench, batch, length)
    next_labels = torch.zeros(batch, dtype=torch.int64, device=bench.device)
    ours = BertForPreTraining(
        BertConfig(
            vocab_size=sizes.vocab_size,
            max_length=length,
            d_model=sizes.d_model,
            num_heads=sizes.num_heads,
            d_ff=4 * sizes.d_model,
            num_layers=sizes.num_layers,
            dropout=0.0,
        )
    )
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=sizes.vocab_size,
            max_position_embeddings=length,
            hidden_size=sizes.d_model,
            num_attention_heads=sizes.num_heads,
            intermediate_size=4 * sizes.d_model,
            num_hidden_layers=sizes.num_layers,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    name = f"BERT-Base's pre-training, {batch} x {length} tokens, all of them guessed"
    return (
        Trained(name, ours, lambda model: pretraining_loss(model(tokens), labels, next_labels)),
        Trained(
            name,
            theirs,
            lambda model: (
                model(input_ids=tokens, labels=labels, next_sentence_label=next_labels).loss
            ),
        ),
        batch,
        length,
    )


def gpt_pair(bench: Bench) -> tuple[Trained, Trained, int, int]:
    """Return our GPT-2 and that of ``transformers``, each with its loss of the next token.

    The numbers are those of texts in a batch and of tokens in a text.
    """
    batch, length = bench.sizes.gpt_batch
    tokens = draw_tokens(bench, batch, length + 1)
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()

    def our_loss(model: nn.Module) -> Tensor:
        return F.cross_entropy(model(inputs).flatten(0, 1), targets)

    def their_loss(model: nn.Module) -> Tensor:
        return F.cross_entropy(
            model(input_ids=inputs, use_cache=False).logits.flatten(0, 1), targets
        )

    name = f"GPT-2 (124 million), {batch} x {length} tokens"
    ours, theirs = gpt_models(bench, length)
    return Trained(name, ours, our_loss), Trained(name, theirs, their_loss), batch, length


def training_row(
    bench: Bench, ours: Trained, theirs: Trained, tokens: int, length: int, peak: float
) -> dict[str, Any]:
    """Measure a training step of both models: forward, backward, clipping, AdamW's update.

    Args:
        bench: The settings of the run.
        ours: Our model with its loss.
        theirs: The model of ``transformers`` with its loss.
        tokens: Number of tokens of a step.
        length: Number of tokens of a text.
        peak: Operations per second of the card, see ``peak_operations``.

    Returns:
        The tokens a second of both, the shares of the peak that they use, and the ratio.
    """
    weights = sum(p.numel() for p in ours.model.parameters() if p.dim() > 1)
    sizes = bench.sizes
    # Embedding look-ups cost nothing; the output projection multiplies with the token embedding.
    weights -= length * sizes.d_model
    attention = 12 * sizes.num_layers * sizes.d_model * length
    operations = (6 * weights + attention) * tokens
    times = {
        side: step_seconds(bench, trained) for side, trained in (("ours", ours), ("peer", theirs))
    }
    return {
        "what": ours.name,
        "peer": "transformers",
        "tokens_a_second": tokens / times["ours"],
        "peer_tokens_a_second": tokens / times["peer"],
        "share_of_peak": operations / times["ours"] / peak,
        "peer_share_of_peak": operations / times["peer"] / peak,
        "ratio": times["peer"] / times["ours"],
    }


def step_seconds(bench: Bench, trained: Trained) -> float:
    """Return the median seconds of a training step of the compiled model."""
    model = trained.model.to(bench.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=bench.device == "cuda")
    compiled = torch.compile(functools.partial(trained.loss, model), backend=bench.backend)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(bench.device, dtype=torch.bfloat16):
            loss = compiled()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    seconds = bench.seconds(step, repeats=bench.sizes.steps)
    model.to("cpu")
    torch.compiler.reset()
    return seconds
