"""``BertModel`` and a step of pre-training beside those of ``transformers``.

python -m benchmarks.bert
"""

import tempfile

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor

from benchmarks.measure import Comparison, compare, devices, table, training_step
from course_lib.data.bert_pretraining import mask_tokens
from course_lib.models.bert_heads import BertForPreTraining
from course_lib.models.pretrained.bert import from_huggingface

transformers.utils.logging.disable_progress_bar()

VOCAB_SIZE = 8000
SMALL = (8, 64, 256, 4, 4)  # batch, length, d_model, num_heads, layers
BASE = (4, 128, 768, 12, 12)


def rows() -> list[Comparison]:
    """Time the forward pass at two sizes, without and with padding, and a training step."""
    return [
        row
        for device in devices()
        for row in (
            forward_row(*SMALL, padded=False, pairs=41, device=device),
            forward_row(*SMALL, padded=True, pairs=41, device=device),
            forward_row(*BASE, padded=False, pairs=11, device=device),
            forward_row(*BASE, padded=True, pairs=11, device=device),
            step_row(*SMALL, pairs=11, device=device),
        )
    ]


def build_pair(
    d_model: int, num_heads: int, num_layers: int, device: str
) -> tuple[BertForPreTraining, transformers.BertForPreTraining]:
    """Return our BERT and that of ``transformers``, with the same weights and without dropout."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=d_model,
        num_attention_heads=num_heads,
        num_hidden_layers=num_layers,
        intermediate_size=4 * d_model,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    theirs = transformers.BertForPreTraining(config)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = from_huggingface(folder)
    return ours.to(device), theirs.to(device).eval()


def draw_tokens(batch: int, length: int, *, padded: bool, device: str) -> Tensor:
    """Draw token ids, ``(batch, length)``; if padded, a quarter of half of the rows is padding."""
    generator = torch.Generator().manual_seed(0)
    token_ids = torch.randint(1, VOCAB_SIZE, (batch, length), generator=generator)
    if padded:
        token_ids[: batch // 2, -length // 4 :] = 0
    return token_ids.to(device)


def forward_row(
    batch: int,
    length: int,
    d_model: int,
    num_heads: int,
    num_layers: int,
    *,
    padded: bool,
    pairs: int,
    device: str,
) -> Comparison:
    """Time a forward pass of our BERT encoder and that of ``transformers``, ``pairs`` times.

    ``padded`` is as in ``draw_tokens``.
    """
    ours, theirs = (m.bert for m in build_pair(d_model, num_heads, num_layers, device))
    token_ids = draw_tokens(batch, length, padded=padded, device=device)
    attention_mask = (token_ids != 0).long()

    @torch.inference_mode()
    def run_ours() -> Tensor:
        return ours(token_ids).hidden

    @torch.inference_mode()
    def run_theirs() -> Tensor:
        return theirs(input_ids=token_ids, attention_mask=attention_mask).last_hidden_state

    torch.testing.assert_close(run_ours(), run_theirs(), rtol=1e-3, atol=1e-4)
    return compare(
        f"forward: {batch} x {length} tokens, d_model {d_model}, {num_layers} layers, "
        + ("a quarter of half of them padding" if padded else "no padding"),
        run_ours,
        "`transformers.BertModel`",
        run_theirs,
        pairs=pairs,
        device=device,
    )


def step_row(
    batch: int,
    length: int,
    d_model: int,
    num_heads: int,
    num_layers: int,
    *,
    pairs: int,
    device: str,
) -> Comparison:
    """Time a pre-training step of our BERT and that of ``transformers``, ``pairs`` times.

    A step is forward, backward and AdamW's update. Masked words and next sentence give the loss.
    """
    ours, theirs = build_pair(d_model, num_heads, num_layers, device)
    token_ids, labels = mask_tokens(
        draw_tokens(batch, length, padded=True, device=device),
        mask_id=4,
        vocab_size=VOCAB_SIZE,
        special_ids=[0],
        generator=torch.Generator().manual_seed(0),
    )
    next_labels = torch.arange(batch, device=device) % 2
    chosen = labels != -100

    def loss_of_ours() -> Tensor:
        output = ours.bert(token_ids)
        guesses = ours.masked_language_model(output.hidden[chosen])
        verdicts = ours.next_sentence(output.pooled)
        return F.cross_entropy(guesses, labels[chosen]) + F.cross_entropy(verdicts, next_labels)

    def loss_of_theirs() -> Tensor:
        return theirs(
            input_ids=token_ids,
            attention_mask=(token_ids != 0).long(),
            labels=labels,
            next_sentence_label=next_labels,
        ).loss

    torch.testing.assert_close(loss_of_ours(), loss_of_theirs(), rtol=1e-4, atol=1e-4)
    return compare(
        f"pre-training step: {batch} x {length} tokens, d_model {d_model}, {num_layers} layers, "
        f"vocabulary {VOCAB_SIZE:,}",
        training_step(ours, loss_of_ours, learning_rate=1e-5),
        "`transformers.BertForPreTraining`",
        training_step(theirs, loss_of_theirs, learning_rate=1e-5),
        pairs=pairs,
        device=device,
        note="ours computes logits at masked places alone",
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
