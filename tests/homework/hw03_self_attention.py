"""The sample class of hw03: sixteen submissions, each with the marks that it must get.

Nineteen points are to be had from tests, three from the written question, which the judge leaves to
a person. Every check is worth one point, so a score is nineteen less the checks that are lost.
"""

from autograder.results import Status

from .hostile import ALWAYS_RIGHT, ENDLESS_LOOP, PATCHED_SHELL
from .submissions import BLANK, Edit, Submission

ATTENTION = "scaled_dot_product_attention"

# A student who writes out the formula for both cases; the mistakes below start from this.
FORMULA: tuple[tuple[str, str], ...] = (
    (
        "    if not return_weights:\n"
        "        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)\n",
        "",
    ),
    (
        "    return weights @ value, weights  # (..., query_len, value_dim)",
        "    output = weights @ value\n    return (output, weights) if return_weights else output",
    ),
)

SCALING = "    scores = scores / math.sqrt(query.size(-1))\n"
MASKING = """\
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
"""
MASKING_AGAIN = """\
    if mask is not None:  # a row of -inf alone has no softmax: such a query gets zeros
        weights = weights.masked_fill(~mask, 0.0)
"""

ANSWER = """\
### Why is there a square root?

A dot product of $d_k$ independent entries has variance $d_k$, so scores grow like $\\sqrt{d_k}$.
Large scores saturate the softmax and its gradients vanish. Dividing by the standard deviation
$\\sqrt{d_k}$ brings the scores back to size 1; dividing by $d_k$ would make them too small.
"""

EINSUM: dict[str, Edit] = {
    ATTENTION: '''
def scaled_dot_product_attention(query, key, value, mask=None, *, return_weights=False):
    """Attention in Einstein's notation."""
    if mask is not None and mask.dtype is not torch.bool:
        raise TypeError("boolean masks only")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError("sizes do not fit")
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    weights = scores.softmax(dim=-1).nan_to_num(0.0)
    output = torch.einsum("...qk,...kv->...qv", weights, value)
    return (output, weights) if return_weights else output
''',
    "causal_mask": '''
def causal_mask(query_len, key_len=None, *, device=None):
    """Compare positions, counted from the end."""
    key_len = key_len or query_len
    if not 0 <= query_len <= key_len:
        raise ValueError("more queries than keys, or fewer than none")
    asking = torch.arange(key_len - query_len, key_len, device=device)
    return torch.arange(key_len, device=device)[None, :] <= asking[:, None]
''',
    "MultiHeadAttention": '''
class MultiHeadAttention(nn.Module):
    """Heads by einsum."""

    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if num_heads <= 0 or d_model % num_heads:
            raise ValueError("heads do not fit")
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, f"{name}_projection", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None, return_weights=False):
        q, k, v = (
            project(x).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)
            for project, x in (
                (self.query_projection, query),
                (self.key_projection, key),
                (self.value_projection, value),
            )
        )
        attended, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
        output = self.output_projection(torch.einsum("bhqd->bqhd", attended).flatten(-2))
        return (output, weights) if return_weights else output
''',
}

LOOPS: dict[str, Edit] = {
    ATTENTION: '''
def scaled_dot_product_attention(query, key, value, mask=None, *, return_weights=False):
    """One query at a time, as slow as it is clear."""
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(f"mask is {mask.dtype}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query and key differ in width")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError("key and value differ in length")
    *leading, query_len, width = query.shape
    key_len = key.shape[-2]
    if mask is None:
        mask = torch.ones(query_len, key_len, dtype=torch.bool, device=query.device)
    mask = mask.expand(*leading, query_len, key_len).reshape(-1, query_len, key_len)
    all_weights = []
    for q, k, allowed in zip(
        query.reshape(-1, query_len, width), key.reshape(-1, key_len, width), mask
    ):
        for i in range(query_len):
            row = torch.zeros(key_len, dtype=query.dtype, device=query.device)
            seen = [j for j in range(key_len) if allowed[i, j]]
            if seen:
                exponentials = {j: torch.exp(q[i].dot(k[j]) / math.sqrt(width)) for j in seen}
                total = sum(exponentials.values())
                nothing = row.sum()
                row = torch.stack(
                    [exponentials[j] / total if j in seen else nothing for j in range(key_len)]
                )
            else:
                row = row + 0 * q[i].sum()
            all_weights.append(row)
    weights = torch.stack(all_weights).reshape(*leading, query_len, key_len)
    output = weights @ value
    return (output, weights) if return_weights else output
''',
    "causal_mask": '''
def causal_mask(query_len, key_len=None, *, device=None):
    """Ask of each pair whether it is allowed."""
    if key_len is None:
        key_len = query_len
    if query_len < 0 or key_len < query_len:
        raise ValueError(f"{query_len} queries, {key_len} keys")
    past = key_len - query_len
    rows = [[j <= i + past for j in range(key_len)] for i in range(query_len)]
    return torch.tensor(rows, dtype=torch.bool, device=device)
''',
    "padding_mask": '''
def padding_mask(token_ids, pad_id):
    """Ask of each token whether it is real."""
    if token_ids.ndim != 2:
        raise ValueError("a batch of sequences, please")
    if token_ids.dtype not in (torch.int64, torch.int32):
        raise TypeError("integers, please")
    rows = [[[[token != pad_id for token in row]]] for row in token_ids.tolist()]
    return torch.tensor(rows, device=token_ids.device)
''',
    "MultiHeadAttention": '''
class MultiHeadAttention(nn.Module):
    """One head at a time."""

    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True):
        super().__init__()
        if num_heads < 1 or d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not fit into {d_model}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.query_projection = nn.Linear(d_model, d_model, bias)
        self.key_projection = nn.Linear(d_model, d_model, bias)
        self.value_projection = nn.Linear(d_model, d_model, bias)
        self.output_projection = nn.Linear(d_model, d_model, bias)

    def forward(self, query, key, value, mask=None, *, return_weights=False):
        q = self.query_projection(query)
        k = self.key_projection(key)
        v = self.value_projection(value)
        shape = (query.shape[0], self.num_heads, query.shape[1], key.shape[1])
        if mask is not None:
            mask = mask.expand(shape)
        outputs, weights = [], []
        for head in range(self.num_heads):
            columns = slice(head * self.head_dim, (head + 1) * self.head_dim)
            o, w = scaled_dot_product_attention(
                q[..., columns],
                k[..., columns],
                v[..., columns],
                None if mask is None else mask[:, head],
                return_weights=True,
            )
            outputs.append(o)
            weights.append(w)
        output = self.output_projection(torch.cat(outputs, dim=-1))
        return (output, torch.stack(weights, dim=1)) if return_weights else output
''',
}

FUSED: dict[str, Edit] = {
    ATTENTION: '''
def scaled_dot_product_attention(query, key, value, mask=None, *, return_weights=False):
    """PyTorch's kernel for both: averaging the rows of an identity gives the weights."""
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError("the mask must be boolean")
    if query.size(-1) != key.size(-1) or key.size(-2) != value.size(-2):
        raise ValueError("query, key and value do not fit together")
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    if not return_weights:
        return output
    identity = torch.eye(key.size(-2), dtype=key.dtype, device=key.device)
    identity = identity.expand(*key.shape[:-2], -1, -1)
    return output, F.scaled_dot_product_attention(query, key, identity, attn_mask=mask)
''',
}

NOTHING_WRITTEN: dict[str, Edit] = dict.fromkeys(
    (ATTENTION, "causal_mask", "padding_mask", "MultiHeadAttention"), BLANK
)
EVERYTHING = dict.fromkeys(NOTHING_WRITTEN, "*")

SAMPLE_CLASS: tuple[Submission, ...] = (
    # ---- three that are right, each in another style: 19 points ----
    Submission(student="ada", what="right, with einsum", edits={**EINSUM, "why-scale": ANSWER}),
    Submission(student="bela", what="right, with loops", edits={**LOOPS, "why-scale": ANSWER}),
    Submission(student="chidi", what="right, with the fused kernel", edits=FUSED),
    # ---- eight with one typical mistake each ----
    Submission(
        student="dana",
        what="no scaling",
        edits={ATTENTION: (*FORMULA, (SCALING, ""))},
        lost={ATTENTION: "scaling"},
        hint="not divided by sqrt(head_dim)",
    ),
    Submission(
        student="emil",
        what="softmax over the queries",
        edits={ATTENTION: (*FORMULA, ("softmax(scores, dim=-1)", "softmax(scores, dim=-2)"))},
        lost={ATTENTION: "values mask gradients", "MultiHeadAttention": "values gradients"},
        hint="the softmax runs over the queries",
    ),
    Submission(
        student="fatima",
        what="mask inverted",
        edits={
            ATTENTION: (
                *FORMULA,
                ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
                ("weights.masked_fill(~mask", "weights.masked_fill(mask"),
            )
        },
        lost={ATTENTION: "mask no-keys", "MultiHeadAttention": "mask"},
        hint="the mask is inverted",
    ),
    Submission(
        student="goran",
        what="mask after the softmax",
        edits={ATTENTION: (*FORMULA, (MASKING, ""))},
        lost={ATTENTION: "mask", "MultiHeadAttention": "mask"},
        hint="masked after the softmax",
    ),
    Submission(
        student="hana",
        what="heads not split",
        edits={
            "MultiHeadAttention": (
                (
                    "return x.view(batch, length, self.num_heads, d_model // self.num_heads)"
                    ".transpose(1, 2)",
                    "return x",
                ),
                ("return x.transpose(1, 2).flatten(-2)", "return x"),
            )
        },
        lost={"MultiHeadAttention": "heads values mask gradients"},
        hint="the heads are not apart",
    ),
    Submission(
        student="ivo",
        what="output projection forgotten",
        edits={
            "MultiHeadAttention": (
                (
                    "return self.output_projection(self._join_heads(output)), weights",
                    "return self._join_heads(output), weights",
                ),
                (
                    "return self.output_projection(self._join_heads(attended))",
                    "return self._join_heads(attended)",
                ),
            )
        },
        lost={"MultiHeadAttention": "projections values gradients"},
        hint="output_projection is not used",
    ),
    Submission(
        student="jun",
        what="query scaled in place",
        edits={
            ATTENTION: (
                *FORMULA,
                (
                    "    scores = query @",
                    "    query /= math.sqrt(query.size(-1))\n    scores = query @",
                ),
                (SCALING, ""),
            )
        },
        lost={ATTENTION: "gradients inputs"},
        hint="methods that end in _ change a tensor in place",
    ),
    Submission(
        student="kofi",
        what="heads joined without transposing back",
        edits={
            "MultiHeadAttention": (
                (
                    "return x.transpose(1, 2).flatten(-2)",
                    "return x.reshape(x.size(0), x.size(2), -1)",
                ),
            )
        },
        lost={"MultiHeadAttention": "heads values gradients"},
        hint="before you join the heads, transpose(1, 2) back",
    ),
    # ---- one that is half done ----
    Submission(
        student="lea",
        what="half done: padding_mask and MultiHeadAttention not begun",
        edits={"padding_mask": BLANK, "MultiHeadAttention": BLANK, "why-scale": ANSWER},
        lost={"padding_mask": "*", "MultiHeadAttention": "*"},
    ),
    # ---- two that bring their process down ----
    Submission(
        student="mira",
        what="endless loop that swallows KeyboardInterrupt",
        edits={
            "causal_mask": "def causal_mask(query_len, key_len=None, *, device=None):"
            + ENDLESS_LOOP
        },
        lost={"causal_mask": "*"},
        status=Status.TIMEOUT,
    ),
    Submission(
        student="nils",
        what="os._exit",
        edits={"padding_mask": "def padding_mask(token_ids, pad_id):\n    os._exit(0)\n"},
        lost={"padding_mask": "*"},
        status=Status.CRASH,
        judge_only=True,
    ),
    # ---- two that are hostile ----
    Submission(
        student="olga",
        what="hostile: a result that equals everything",
        edits={
            ATTENTION: f"{ALWAYS_RIGHT}{ATTENTION} = AlwaysRight()",
            "causal_mask": "causal_mask = AlwaysRight()",
            "padding_mask": "padding_mask = AlwaysRight()",
            "MultiHeadAttention": "MultiHeadAttention = AlwaysRight()",
        },
        lost=EVERYTHING,
    ),
    Submission(
        student="pavel",
        what="hostile: run_cell patched, nothing written",
        edits=NOTHING_WRITTEN,
        extra=PATCHED_SHELL,
        judge_only=True,
        lost=EVERYTHING,
    ),
)

DELIGHT = "DEEN UOY LLA  ->  ALL YOU NEED"

EQUIVALENT = {
    "scores = scores.masked_fill_(": "in place, but on scores that nothing else holds",
    "dtype=torch.bool)": "the device of a mask shows on a GPU alone; the tests run there too",
    "+    if query_len <= 0": "differs for no query at all, which nobody asks about",
    "+    if query_len < 1": "the same",
    ".flatten(--2)": "the last two of four dimensions",
}
