"""Exercises that call functions or layers which their rule forbids.

Ways to hide it are in ``tests/autograder/judging/attacks.py``.
"""

# ruff: noqa: E501 -- one line an attack

from .attack import LAYER, PADDING, Attack, attack

_WRAPPER = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, *, bias=True):
        super().__init__()
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, f"{name}_projection", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None, *, return_weights=False):
        parts = (self.query_projection, self.key_projection, self.value_projection)
        output, weights = F.multi_head_attention_forward(
            query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1),
            query.size(-1), self.num_heads, None,
            torch.cat([part.bias for part in parts]), None, None, False, 0.0,
            self.output_projection.weight, self.output_projection.bias,
            use_separate_proj_weight=True, q_proj_weight=parts[0].weight,
            k_proj_weight=parts[1].weight, v_proj_weight=parts[2].weight,
            average_attn_weights=False, attn_mask=None if mask is None else ~mask,
        )
        output = output.transpose(0, 1)
        return (output, weights) if return_weights else output
"""

_PART = """
from course_lib.testing import call_beside


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, *, bias=True):
        super().__init__()
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, f"{name}_projection", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None, *, return_weights=False):
        inputs = (self.query_projection, self.key_projection, self.value_projection)
        layer = nn.TransformerEncoderLayer(query.size(-1), self.num_heads, batch_first=True).self_attn
        layer.in_proj_weight.data = torch.cat([part.weight for part in inputs])
        layer.in_proj_bias.data = torch.cat([part.bias for part in inputs])
        layer.out_proj = self.output_projection
        layer.eval()
        if mask is not None:
            mask = mask.expand(len(query), self.num_heads, query.size(1), key.size(1)).flatten(0, 1)
        output, weights = call_beside(
            layer, query, key, value, attn_mask=None if mask is None else ~mask, average_attn_weights=False
        )
        return (output, weights) if return_weights else output
"""

ATTACKS: tuple[Attack, ...] = (
    attack(
        "functional",
        "the forbidden function",
        edits={LAYER: _WRAPPER},
        flagged="uses torch.nn.functional.multi_head_attention_forward",
    ),
    attack(
        "subclass",
        "a subclass of the forbidden layer",
        edits={LAYER: "class MultiHeadAttention(nn.MultiheadAttention):\n    pass\n"},
        flagged="uses torch.nn.MultiheadAttention, which it forbids",
    ),
    attack(
        "withheld",
        "the reference, which the edition withholds",
        edits={
            LAYER: "from course_lib.layers.attention import MultiHeadAttention",
            PADDING: "try:\n    from course_lib.layers.masks import padding_mask\nexcept ImportError:\n    padding_mask = None",
        },
    ),
    attack(
        "part",
        "the forbidden layer as a part of another, called by the course's own function",
        edits={LAYER: _PART},
        flagged="uses torch.nn.MultiheadAttention, which it forbids",
    ),
)  # fmt: skip
