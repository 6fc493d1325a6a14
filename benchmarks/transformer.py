"""A training step of ``Transformer`` beside one of ``torch.nn.Transformer``.

python -m benchmarks.transformer
"""

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measure import Comparison, compare, devices, table, training_step
from course_lib.layers.positional import SinusoidalPositions
from course_lib.models.transformer import Transformer, TransformerConfig
from tests.course_lib.weights import copy_torch_transformer

VOCAB_SIZE, PAD_ID = 1000, 0
SIZES = (
    # batch, length, d_model, num_heads, d_ff, layers of encoder and of decoder
    (16, 32, 128, 4, 512, 2),
    (8, 64, 512, 8, 2048, 2),
)


class TorchTransformer(nn.Module):
    """``torch.nn.Transformer`` between the same embeddings and output projection as ours."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.scale = config.d_model**0.5
        self.src_embedding = nn.Embedding(config.src_vocab_size, config.d_model)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.register_buffer("positions", SinusoidalPositions(config.d_model).vectors(512))
        self.dropout = nn.Dropout(config.dropout)
        with warnings.catch_warnings():  # that pre-norm does not support nested tensors
            warnings.simplefilter("ignore")
            self.transformer = nn.Transformer(
                config.d_model,
                config.num_heads,
                config.num_encoder_layers,
                config.num_decoder_layers,
                config.d_ff,
                config.dropout,
                batch_first=True,
                norm_first=True,
            )

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits ``(batch, tgt_len, vocab_size)``."""
        future = nn.Transformer.generate_square_subsequent_mask(tgt.size(1), device=src.device)
        padding = torch.zeros(src.shape, device=src.device).masked_fill(src == PAD_ID, -torch.inf)
        hidden = self.transformer(
            self.embed(src, self.src_embedding),
            self.embed(tgt, self.tgt_embedding),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.tgt_embedding.weight)

    def embed(self, tokens: Tensor, embedding: nn.Embedding) -> Tensor:
        """Return the scaled embeddings with their positions, ``(batch, length, d_model)``."""
        return self.dropout(embedding(tokens) * self.scale + self.positions[: tokens.size(1)])


def rows() -> list[Comparison]:
    """Time training steps of two sizes, and of the smaller one with dropout too."""
    return [
        row
        for device in devices()
        for row in (
            step_row(*SIZES[0], dropout=0.0, pairs=25, device=device),
            step_row(*SIZES[0], dropout=0.1, pairs=25, device=device),
            step_row(*SIZES[1], dropout=0.0, pairs=9, device=device),
        )
    ]


def step_row(
    batch: int,
    length: int,
    d_model: int,
    num_heads: int,
    d_ff: int,
    num_layers: int,
    *,
    dropout: float,
    pairs: int,
    device: str,
) -> Comparison:
    """Time a training step of our Transformer and PyTorch's: forward, backward, AdamW's update.

    ``length`` tokens are in the source and in the target; half of the sources are padded.
    """
    config = TransformerConfig(
        src_vocab_size=VOCAB_SIZE,
        tgt_vocab_size=VOCAB_SIZE,
        d_model=d_model,
        num_heads=num_heads,
        d_ff=d_ff,
        num_encoder_layers=num_layers,
        num_decoder_layers=num_layers,
        dropout=dropout,
        norm_position="pre",
        pad_id=PAD_ID,
    )
    torch.manual_seed(0)
    ours, theirs = Transformer(config).to(device), TorchTransformer(config).to(device)
    src = torch.randint(1, VOCAB_SIZE, (batch, length), device=device)
    src[: batch // 2, -length // 8 :] = PAD_ID
    tgt = torch.randint(1, VOCAB_SIZE, (batch, length + 1), device=device)
    assert_same_function(ours, theirs, src, tgt[:, :-1])
    return compare(
        f"training step: {batch} x {length} + {length} tokens, d_model {d_model}, "
        f"{num_layers} + {num_layers} layers, dropout {dropout:g}",
        training_step(ours, lambda: loss_of(ours, src, tgt)),
        "`torch.nn.Transformer`",
        training_step(theirs, lambda: loss_of(theirs, src, tgt)),
        pairs=pairs,
        device=device,
        note="PyTorch drops attention weights too" if dropout else "",
    )


@torch.no_grad()
def assert_same_function(
    ours: Transformer, theirs: TorchTransformer, src: Tensor, tgt: Tensor
) -> None:
    """Give both models the same weights, and check that their logits agree."""
    copy_torch_transformer(ours.encoder, ours.decoder, theirs.transformer)
    theirs.src_embedding.weight.copy_(ours.src_embedding.weight)
    theirs.tgt_embedding.weight.copy_(ours.tgt_embedding.weight)
    ours.eval()
    theirs.train()  # in evaluation PyTorch takes another path
    for module in theirs.modules():
        if isinstance(module, nn.Dropout | nn.MultiheadAttention):
            module.eval()
    torch.testing.assert_close(ours(src, tgt), theirs(src, tgt), rtol=1e-3, atol=1e-4)
    ours.train()
    theirs.train()


def loss_of(model: nn.Module, src: Tensor, tgt: Tensor) -> Tensor:
    """Return the mean cross-entropy of the next tokens of ``tgt``, ``(batch, length + 1)``."""
    return F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(table(rows()))
