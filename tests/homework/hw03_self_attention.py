"""The sample class of hw03: sixteen submissions, each with the marks that it must get.

Nineteen points are to be had from tests, three from the written question, which the judge leaves to
a person. Every check is worth one point, so a score is nineteen less the checks that are lost.
"""

from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, ENDLESS_LOOP, PATCHED_SHELL
from .submissions import BLANK, Edit, Submission, mistake, right

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

SCALING = (
    "    query = query / math.sqrt(query.size(-1))"
    "  # before the product, which float16 may not hold\n"
)
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
    check_mask(mask, (*query.shape[:-1], key.shape[-2]), min_dims=2)
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
    key_len = query_len if key_len is None else key_len
    if not 0 <= query_len <= key_len:
        raise ValueError("more queries than keys, or fewer than none")
    asking = torch.arange(key_len - query_len, key_len, device=device)
    return torch.arange(key_len, device=device) <= asking[None, None, :, None]
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
        check_mask(mask, (len(query), self.num_heads, query.shape[1], key.shape[1]))
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
    if mask is not None and not 2 <= mask.dim() <= query.dim():
        raise ValueError(f"mask has {mask.dim()} dimensions")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query and key differ in width")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError("key and value differ in length")
    *leading, query_len, width = query.shape
    key_len = key.shape[-2]
    if mask is None:
        mask = torch.ones(query_len, key_len, dtype=torch.bool, device=query.device)
    try:
        mask = mask.expand(*leading, query_len, key_len).reshape(-1, query_len, key_len)
    except RuntimeError as error:
        raise ValueError(f"mask is {mask.shape}") from error
    all_weights = []
    for q, k, allowed in zip(
        query.reshape(-1, query_len, width), key.reshape(-1, key_len, width), mask
    ):
        for i in range(query_len):
            row = torch.zeros(key_len, dtype=query.dtype, device=query.device)
            seen = [j for j in range(key_len) if allowed[i, j]]
            if seen:
                scores = {j: q[i].dot(k[j]) / math.sqrt(width) for j in seen}
                highest = max(scores.values())
                exponentials = {j: torch.exp(scores[j] - highest) for j in seen}
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
    mask = torch.tensor(rows, dtype=torch.bool, device=device)
    return mask.reshape(1, 1, query_len, key_len)
''',
    "padding_mask": '''
def padding_mask(token_ids, pad_id):
    """Ask of each token whether it is real."""
    if token_ids.ndim != 2:
        raise ValueError("a batch of sequences, please")
    if not all(type(token) is int for row in token_ids.tolist() for token in row):
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
            if mask.dim() != 4 or torch.broadcast_shapes(mask.shape, shape) != shape:
                raise ValueError(f"mask is {mask.shape}, not {shape}")
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
    check_mask(mask, [*query.shape[:-1], key.size(-2)], min_dims=2)
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
    Submission(student="dana", what="no scaling", edits={ATTENTION: (*FORMULA, (SCALING, ""))},
        lost={ATTENTION: "scaling"}, hint="not divided by sqrt(head_dim)"),
    Submission(student="emil", what="softmax over the queries",
        edits={ATTENTION: (*FORMULA, ("softmax(scores, dim=-1)", "softmax(scores, dim=-2)"))},
        lost={ATTENTION: "values"}, hint="the softmax runs over the queries"),
    Submission(student="fatima", what="mask inverted",
        edits={
            ATTENTION: (*FORMULA, ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
                ("weights.masked_fill(~mask", "weights.masked_fill(mask"))},
        lost={ATTENTION: "mask no-keys"}, hint="the mask is inverted"),
    Submission(student="goran", what="mask after the softmax",
        edits={ATTENTION: (*FORMULA, (MASKING, ""))}, lost={ATTENTION: "mask"},
        hint="masked after the softmax"),
    Submission(student="hana", what="heads not split",
        edits={
            "MultiHeadAttention": (
                (
                 "return x.view(batch, length, self.num_heads, d_model // self.num_heads)"
                 ".transpose(1, 2)", "return x"),
                ("return x.transpose(1, 2).flatten(-2)", "return x"))},
        lost={"MultiHeadAttention": "heads values mask"}, hint="the heads are not apart"),
    Submission(student="ivo", what="output projection forgotten",
        edits={
            "MultiHeadAttention": (
                ("return self.output_projection(self._join_heads(output)), weights",
                 "return self._join_heads(output), weights"),
                ("return self.output_projection(self._join_heads(attended))",
                 "return self._join_heads(attended)"))}, lost={"MultiHeadAttention": "projections"},
        hint="output_projection is not used"),
    Submission(student="jun", what="query scaled in place",
        edits={ATTENTION: (*FORMULA, ("query = query / math.sqrt", "query /= math.sqrt"))},
        lost={ATTENTION: "inputs"}, hint="methods that end in _ change a tensor in place"),
    Submission(student="kofi", what="heads joined without transposing back",
        edits={
            "MultiHeadAttention": (
                ("return x.transpose(1, 2).flatten(-2)",
                 "return x.reshape(x.size(0), x.size(2), -1)"),)},
        lost={"MultiHeadAttention": "heads values"},
        hint="before you join the heads, transpose(1, 2) back"),
    # ---- one that is half done ----
    Submission(student="lea", what="half done: padding_mask and MultiHeadAttention not begun",
        edits={"padding_mask": BLANK, "MultiHeadAttention": BLANK, "why-scale": ANSWER},
        lost={"padding_mask": "*", "MultiHeadAttention": "*"}),
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
    Submission(student="nils", what="os._exit",
        edits={"padding_mask": "def padding_mask(token_ids, pad_id):\n    os._exit(0)\n"},
        lost={"padding_mask": "*"}, status=Status.CRASH, judge_only=True),
    # ---- two that are hostile ----
    Submission(student="olga", what="hostile: a result that equals everything",
        edits={ATTENTION: f"{ALWAYS_RIGHT}{ATTENTION} = AlwaysRight()",
            "causal_mask": "causal_mask = AlwaysRight()",
            "padding_mask": "padding_mask = AlwaysRight()",
            "MultiHeadAttention": "MultiHeadAttention = AlwaysRight()"}, lost=EVERYTHING),
    Submission(student="pavel", what="hostile: run_cell patched, nothing written",
        edits=NOTHING_WRITTEN, extra=PATCHED_SHELL, judge_only=True, lost=EVERYTHING),
)  # fmt: skip

# ---- further styles, and further mistakes ----

ADDITIVE: dict[str, Edit] = {
    ATTENTION: """
def _additive(mask, scores):
    if mask.dtype != torch.bool:
        raise TypeError("bool")
    missing = scores.dim() - mask.dim()
    sizes = (1,) * missing + tuple(mask.shape)
    if missing < 0 or mask.dim() < 2 or any(m != n and m != 1 for m, n in zip(sizes, scores.shape)):
        raise ValueError(mask.shape)
    penalty = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    return scores + penalty.masked_fill(mask.logical_not(), float("-inf"))


def _safe_softmax(scores: Tensor) -> Tensor:
    top = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    exponentials = (scores - top).exp()
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / total.clamp(min=1e-30)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *,
    return_weights: bool = False,
):
    d_k = query.shape[-1]
    if d_k != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError((query.shape, key.shape, value.shape))
    scores = torch.matmul(query / d_k**0.5, key.mT)
    weights = _safe_softmax(scores if mask is None else _additive(mask, scores))
    return (weights.matmul(value), weights) if return_weights else weights.matmul(value)
""",
    "causal_mask": """
def causal_mask(query_len: int, key_len: int | None = None, *, device=None) -> Tensor:
    key_len = query_len if key_len is None else key_len
    if key_len < query_len or query_len < 0:
        raise ValueError
    future = torch.ones(query_len, key_len, device=device).triu(key_len - query_len + 1)
    return (future == 0).unsqueeze(0).unsqueeze(0)
""",
    "padding_mask": """
def padding_mask(token_ids: Tensor, pad_id: int) -> Tensor:
    batch, length = token_ids.shape if token_ids.dim() == 2 else _refuse()
    if token_ids.dtype in (torch.float32, torch.float64, torch.bool):
        raise TypeError(token_ids.dtype)
    return token_ids.ne(pad_id).reshape(batch, 1, 1, length)


def _refuse():
    raise ValueError("two dimensions, please")
""",
    "MultiHeadAttention": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, *, bias=True):
        super().__init__()
        if num_heads < 1 or d_model % num_heads:
            raise ValueError
        self.h, self.d_k = num_heads, d_model // num_heads
        self.query_projection, self.key_projection, self.value_projection = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(3)
        )
        self.output_projection = nn.Linear(d_model, d_model, bias=bias)
        self.scale = 1.0

    def heads(self, x):
        return torch.stack(x.split(self.d_k, dim=-1), dim=1)

    def forward(self, query, key, value, mask=None, *, return_weights=False):
        if mask is not None and mask.dim() != 4:
            raise ValueError("four dimensions, please")
        x, w = scaled_dot_product_attention(
            self.heads(F.linear(query, self.query_projection.weight, self.query_projection.bias)),
            self.heads(self.key_projection(key)),
            self.heads(self.value_projection(value)),
            mask=mask,
            return_weights=True,
        )
        x = self.output_projection(torch.cat(list(x.unbind(dim=1)), dim=-1))
        return (x, w) if return_weights else x
""",
}

MASKS_BY_INDEX: dict[str, Edit] = {
    "padding_mask": """
def padding_mask(token_ids, pad_id):
    if len(token_ids.shape) != 2:
        raise ValueError(token_ids.shape)
    if token_ids.is_floating_point() or token_ids.dtype == torch.bool:
        raise TypeError(token_ids.dtype)
    mask = torch.ones(token_ids.size(0), 1, 1, token_ids.size(1), dtype=torch.bool)
    mask = mask.to(token_ids.device)
    for row, column in (token_ids == pad_id).nonzero():
        mask[row, 0, 0, column] = False
    return mask
""",
    "causal_mask": """
def causal_mask(query_len, key_len=None, *, device=None):
    key_len = query_len if key_len is None else key_len
    if key_len < query_len or query_len < 0:
        raise ValueError
    mask = torch.zeros(1, 1, query_len, key_len, dtype=torch.bool, device=device)
    for i in range(query_len):
        mask[0, 0, i, : key_len - query_len + i + 1] = True
    return mask
""",
}


def attention(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in the formula, written out."""
    return mistake(what, ATTENTION, (*FORMULA, *edits), **promised)


CAUSAL = "everything.tril(diagonal=key_len - query_len)"


def causal(what: str, mask: str, **promised) -> Submission:
    """One mistake in what causal_mask returns."""
    edit = ((f"{CAUSAL}  # (1, 1, query_len, key_len)", mask),)
    return mistake(what, "causal_mask", edit, **promised)


def padding(what: str, mask: str, **promised) -> Submission:
    """One mistake in what padding_mask returns."""
    edit = (("(token_ids != pad_id)[:, None, None, :]  # (batch, 1, 1, key_len)", mask),)
    return mistake(what, "padding_mask", edit, **promised)


def layer(what: str, *edits: tuple[str, str], **promised) -> Submission:
    """One mistake in the layer."""
    return mistake(what, "MultiHeadAttention", edits, **promised)


SOFTMAX = "    weights = torch.softmax(scores, dim=-1)\n"
SCORES = "    scores = query @ key.transpose(-2, -1)  # (..., query_len, key_len)\n"
RETURN = "    return (output, weights) if return_weights else output"
UNCHECKED = ("    check_mask(mask, (*query.shape[:-1], key.size(-2)), min_dims=2)\n", "")
SPLIT = "x.view(batch, length, self.num_heads, d_model // self.num_heads).transpose(1, 2)"

MISTAKES: tuple[Submission, ...] = (
    layer("zeros, whatever comes in",
        ("return self.output_projection(self._join_heads(output)), weights",
         "return torch.zeros_like(query), torch.zeros_like(weights)"),
        ("return self.output_projection(self._join_heads(attended))",
         "return torch.zeros_like(query)"),
        lost="projections heads values mask gradients", hint="the same whatever"),
    layer("the query, whatever the weights are",
        ("return self.output_projection(self._join_heads(output)), weights",
         "return query, weights"),
        ("return self.output_projection(self._join_heads(attended))", "return query"),
        lost="projections heads values mask gradients", hint="whatever the weights are"),
    layer("the query added where there are several",
        ("return self.output_projection(self._join_heads(output)), weights",
         "extra = query if query.size(1) > 1 else 0\n"
         "            return self.output_projection(self._join_heads(output)) + extra, weights"),
        ("return self.output_projection(self._join_heads(attended))",
         "extra = query if query.size(1) > 1 else 0\n"
         "        return self.output_projection(self._join_heads(attended)) + extra"),
        lost="heads values mask", hint="shows here: the query is added"),
    right("additive mask, helpers of one's own, other names", ADDITIVE),
    right("masks filled in place by place", MASKS_BY_INDEX),
    right("token ids laid out in a row", {"padding_mask": ((
        "(token_ids != pad_id)[:, None, None, :]",
        "(token_ids.reshape(-1) != pad_id).view(token_ids.size(0), 1, 1, token_ids.size(1))",
    ),)}),
    right("zeros put where no key is seen", {ATTENTION: (
        *FORMULA,
        (MASKING_AGAIN,
         "    if mask is not None:\n"
         "        sees_any = mask.any(dim=-1, keepdim=True)\n"
         "        weights = torch.where(sees_any, weights, torch.zeros_like(weights))\n"),
    )}),
    right("a softmax by logsumexp where nothing is masked", {ATTENTION: (
        *FORMULA,
        (SOFTMAX,
         SOFTMAX + "    if mask is None:\n"
         "        weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()\n"),
    )}),
    right("pairs with names", {
        ATTENTION: ((
            "return weights @ value, weights",
            "from collections import namedtuple\n"
            "    return namedtuple('Pair', 'output weights')(weights @ value, weights)",
        ),),
        "MultiHeadAttention": ((
            "return self.output_projection(self._join_heads(output)), weights",
            "from collections import namedtuple\n"
            "            pair = namedtuple('Pair', 'output weights')\n"
            "            return pair(self.output_projection(self._join_heads(output)), weights)",
        ),),
    }),
    # ---- scaled_dot_product_attention ----
    *(
        mistake(f"nothing computed, {what}", ATTENTION,
            f"def {ATTENTION}(query, key, value, mask=None, *, return_weights=False):\n"
            f"    return {what}\n", lost="*", hint="who computes nothing changes nothing")
        for what in ("query", "value", "query + key", "torch.zeros_like(query)")
    ),
    attention("softmax by hand, of large scores too",
        (SOFTMAX, "    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)\n"),
        lost="values", hint="subtract each query's largest score first"),
    attention("softmax by hand, and next to nothing added to the sum",
        (SOFTMAX, "    weights = scores.clamp(max=80).exp()\n"
         "    weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)\n"),
        lost="values", hint="subtract each query's largest score first"),
    attention("softmax by hand, less the largest of all scores",
        (SOFTMAX, "    weights = (scores - scores.max()).exp()\n"
         "    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)\n"),
        lost="values", hint="subtract each query's largest score first"),
    attention("softmax by hand, sum() without keepdim",
        (SOFTMAX, "    weights = scores.exp() / scores.exp().sum(-1)\n"),
        lost="shape values"),
    attention("divided by head_dim", (SCALING, "    query = query / query.size(-1)\n"),
        lost="scaling", hint="divided by head_dim; take its root"),
    attention("divided by a root without digits",
        (SCALING, "    query = query / math.isqrt(query.size(-1))\n"),
        lost="scaling", hint="sqrt(head_dim), head_dim being the width of a query"),
    attention("a mask must name each key",
        ("    check_mask(mask,", "    if mask is not None and mask.size(-1) != key.size(-2):\n"
         "        raise ValueError('key_len')\n    check_mask(mask,"),
        lost="no-keys", hint="key_len"),
    attention("multiplied by the root",
        (SCALING, "    query = query * math.sqrt(query.size(-1))\n"),
        lost="scaling", hint="multiplied by sqrt(head_dim); divide by it"),
    attention("divided by the root of key_len",
        (SCALING, "    query = query / math.sqrt(key.size(-2))\n"),
        lost="values scaling", hint="divided by the root of key_len; take that of head_dim"),
    attention("divided by the root of value_dim",
        (SCALING, "    query = query / math.sqrt(value.size(-1))\n"),
        lost="scaling", hint="value_dim is 1 here"),
    attention("weights scaled, not scores", (SCALING, ""),
        (SOFTMAX, f"{SOFTMAX}    weights = weights / math.sqrt(query.size(-1))\n"),
        lost="scaling", hint="the weights are scaled; scale the scores, before the softmax"),
    attention("softmax missing", (SOFTMAX, "    weights = scores\n"),
        lost="values", hint="the softmax is missing"),
    attention("scores divided by their sum",
        (SOFTMAX, "    weights = scores / scores.sum(-1, keepdim=True)\n"),
        lost="values", hint="exp is missing"),
    attention("exponentials not divided", (SOFTMAX, "    weights = scores.exp()\n"),
        lost="values", hint="the sum is missing"),
    attention("a sigmoid for the softmax", (SOFTMAX, "    weights = torch.sigmoid(scores)\n"),
        lost="values", hint="this is the sigmoid"),
    attention("softmax over dimension 1", ("softmax(scores, dim=-1)", "softmax(scores, dim=1)"),
        lost="values", hint="the softmax runs over the queries"),
    attention("hidden scores set to zero",
        ("scores.masked_fill(~mask, -math.inf)", "scores.masked_fill(~mask, 0.0)"),
        lost="mask", hint="and its weight too, but only after the softmax"),
    attention("hidden scores set to zero, and no more",
        ("scores.masked_fill(~mask, -math.inf)", "scores.masked_fill(~mask, 0.0)"),
        (MASKING_AGAIN, ""),
        lost="mask no-keys",
        hint="a hidden score is set to 0, a score like any other: set it to -inf"),
    attention("mask added to the scores",
        (MASKING, "    if mask is not None:\n        scores = scores + mask\n"),
        lost="mask", hint="the mask is added to the scores, so that True counts as 1"),
    attention("mask ignored", (MASKING, ""), (MASKING_AGAIN, ""),
        lost="mask no-keys", hint="the mask changes nothing"),
    attention("NaN for a query that sees nothing", (MASKING_AGAIN, ""),
        lost="no-keys", hint="the softmax of a row of -inf is NaN"),
    attention("zeros for who sees nothing where the mask names each query alone",
        (MASKING_AGAIN,
         "    if mask is not None and mask.size(-2) == query.size(-2):\n"
         "        weights = weights.masked_fill(~mask, 0.0)\n"),
        lost="no-keys", hint="the softmax of a row of -inf is NaN: set the weights that"),
    attention("filled with -1e9, so that nobody means everybody",
        ("masked_fill(~mask, -math.inf)", "masked_fill(~mask, -1e9)"), (MASKING_AGAIN, ""),
        lost="no-keys", hint="True means may attend; and as the softmax of a row of -inf"),
    attention("NaN taken out of the output, left in the weights", (MASKING_AGAIN, ""),
        ("    output = weights @ value\n", "    output = (weights @ value).nan_to_num(0.0)\n"),
        lost="no-keys", hint="the softmax of a row of -inf is NaN: set the weights that"),
    attention("key.T for a batch", ("key.transpose(-2, -1)", "key.T"),
        lost="shape", hint="key.T turns all of them round"),
    attention("axes counted from the front", ("key.transpose(-2, -1)", "key.transpose(1, 2)"),
        lost="shape"),
    attention("weights detached",
        (SOFTMAX, "    weights = torch.softmax(scores, dim=-1).detach()\n"),
        lost="gradients", hint="detach"),
    attention("by way of lists",
        (SCORES, "    scores = torch.tensor((query @ key.mT).tolist(), device=query.device)\n"),
        lost="gradients inputs", hint="torch.tensor() cut the gradient"),
    attention("masked in place in the weights that softmax keeps",
        ("weights = weights.masked_fill(~mask, 0.0)", "weights.masked_fill_(~mask, 0.0)"),
        lost="gradients"),
    attention("hidden by an added -inf, whose NaN flows back",
        ("scores = scores.masked_fill(~mask, -math.inf)",
         "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)"),
        lost="gradients", hint="an added -inf lets the NaN flow back"),
    attention("not scaled where there is a mask",
        (SCALING, "    query = query / (math.sqrt(query.size(-1)) if mask is None else 1)\n"),
        lost="mask", hint="scaled alike"),
    attention("no gradient past a mask",
        (MASKING, MASKING.replace("scores.masked_fill", "scores.detach().masked_fill")),
        lost="gradients", hint="detach"),
    attention("no gradient of the queries past a mask, and NaN in that of the keys",
        (SCORES, SCORES.replace("query @", "(query if mask is None else query.detach()) @")),
        ("scores = scores.masked_fill(~mask, -math.inf)",
         "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)"),
        lost="gradients", hint="an added -inf lets the NaN flow back"),
    attention("values detached past a mask", (
        "    output = weights @ value\n",
        "    output = weights @ (value if mask is None else value.detach())\n"),
        lost="gradients", hint="detach"),
    attention("the mean of what may be seen", (SCORES, SCORES.replace("query @", "0 * query @")),
        lost="values scaling gradients", hint="the same whatever query and key are"),
    attention("always float32",
        (SCORES, "    query, key, value = query.float(), key.float(), value.float()\n" + SCORES),
        lost="inputs", hint="do not cast, and make new tensors with query.dtype"),
    attention("view of what is not contiguous",
        (SCALING, "    query = query.view(query.numel()).view(query.shape)\n" + SCALING),
        lost="inputs"),
    attention("a dimension too much", (RETURN, RETURN.replace("output", "output[:, None]")),
        lost="shape", hint="without return_weights, return one tensor"),
    attention("any mask accepted", UNCHECKED,
        lost="errors", hint="a mask for three sentences would make three outputs of one"),
    attention("masks of any shape accepted",
        (UNCHECKED[0],
         "    if mask is not None and mask.dtype != torch.bool:\n        raise TypeError\n"),
        lost="errors", hint="a mask for three sentences would make three outputs of one"),
    attention("masks without leading dimensions refused", (", min_dims=2", ""),
        lost="mask", hint="each size this or 1"),
    attention("sizes not compared", ("    if key.size(-2) != value.size(-2):\n", "    if False:\n"),
        lost="errors", hint="compare the sizes yourself and raise ValueError; matmul's"),
    attention("weights always returned", (RETURN, "    return output, weights"),
        lost="shape", hint="without return_weights, return one tensor"),
    attention("weights never returned", (RETURN, "    return output"),
        lost="shape", hint="return output, weights"),
    attention("weights before output",
        (RETURN, "    return (weights, output) if return_weights else output"),
        lost="shape", hint="return the output first, then the weights"),
    # ---- causal_mask ----
    causal("inverted", f"~{CAUSAL}", lost="values", hint="the mask is inverted"),
    causal("the future instead of the past", "everything.triu(diagonal=key_len - query_len)",
        lost="values", hint="the future in place of the past"),
    causal("blind to itself", "everything.tril(diagonal=key_len - query_len - 1)",
        lost="values", hint="a position may attend to itself"),
    causal("everybody sees all", "everything",
        lost="values more-keys", hint="a mask is boolean, (1, 1, query_len, key_len)"),
    causal("sees one ahead", "everything.tril(diagonal=key_len - query_len + 1)",
        lost="values", hint="a position must not see the one after it"),
    causal("aligned with the first key", "everything.tril()",
        lost="more-keys", hint="aligned with the first key"),
    causal("aligned the wrong way", "everything.tril(diagonal=query_len - key_len)",
        lost="more-keys", hint="no query sees any key; the last query belongs to the last"),
    causal("ones and zeros", f"{CAUSAL}.float()",
        lost="values", hint="a mask is boolean, (1, 1, query_len, key_len)"),
    causal("to be added", "torch.where(everything.tril(), 0.0, -math.inf)",
        lost="values more-keys", hint="a mask is boolean, (1, 1, query_len, key_len)"),
    causal("without dimensions for batch and heads", f"{CAUSAL}[0, 0]",
        lost="values", hint="a mask is boolean, (1, 1, query_len, key_len)"),
    causal("always square", "everything[..., :query_len].tril()",
        lost="more-keys", hint="the last query sees every key, the one before it all but"),
    causal("a window of two", f"{CAUSAL}.triu(key_len - query_len - 1)",
        lost="values", hint="a mask is boolean, (1, 1, query_len, key_len)"),
    mistake("made wherever PyTorch makes things", "causal_mask",
        (("dtype=torch.bool, device=device)", "dtype=torch.bool)"),),
        lost="values", hint="causal_mask does not use its argument device"),
    mistake("no key taken for as many keys as queries", "causal_mask",
        (("query_len if key_len is None else key_len", "key_len or query_len"),),
        lost="more-keys", hint="key_len=0 is not None"),
    mistake("no query at all refused", "causal_mask",
        (("    if query_len < 0:\n", "    if query_len < 1:\n"),),
        lost="more-keys", hint="refuse a negative query_len alone"),
    mistake("fewer keys than queries accepted", "causal_mask",
        (("    if key_len < query_len:\n", "    if False:\n"),),
        lost="more-keys", hint="with fewer keys than queries, or a negative number of"),
    mistake("negative lengths left to PyTorch", "causal_mask",
        (("    if query_len < 0:\n", "    if False:\n"),),
        lost="more-keys", hint="with fewer keys than queries, or a negative number of"),
    # ---- padding_mask ----
    padding("inverted", "(token_ids == pad_id)[:, None, None, :]",
        lost="values", hint="the mask is inverted"),
    padding("zero taken for padding", "(token_ids != 0)[:, None, None, :]",
        lost="values", hint="which need not be 0"),
    padding("larger ids alone are real", "(token_ids > pad_id)[:, None, None, :]",
        lost="values", hint="pad_id alone is padding; smaller ids are tokens"),
    padding("without dimensions for heads and queries", "token_ids != pad_id",
        lost="values", hint="the dimensions are batch, heads (1 for all), queries (1 for"),
    padding("without a dimension for heads", "(token_ids != pad_id)[:, None, :]",
        lost="values", hint="the dimensions are batch, heads (1 for all), queries (1 for"),
    padding("hides queries, not keys", "(token_ids != pad_id)[:, None, :, None]",
        lost="values", hint="this hides queries; the keys are the last dimension"),
    padding("square",
        "(token_ids != pad_id)[:, None, None, :].expand(-1, 1, token_ids.size(1), -1)",
        lost="values", hint="the dimensions are batch, heads (1 for all), queries (1 for"),
    padding("ones and zeros", "(token_ids != pad_id)[:, None, None, :].long()",
        lost="values", hint="the dimensions are batch, heads (1 for all), queries (1 for"),
    padding("everything after the first padding",
        "(token_ids == pad_id).cumsum(1).eq(0)[:, None, None, :]",
        lost="values", hint="each token counts by itself, also after padding"),
    padding("real tokens marked in the ids", "token_ids.sub_(pad_id).ne(0)[:, None, None, :]",
        lost="errors", hint="work on a copy"),
    padding("one row for the whole batch", "(token_ids[:1] != pad_id)[:, None, None, :]",
        lost="values", hint="the dimensions are batch, heads (1 for all), queries (1 for"),
    padding("view of what is not contiguous",
        "(token_ids.view(-1) != pad_id).view(token_ids.size(0), 1, 1, -1)",
        lost="errors", hint="reshape(...) and flatten(...) can"),
    mistake("a single sequence accepted", "padding_mask",
        (("    if token_ids.dim() != 2:\n", "    if False:\n"),),
        lost="errors", hint="token_ids must be (batch, key_len); raise ValueError for"),
    mistake("embeddings accepted", "padding_mask",
        (("    if token_ids.is_floating_point() or", "    if False and"),),
        lost="errors", hint="token ids are integers; raise TypeError for anything else,"),
    mistake("masks accepted for token ids", "padding_mask",
        ((" or token_ids.is_complex() or token_ids.dtype == torch.bool:", ":"),),
        lost="errors", hint="True and False are no token ids"),
    mistake("int64 and int32 alone are integer types", "padding_mask",
        ((
          "if token_ids.is_floating_point() or token_ids.is_complex() "
          "or token_ids.dtype == torch.bool:",
          "if token_ids.dtype not in (torch.int64, torch.int32):"),),
        lost="errors", hint="an integer type may be smaller than int64"),
    # ---- MultiHeadAttention ----
    layer("heads cut from rows",
        (SPLIT, "x.view(batch, self.num_heads, length, d_model // self.num_heads)"),
        lost="heads values", hint="view(batch, num_heads, len, head_dim) mixes the tokens"),
    layer("every num_heads-th column",
        (SPLIT,
         "x.view(batch, length, d_model // self.num_heads, self.num_heads).permute(0, 3, 1, 2)"),
        ("x.transpose(1, 2).flatten(-2)", "x.permute(0, 2, 3, 1).flatten(-2)"),
        lost="heads values", hint="the heads take every num_heads-th column"),
    layer("heads beside the batch, not joined back",
        (SPLIT, "x.view(batch, length, self.num_heads, d_model // self.num_heads)"),
        ("x.transpose(1, 2).flatten(-2)", "x.flatten(-2)"),
        lost="shape heads values mask",
        hint="or stand in the last dimension but one, where len belongs"),
    layer("one projection for queries and keys",
        ("self.key_projection(key)", "self.query_projection(key)"),
        lost="values", hint="the keys go through query_projection"),
    layer("values made from keys", ("self.value_projection(value)", "self.value_projection(key)"),
        lost="values", hint="make them from value"),
    layer("values not projected", ("self.value_projection(value)", "value"),
        lost="projections", hint="value_projection is not used"),
    layer("key and value swapped",
        ("self._split_heads(self.query_projection(query)),",
         "*map(self._split_heads, (self.query_projection(query), self.key_projection(value))),"),
        ("            self._split_heads(self.key_projection(key)),\n", ""),
        ("self.value_projection(value)", "self.value_projection(key)"),
        lost="values", hint="key and value have changed places"),
    layer("mask not handed on",
        ("            mask,\n            return", "            None,\n            return"),
        lost="mask", hint="hand the mask on as it is to scaled_dot_product_attention"),
    layer("masks of two dimensions accepted",
        ("check_mask(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))", "pass"),
        lost="mask", hint="a layer with heads takes masks of four dimensions"),
    layer("a mask for all heads repeated in the wrong order",
        ("            mask,\n            return",
         "            mask if mask is None or mask.size(1) > 1 or mask.size(0) == 1 else\n"
         "            mask.repeat(self.num_heads, 1, 1, 1).view(\n"
         "                mask.size(0), self.num_heads, *mask.shape[2:]),\n            return"),
        lost="mask", hint="each sentence has its own"),
    layer("mask inverted for several heads without weights",
        ("            mask,\n            return",
         "            mask if mask is None or self.num_heads == 1 or return_weights else ~mask,\n"
         "            return"),
        lost="mask", hint="each sentence has its own"),
    layer("no mask in evaluation",
        ("            mask,\n            return",
         "            mask if self.training else None,\n            return"),
        lost="mask", hint="each sentence has its own"),
    layer("no mask for a single query",
        ("            mask,\n            return",
         "            mask if query.size(1) > 1 else None,\n            return"),
        lost="mask", hint="each sentence has its own"),
    layer("mask inverted on the way",
        ("            mask,\n            return",
         "            None if mask is None else ~mask,\n            return"),
        lost="mask", hint="hand the mask on as it is to scaled_dot_product_attention"),
    layer("every length taken from the query",
        ("self._split_heads(self.key_projection(key))",
         "self._split_heads(self.key_projection(key)[:, : query.size(1)])"),
        ("self._split_heads(self.value_projection(value))",
         "self._split_heads(self.value_projection(value)[:, : query.size(1)])"),
        lost="values", hint="take each length from its own tensor"),
    layer("the projections of queries and keys exchanged",
        ("self.query_projection(query)", "self.key_projection(query)"),
        ("self.key_projection(key)", "self.query_projection(key)"),
        lost="values", hint="query_projection and key_projection have changed places"),
    layer("divided by the root of d_model",
        ("self._split_heads(self.query_projection(query))",
         "self._split_heads(self.query_projection(query) / self.num_heads**0.5)"),
        lost="values", hint="divided by the root of d_model"),
    layer("divided by the root of d_model as well",
        ("self._split_heads(self.query_projection(query))",
         "self._split_heads(self.query_projection(query) / query.size(-1) ** 0.5)"),
        lost="values", hint="divided by the root of d_model as well"),
    layer("not a number anywhere",
        ("self._join_heads(attended)", "self._join_heads(attended) * math.nan"),
        lost="projections heads values mask gradients", hint="NaN entries where none belongs"),
    layer("the batch in the second dimension",
        ("return self.output_projection(self._join_heads(attended))",
         "return self.output_projection(self._join_heads(attended)).transpose(0, 1)"),
        lost="shape", hint="output has shape"),
    layer("scaled twice",
        ("_heads(self.query_projection(query)),",
         "_heads(self.query_projection(query) * (self.num_heads / query.size(-1)) ** 0.5),"),
        lost="values", hint="scaled twice"),
    layer("weights averaged over the heads",
        ("_join_heads(output)), weights", "_join_heads(output)), weights.mean(1)"),
        lost="values", hint="one set of weights for each head"),
    *(
        layer(f"weights without dimension {dim} where its size is 1",
            ("_join_heads(output)), weights", f"_join_heads(output)), weights.squeeze({dim})"),
            lost="values", hint="squeeze() takes away every dimension of 1")
        for dim in range(4)
    ),
    layer("any number of heads accepted", (" or d_model % num_heads != 0:", ":"),
        lost="parameters", hint="8 is not divisible by 3: ValueError"),
    layer("no heads accepted", ("if num_heads < 1 or d_model", "if d_model"),
        lost="parameters", hint="no head at all: ValueError"),
    layer("biases always",
        ("self.output_projection = nn.Linear(d_model, d_model, bias=bias)",
         "self.output_projection = nn.Linear(d_model, d_model)"),
        lost="parameters", hint="hand bias on to each nn.Linear"),
    layer("projections copied from the first",
        ("self.key_projection = nn.Linear(d_model, d_model, bias=bias)",
         "self.key_projection = __import__('copy').deepcopy(self.query_projection)"),
        lost="parameters", hint="a copy starts as its original"),
    layer("one projection for queries and keys, made once",
        ("self.key_projection = nn.Linear(d_model, d_model, bias=bias)",
         "self.key_projection = self.query_projection"),
        lost="parameters", hint="make four nn.Linear in __init__"),
    layer("one projection for all three",
        ("self.key_projection = nn.Linear(d_model, d_model, bias=bias)",
         "self.key_projection = self.query_projection"),
        ("self.value_projection = nn.Linear(d_model, d_model, bias=bias)",
         "self.value_projection = self.query_projection"),
        lost="parameters", hint="make four nn.Linear in __init__"),
    layer("one projection used for all three",
        ("self.key_projection(key)", "self.query_projection(key)"),
        ("self.value_projection(value)", "self.query_projection(value)"),
        lost="values", hint="they have one of their own"),
    layer("no weights",
        ("_join_heads(output)), weights", "_join_heads(output))"),
        lost="values", hint="return output, weights"),
    layer("dropout in the weights that are returned",
        ("_join_heads(output)), weights", "_join_heads(output)), F.dropout(weights, 0.3)"),
        lost="values", hint="nothing is left to chance"),
    layer("a dropout that never rests",
        ("self._join_heads(attended)", "F.dropout(self._join_heads(attended), 0.3)"),
        lost="values", hint="nothing is left to chance"),
    layer("dropout as elsewhere, though nobody asks for it",
        ("        self.num_heads = num_heads\n",
         "        self.num_heads = num_heads\n        self.dropout = nn.Dropout(0.1)\n"),
        ("return self.output_projection(self._join_heads(attended))",
         "return self.dropout(self.output_projection(self._join_heads(attended)))"),
        lost="values", hint="the layer of this homework has no dropout"),
    layer("the output detached",
        ("return self.output_projection(self._join_heads(attended))",
         "return self.output_projection(self._join_heads(attended).detach())"),
        lost="gradients", hint="detach(), .data and numpy() cut the gradient"),
    layer("the queries detached where there is a mask",
        ("self.query_projection(query)",
         "self.query_projection(query if mask is None else query.detach())"),
        lost="gradients", hint="detach(), .data and numpy() cut the gradient"),
    layer("a projection detached where there is a mask",
        ("self._split_heads(self.key_projection(key))",
         "self._split_heads(self.key_projection(key) if mask is None else F.linear(key, "
         "self.key_projection.weight.detach(), self.key_projection.bias))"),
        lost="gradients", hint="detach(), .data and numpy() cut the gradient"),
    layer("heads laid into the batch, and a mask with as many sentences as it has",
        ("attended = scaled_dot_product_attention(",
         "if mask is not None:\n"
         "            mask = mask.expand(-1, self.num_heads, -1, -1).flatten(0, 1)\n"
         "        attended = self._attend(query.size(0), "),
        ("    def _split_heads(self",
         "    def _attend(self, batch, *heads_and_mask, return_weights):\n"
         "        *heads, mask = heads_and_mask\n"
         "        heads = [x.flatten(0, 1) for x in heads]\n"
         "        how = {'return_weights': return_weights}\n"
         "        result = scaled_dot_product_attention(*heads, mask, **how)\n"
         "        if return_weights:\n"
         "            return tuple(x.unflatten(0, (batch, self.num_heads)) for x in result)\n"
         "        return result.unflatten(0, (batch, self.num_heads))\n\n"
         "    def _split_heads(self"),
        lost="mask", hint="mask must have shape"),
    layer("any mask made boolean",
        ("        check_mask(mask,",
         "        mask = mask if mask is None else mask.bool()\n        check_mask(mask,"),
        lost="mask", hint="refuse it"),
    layer("a mask of three dimensions accepted",
        ("        check_mask(mask,",
         "        if mask is not None and mask.dim() == 3:\n"
         "            mask = mask[:, None]\n        check_mask(mask,"),
        lost="mask", hint="a layer with heads takes masks of four dimensions"),
    layer("no gradient where the weights are wanted",
        ("self._join_heads(output)), weights", "self._join_heads(output.detach())), weights"),
        lost="gradients", hint="detach(), .data and numpy() cut the gradient"),
    layer("a mask with as many queries as keys",
        ("(query.size(0), self.num_heads, query.size(1), key.size(1))",
         "(query.size(0), self.num_heads, query.size(1), query.size(1))"),
        lost="mask", hint="mask must have shape"),
    layer("a mask for each sentence refused",
        ("check_mask(mask, (query.size(0), self.num_heads, query.size(1), key.size(1)))",
         "check_mask(mask, (1, 1, query.size(1), key.size(1)))"), lost="mask"),
    layer("an error without biases",
        ("self.query_projection(query)",
         "query @ self.query_projection.weight.mT + self.query_projection.bias"),
        lost="shape"),
    layer("the query added to the output",
        ("return self.output_projection(self._join_heads(attended))",
         "return query + self.output_projection(self._join_heads(attended))"),
        lost="projections", hint="query is added to the output"),
    # ---- found by new students ----
    attention("hidden scores set to -100",
        ("masked_fill(~mask, -math.inf)", "masked_fill(~mask, -100.0)"),
        lost="mask", hint="a hidden score is set to a number that others are below"),
    attention("the mask inverted before the softmax alone",
        ("masked_fill(~mask, -math.inf)", "masked_fill(mask, -math.inf)"),
        lost="mask", hint="the mask is inverted before the softmax, but not after it"),
    attention("softmax over dimension 1, or 0 of two",
        (SOFTMAX, "    weights = torch.softmax(scores, dim=1 if scores.dim() > 2 else 0)\n"),
        lost="values", hint="the softmax runs over the queries"),
    mistake("int64 alone is an integer type", "padding_mask",
        ((
          "if token_ids.is_floating_point() or token_ids.is_complex() "
          "or token_ids.dtype == torch.bool:", "if token_ids.dtype != torch.int64:"),),
        lost="errors", hint="an integer type may be smaller than int64"),
    layer("key and value handed over in the other order",
        (
         "            self._split_heads(self.key_projection(key)),\n"
         "            self._split_heads(self.value_projection(value)),\n",
         "            self._split_heads(self.value_projection(value)),\n"
         "            self._split_heads(self.key_projection(key)),\n"),
        lost="values", hint="key and value have changed places"),
    layer("view() of what transpose() has turned",
        ("x.transpose(1, 2).flatten(-2)", "x.transpose(1, 2).view(x.size(0), x.size(2), -1)"),
        lost="shape", hint="view size is not compatible"),
    layer("key and value changed places",
        ("self.key_projection(key)", "self.key_projection(value)"),
        ("self.value_projection(value)", "self.value_projection(key)"),
        lost="values", hint="key and value have changed places"),
    layer("no bias in the output projection",
        ("self.output_projection = nn.Linear(d_model, d_model, bias=bias)",
         "self.output_projection = nn.Linear(d_model, d_model, bias=False)"),
        lost="parameters", hint="output_projection has no bias"),
)  # fmt: skip

DELIGHT = "DEEN UOY LLA  ->  ALL YOU NEED"

EQUIVALENT = {
    "scores = scores.masked_fill_(": "in place, but on scores that nothing else holds",
    ".flatten(--2)": "the last two of four dimensions",
}
