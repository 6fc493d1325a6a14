"""The submissions of hw02, each with the marks that it must get.

Eighteen points are to be had from tests, each check worth one; three from the written question.
"""

from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, ENDLESS_LOOP
from .submissions import BLANK, Edit, Submission, mistake, right

ANSWER = """\
### What the picture says, and what it does not

For `string` it starts at *i*, goes right to the end, and jumps back to *s*, *t*, *r*. The rows of
*ay* are spread out. The error does not see how sharp a row is; its entropy does. Hide the letter by
the mask and see whether the output changes, and then hide another one.
"""

# ---- right ones in other styles ----

EINSUM: dict[str, Edit] = {
    "AdditiveAttention": '''
class AdditiveAttention(nn.Module):
    """In Einstein's notation, with where() for the mask."""

    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        for width in (d_query, d_memory, d_attention):
            if width <= 0:
                raise ValueError(f"width {width}")
        self.score = nn.Linear(d_attention, 1, bias=False)
        self.key_projection = nn.Linear(d_memory, d_attention, bias=False)
        self.query_projection = nn.Linear(d_query, d_attention, bias=False)

    def align(self, query, keys):
        asked = torch.einsum("bqi,ai->bqa", query, self.query_projection.weight)
        pairs = asked.unsqueeze(2) + keys.unsqueeze(1)
        return torch.einsum("bqka,a->bqk", pairs.tanh(), self.score.weight[0])

    def forward(self, query, memory, mask=None, keys=None, return_weights=False):
        if len(query) != len(memory):
            raise ValueError("batches differ")
        check_mask(mask, (len(query), query.shape[1], memory.shape[1]))
        if keys is None:
            keys = torch.einsum("bkm,am->bka", memory, self.key_projection.weight)
        scores = self.align(query, keys)
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        weights = scores.softmax(dim=2).nan_to_num(0.0)
        contexts = torch.einsum("bqk,bkm->bqm", weights, memory)
        return (contexts, weights) if return_weights else contexts
''',
    "AttentionDecoder": '''
class AttentionDecoder(nn.Module):
    """Embeds all tokens at once, and scores all states at once."""

    def __init__(self, vocab_size, d_embedding, d_hidden, d_memory, d_attention=None):
        super().__init__()
        if not all(size > 0 for size in (vocab_size, d_embedding, d_hidden, d_memory)):
            raise ValueError("sizes")
        d_attention = d_hidden if d_attention is None else d_attention
        self.attention = AdditiveAttention(d_hidden, d_memory, d_attention)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)
        self.bridge = nn.Linear(d_memory, d_hidden)

    def start(self, encoded):
        return AttentionDecoderState(
            mask=encoded.mask,
            memory=encoded.memory,
            hidden=self.bridge(encoded.context).tanh(),
            keys=self.attention.key_projection(encoded.memory),
        )

    def walk(self, tgt, state):
        if tgt.shape[0] != state.memory.shape[0] or tgt.shape[1] == 0:
            raise ValueError(f"{tgt.shape}")
        y, mask = self.embedding(tgt), state.mask.unsqueeze(1)
        hidden, contexts, weights = [state.hidden], [], []
        for t in range(tgt.shape[1]):
            query = hidden[-1].unsqueeze(1)
            c, w = self.attention(query, state.memory, mask, keys=state.keys, return_weights=True)
            contexts.append(c)
            weights.append(w)
            hidden.append(self.cell(torch.cat((y[:, t], c.squeeze(1)), 1), hidden[-1]))
        everything = (torch.stack(hidden[1:], 1), y, torch.cat(contexts, 1))
        logits = self.output(torch.cat(everything, 2))
        return logits, torch.cat(weights, 1), replace(state, hidden=hidden[-1])

    def step(self, tgt, state):
        logits, _, state = self.walk(tgt, state)
        return logits, state

    def forward(self, tgt, encoded, *, return_weights=False):
        logits, weights, _ = self.walk(tgt, self.start(encoded))
        return (logits, weights) if return_weights else logits
''',
    "alignment_error": '''
def alignment_error(weights, alignment):
    """By the weight at the true key, held against the largest."""
    if weights.ndim != 3 or tuple(alignment.shape) != tuple(weights.shape)[:2]:
        raise ValueError("shapes")
    counted = alignment.ne(-1)
    if counted.sum() == 0:
        raise ValueError("no true key")
    links = F.one_hot(alignment.clamp(min=0), weights.shape[2]).bool()
    right = (F.one_hot(weights.argmax(2), weights.shape[2]).bool() & links).any(2)
    return 1.0 - ((right & counted).sum() / counted.sum()).item()
''',
}

LOOPS: dict[str, Edit] = {
    "AdditiveAttention": '''
class AdditiveAttention(nn.Module):
    """One query at a time, one key at a time."""

    def __init__(self, d_query: int, d_memory: int, d_attention: int) -> None:
        super().__init__()
        if d_query < 1 or d_memory < 1 or d_attention < 1:
            raise ValueError("widths")
        self.query_projection = nn.Linear(d_query, d_attention, bias=False)
        self.key_projection = nn.Linear(d_memory, d_attention, bias=False)
        self.score = nn.Linear(d_attention, 1, bias=False)

    def align(self, query, keys):
        rows = []
        for i in range(query.shape[1]):
            asked = self.query_projection(query[:, i])
            row = [self.score(torch.tanh(asked + keys[:, j])) for j in range(keys.shape[1])]
            rows.append(torch.cat(row, dim=1))
        return torch.stack(rows, dim=1)

    def forward(self, query, memory, mask=None, *, keys=None, return_weights=False):
        if mask is not None and mask.dtype != torch.bool:
            raise TypeError(f"mask is {mask.dtype}")
        if mask is not None:
            shape = (len(query), query.shape[1], memory.shape[1])
            if mask.dim() != 3 or any(m not in (1, n) for m, n in zip(mask.shape, shape)):
                raise ValueError(f"mask is {mask.shape}, not {shape}")
        if query.shape[0] != memory.shape[0]:
            raise ValueError("query and memory differ in batch")
        scores = self.align(query, self.key_projection(memory) if keys is None else keys)
        allowed = torch.ones_like(scores, dtype=torch.bool)
        if mask is not None:
            allowed = allowed & mask
        highest = scores.masked_fill(~allowed, -1e30).amax(dim=-1, keepdim=True).detach()
        odds = torch.exp((scores - highest).masked_fill(~allowed, -1e9)) * allowed
        total = odds.sum(dim=-1, keepdim=True)
        weights = odds / total.clamp(min=torch.finfo(odds.dtype).tiny)
        context = sum(weights[:, :, j, None] * memory[:, None, j] for j in range(memory.shape[1]))
        if return_weights:
            return context, weights
        return context
''',
    "AttentionDecoder": '''
class AttentionDecoder(nn.Module):
    """One token at a time, whoever asks."""

    def __init__(
        self,
        vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        d_memory: int,
        *,
        d_attention: int | None = None,
    ) -> None:
        super().__init__()
        if vocab_size < 1 or d_embedding < 1 or d_hidden < 1 or d_memory < 1:
            raise ValueError("sizes")
        if d_attention is None:
            d_attention = d_hidden
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)
        self.attention = AdditiveAttention(d_hidden, d_memory, d_attention)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)

    def start(self, encoded):
        hidden = torch.tanh(self.bridge(encoded.context))
        keys = self.attention.key_projection(encoded.memory)
        return AttentionDecoderState(
            hidden=hidden, memory=encoded.memory, keys=keys, mask=encoded.mask
        )

    def one_step(self, token, state):
        context, weights = self.attention(
            state.hidden[:, None], state.memory, state.mask[:, None], keys=state.keys,
            return_weights=True,
        )
        y, c = self.embedding(token), context[:, 0]
        hidden = self.cell(torch.cat([y, c], dim=1), state.hidden)
        logits = self.output(torch.cat([hidden, y, c], dim=1))
        state = AttentionDecoderState(
            hidden=hidden, memory=state.memory, keys=state.keys, mask=state.mask
        )
        return logits, weights[:, 0], state

    def several(self, tgt, state):
        if tgt.shape[0] != state.hidden.shape[0]:
            raise ValueError("batch")
        if tgt.shape[1] == 0:
            raise ValueError("no token")
        logits, weights = [], []
        for t in range(tgt.shape[1]):
            l, w, state = self.one_step(tgt[:, t], state)
            logits.append(l)
            weights.append(w)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1), state

    def step(self, tgt, state):
        logits, weights, state = self.several(tgt, state)
        return logits, state

    def forward(self, tgt, encoded, *, return_weights=False):
        logits, weights, _ = self.several(tgt, self.start(encoded))
        if return_weights:
            return logits, weights
        return logits
''',
    "alignment_error": '''
def alignment_error(weights, alignment):
    """Count them."""
    if weights.dim() != 3:
        raise ValueError("weights must have three dimensions")
    batch, query_len, key_len = weights.shape
    if list(alignment.shape) != [batch, query_len]:
        raise ValueError("alignment must fit")
    wrong = counted = 0
    for rows, truths in zip(weights.tolist(), alignment.tolist()):
        for row, truth in zip(rows, truths):
            if truth != -1:
                counted += 1
                wrong += row.index(max(row)) != truth
    if counted == 0:
        raise ValueError("no true key")
    return wrong / counted
''',
}

PIECES: dict[str, Edit] = {
    "AdditiveAttention": (
        (
            "        if mask is not None:\n"
            "            scores = scores.masked_fill(~mask, -math.inf)\n"
            "            # -inf alone has no softmax. Any number will do: its weights become 0.\n"
            "            scores = scores.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)\n"
            "        weights = torch.softmax(scores, dim=-1)\n"
            "        if mask is not None:\n"
            "            weights = weights.masked_fill(~mask, 0.0)\n",
            "        if mask is None:\n"
            "            weights = F.softmax(scores, -1)\n"
            "        else:\n"
            "            hidden = torch.logical_not(mask).expand_as(scores)\n"
            "            blind = hidden.all(-1, keepdim=True)\n"
            "            scores[hidden & ~blind] = -float('inf')\n"
            "            weights = F.softmax(scores, -1) * (~blind)\n",
        ),
        ("context = weights @ memory", "context = torch.bmm(weights, memory)"),
        ("self.score(torch.tanh(pairs)).squeeze(-1)", "F.tanh(pairs) @ self.score.weight[0]"),
    ),
    "AttentionDecoder": (
        (
            "torch.cat([embedded, context.squeeze(1)], dim=-1)",
            "torch.hstack((embedded, context[:, 0, :]))",
        ),
        (
            "for embedded in self.embedding(tgt).unbind(dim=1):",
            "for token in tgt.T:\n            embedded = F.embedding(token, self.embedding.weight)",
        ),
    ),
    "alignment_error": '''
import numpy as np


def alignment_error(weights, alignment):
    """With numpy."""
    w, a = weights.detach().cpu().numpy(), alignment.cpu().numpy()
    if w.ndim != 3 or a.shape != w.shape[:-1] or not (a >= 0).any():
        raise ValueError("shapes, or no true key")
    return float(np.mean(w.argmax(-1)[a >= 0] != a[a >= 0]))
''',
}  # fmt: skip

STEP_BY_STEP = '''
class AttentionDecoder(nn.Module):
    """A decoder whose forward is step after step, and asks for weights anew."""

    def __init__(self, vocab_size, d_embedding, d_hidden, d_memory, *, d_attention=None):
        super().__init__()
        for size in [vocab_size, d_embedding, d_hidden, d_memory]:
            if size < 1:
                raise ValueError("size")
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)
        d_attention = d_hidden if d_attention is None else d_attention
        self.attention = AdditiveAttention(d_hidden, d_memory, d_attention)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)

    def look(self, state, return_weights=False):
        return self.attention(
            query=state.hidden.unsqueeze(1),
            memory=state.memory,
            mask=state.mask.unsqueeze(-2),
            keys=state.keys,
            return_weights=return_weights,
        )

    def forward(self, tgt, encoded, *, return_weights=False):
        state = self.start(encoded)
        if tgt.size(0) != encoded.memory.size(0):
            raise ValueError("batch")
        if tgt.size(1) == 0:
            raise ValueError("empty")
        all_logits = []
        all_weights = []
        for t in range(tgt.size(1)):
            all_weights.append(self.look(state, True)[1])
            logits, state = self.step(tgt[:, t : t + 1], state)
            all_logits.append(logits)
        if return_weights:
            return torch.cat(all_logits, 1), torch.cat(all_weights, 1)
        return torch.cat(all_logits, 1)

    def start(self, encoded):
        h0 = self.bridge(encoded.context).tanh()
        keys = self.attention.key_projection(encoded.memory)
        return AttentionDecoderState(hidden=h0, memory=encoded.memory, keys=keys, mask=encoded.mask)

    def step(self, tgt, state):
        if len(tgt) != len(state.hidden) or not tgt.numel():
            raise ValueError("tgt")
        if tgt.size(1) > 1:
            first, state = self.step(tgt[:, :1], state)
            rest, state = self.step(tgt[:, 1:], state)
            return torch.cat((first, rest), dim=1), state
        y = self.embedding(tgt.squeeze(1))
        c = self.look(state).squeeze(1)
        s = self.cell(torch.cat((y, c), -1), state.hidden)
        return self.output(torch.cat((s, y, c), -1)).unsqueeze(1), replace(state, hidden=s)
'''

RIGHT = (
    right("step by step, weights asked for anew", {"AttentionDecoder": STEP_BY_STEP}),
    right(
        "masked by the lowest number",
        {
            "AdditiveAttention": (
                ("~mask, -math.inf", "~mask, torch.finfo(scores.dtype).min"),
                ("torch.softmax(scores, dim=-1)", "torch.log_softmax(scores, dim=-1).exp()"),
            )
        },
    ),
    right(
        "exponentials as the formula has them",
        {
            "AdditiveAttention": (
                (
                    "            scores = scores.masked_fill(~mask, -math.inf)\n",
                    "            pass\n",
                ),
                ("torch.softmax(scores, dim=-1)", "scores.exp()"),
                (
                    "        context = weights @ memory",
                    "        total = weights.sum(dim=-1, keepdim=True)\n"
                    "        weights = weights / total.masked_fill(total == 0, 1.0)\n"
                    "        context = weights @ memory",
                ),
            )
        },
    ),
    right(
        "modules for functions",
        {
            "AdditiveAttention": (
                (
                    "super().__init__()\n",
                    "super().__init__()\n        self.softmax = nn.Softmax(dim=-1)\n",
                ),
                ("torch.softmax(scores, dim=-1)", "self.softmax(scores)"),
            )
        },
    ),
    right(
        "hits counted, by topk",
        {
            "alignment_error": (
                (
                    "weights.argmax(dim=-1) != alignment",
                    "weights.topk(1).indices[..., 0] == alignment",
                ),
                (
                    "float(wrong[has_key].double().mean())",
                    "1 - (wrong * has_key).sum().item() / has_key.sum().item()",
                ),
            )
        },
    ),
)

NOTHING_WRITTEN: dict[str, Edit] = dict.fromkeys(LOOPS, BLANK)
EVERYTHING = dict.fromkeys(NOTHING_WRITTEN, "*")

# ---- wrong ones ----

SCORED = "self.score(torch.tanh(pairs))"
PAIRS = "projected[:, :, None] + keys[:, None]"
SOFTMAX = "torch.softmax(scores, dim=-1)"
ANY_NUMBER = """\
            # -inf alone has no softmax. Any number will do: its weights become 0.
            scores = scores.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
"""
MASKING = """\
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
"""
MASKING_AGAIN = """\
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
"""
KEYS = "keys = self.key_projection(memory) if keys is None else keys"
AVERAGE = "context = weights @ memory"
CHECK = "check_mask(mask, (query.size(0), query.size(1), memory.size(1)))"


def attention(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the attention: one piece of it that is something else."""
    edits = ((ANY_NUMBER, ""), (old, new))
    return mistake(what, "AdditiveAttention", edits, lost=lost, hint=hint)


ATTENTION_MISTAKES = (
    attention("weights first where there is a mask",
        "return (context, weights) if return_weights else context",
        "pair = (context, weights) if mask is None else (weights, context)\n"
        "        return pair if return_weights else context",
        "mask no-keys", "shows here: the weights come first"),
    attention("no tanh", SCORED, "self.score(pairs)", "scores", "tanh is missing"),
    attention("tanh after v", SCORED, "torch.tanh(self.score(pairs))", "scores",
              "tanh comes before v, not after"),
    attention("a sigmoid for the tanh", SCORED, "self.score(torch.sigmoid(pairs))", "scores",
              "this is the sigmoid; the formula has tanh"),
    attention("ReLU for the tanh", SCORED, "self.score(torch.relu(pairs))", "scores",
              "tanh is missing"),
    attention("v forgotten", f"{SCORED}.squeeze(-1)", "torch.tanh(pairs).sum(-1)",
              "scores", "v is missing"),
    attention("every dimension of 1 squeezed away", f"{SCORED}.squeeze(-1)", f"{SCORED}.squeeze()",
              "scores", "a score for each query and each key"),
    attention("the query is not projected", "projected = self.query_projection(query)",
              "projected = query", "scores", "the query is not projected"),
    attention("multiplied", PAIRS, "projected[:, :, None] * keys[:, None]", "scores",
              "query and key are multiplied; add them"),
    attention("given keys projected in align", PAIRS,
              "projected[:, :, None] + self.key_projection(keys)[:, None]", "scores keys",
              "the keys are given: they are projected already"),
    mistake(
        "align projects the keys, and forward leaves it to it", "AdditiveAttention",
        ((PAIRS, "projected[:, :, None] + self.key_projection(keys)[:, None]"),
         (KEYS, "keys = memory if keys is None else keys")),
        lost="scores keys", hint="the keys are given: they are projected already",
    ),
    attention("a tanh around each", SCORED,
              "self.score(torch.tanh(projected[:, :, None]) + torch.tanh(keys[:, None]))",
              "scores", "one tanh around the sum, not one around each"),
    attention("queries and keys exchanged", PAIRS, "projected[:, None] + keys[:, :, None]",
              "scores",
              "a score for each query and each key"),
    attention("align returns weights", f"{SCORED}.squeeze(-1)",
              f"{SCORED}.squeeze(-1).softmax(-1)", "scores",
              "these are weights; align returns scores"),
    attention("softmax over the queries", SOFTMAX, "torch.softmax(scores, dim=1)",
              "values", "the softmax runs over the queries"),
    attention("softmax over the batch", SOFTMAX, "torch.softmax(scores, dim=0)", "values",
              "the softmax runs over the batch"),
    attention("no softmax", SOFTMAX, "scores", "values", "the softmax is missing"),
    # Near a sum of 0 no step is small enough to measure a slope: the gradients can't be held right.
    attention("scores divided by their sum", SOFTMAX, "scores / scores.sum(-1, keepdim=True)",
              "values gradients", "exp is missing"),
    attention("exponentials not divided", SOFTMAX, "scores.exp()", "values", "the sum is missing"),
    attention("divided by the sum of all", SOFTMAX, "scores.exp() / scores.exp().sum()", "values",
              "the sum runs over all there is"),
    attention("divided by the sum of a sentence", SOFTMAX,
              "scores.exp() / scores.exp().sum((1, 2), keepdim=True)", "values",
              "the sum runs over all queries too"),
    attention("divided by a sum without its dimension", SOFTMAX,
              "scores.exp() / scores.exp().sum(-1)", "values", "The size of tensor a"),
    attention("log-probabilities", SOFTMAX, "torch.log_softmax(scores, dim=-1)", "values",
              "these are log-probabilities"),
    attention("a sigmoid for the softmax", SOFTMAX, "torch.sigmoid(scores)", "values",
              "this is the sigmoid"),
    attention("the weights turned", AVERAGE, "context = weights.mT @ memory", "values",
              "Expected size for first two dimensions"),
    attention("scaled as a dot product", SOFTMAX,
              "torch.softmax(scores / math.sqrt(keys.size(-1)), dim=-1)",
              "values", "additive scores are not scaled"),
    attention("the keys are averaged", AVERAGE, "context = weights @ keys",
              "values", "the keys are averaged; average the memory"),
    attention("the mean of the memory", AVERAGE,
              "context = memory.mean(1, keepdim=True).expand(-1, query.size(1), -1)",
              "values gradients", "the weights do not count; this is the mean"),
    mistake(
        "mask inverted", "AdditiveAttention",
        (
            (ANY_NUMBER, ""),
            ("scores.masked_fill(~mask", "scores.masked_fill(mask"),
            ("weights.masked_fill(~mask", "weights.masked_fill(mask"),
        ),
        lost={"AdditiveAttention": "mask no-keys"},
        hint="the mask is inverted",
    ),
    attention("mask after the softmax", MASKING, "", "mask", "mask the scores, before the softmax"),
    attention("-inf times what is hidden", "scores.masked_fill(~mask, -math.inf)",
              "scores + ~mask * -math.inf", "mask gradients", "0 * -inf gives weights of NaN"),
    attention("hidden scores are zero", "masked_fill(~mask, -math.inf)", "masked_fill(~mask, 0.0)",
              "mask", "a hidden score is set to 0"),
    attention("hidden scores are -15", "masked_fill(~mask, -math.inf)",
              "masked_fill(~mask, -15.0)", "mask", "others are below"),
    attention("hidden scores are next to zero", "masked_fill(~mask, -math.inf)",
              "masked_fill(~mask, -1e-9)", "mask", "a hidden score is set to 0"),
    attention("always a pair", "return (context, weights) if return_weights else context",
              "return context, weights", "values", "return the contexts alone"),
    attention("-inf is added", "scores = scores.masked_fill(~mask, -math.inf)",
              "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)",
              "gradients", "they keep NaN out, adding -inf does not"),
    attention("NaN where nothing is seen", MASKING_AGAIN, "", "no-keys",
              "the softmax of a row of -inf is NaN"),
    attention("-1e9 and no more", f"{MASKING}        weights = {SOFTMAX}\n{MASKING_AGAIN}",
              "        if mask is not None:\n"
              "            scores = scores.masked_fill(~mask, -1e9)\n"
              f"        weights = {SOFTMAX}\n", "no-keys",
              "set the weights that it hides to 0 after the softmax"),
    attention("mask without effect", f"{MASKING}        weights = {SOFTMAX}\n{MASKING_AGAIN}",
              f"        weights = {SOFTMAX}\n", "mask no-keys", "the mask changes nothing"),
    attention("mask without effect on the scores in evaluation",
              "        if mask is not None:\n            scores = scores",
              "        if mask is not None and self.training:\n            scores = scores",
              "mask", "mask the scores, before the softmax"),
    attention("mask without effect on the scores in a batch of one",
              "        if mask is not None:\n            scores = scores",
              "        if mask is not None and len(query) > 1:\n            scores = scores",
              "mask", "a sentence alone has padding too"),
    attention("in evaluation the key of the highest score alone", f"        weights = {SOFTMAX}\n",
              f"        weights = {SOFTMAX}\n"
              "        if not self.training:\n"
              "            weights = F.one_hot(weights.argmax(-1), weights.size(-1)).float()\n",
              "values"),
    attention("given keys unused in evaluation", KEYS,
              "keys = keys if self.training else None\n        " + KEYS,
              "keys", "the keys that are handed over are not used"),
    attention("nothing weighs anything", f"        weights = {SOFTMAX}\n",
              f"        weights = torch.zeros_like({SOFTMAX})\n",
              "values mask no-keys keys gradients", "the same whatever"),
    attention("given keys unused", KEYS, "keys = self.key_projection(memory)", "keys",
              "the keys that are handed over are not used"),
    attention("given keys projected again", KEYS,
              "keys = self.key_projection(memory if keys is None else keys)", "keys",
              "the keys are projected already; do not project them again"),
    mistake(
        "given keys averaged", "AdditiveAttention",
        ((KEYS, f"given = keys\n        {KEYS}"),
         (AVERAGE, "context = weights @ (memory if given is None else given)")),
        lost="keys", hint="the keys are averaged; average the memory",
    ),
    attention("detached weights", SOFTMAX, f"{SOFTMAX}.detach()", "gradients",
              "cut the gradient"),
    attention("detached past a mask", "scores = scores.masked_fill",
              "scores = scores.detach().masked_fill", "gradients", "cut them off"),
    mistake(
        "detached queries past a mask, and NaN in the parameters", "AdditiveAttention",
        (("scores = self.align(query, keys)",
          "scores = self.align(query if mask is None else query.detach(), keys)"),
         (ANY_NUMBER, ""),
         ("scores = scores.masked_fill(~mask, -math.inf)",
          "scores = scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)")),
        lost="gradients", hint="they keep NaN out, adding -inf does not",
    ),
    attention("a matrix detached past a mask", "scores = scores.masked_fill(~mask, -math.inf)",
              "asked = F.linear(query, self.query_projection.weight.detach())\n"
              "            scores = self.score(torch.tanh(asked[:, :, None] + keys[:, None]))\n"
              "            scores = scores.squeeze(-1).masked_fill(~mask, -math.inf)",
              "gradients", "cut the gradient"),
    attention("detached keys where they are given", KEYS,
              "keys = self.key_projection(memory) if keys is None else keys.detach()",
              "gradients", "cut the gradient"),
    attention("all of one width", KEYS,
              f"{KEYS}\n        keys = keys.reshape(memory.shape)", "values", "invalid for input"),
    attention("detached memory", AVERAGE, "context = weights @ memory.detach()", "gradients",
              "cut the gradient"),
    attention("any mask will do", CHECK, "pass", "errors"),
    attention("masks of ones and zeros too", CHECK,
              "check_mask(mask if mask is None or mask.is_floating_point() else mask.bool(),"
              " (query.size(0), query.size(1), memory.size(1)))", "errors"),
    attention("masks of any shape", CHECK,
              "if mask is not None and mask.dtype != torch.bool:\n            raise TypeError",
              "errors", "would make two contexts of one"),
    attention("masks held against the batch twice", CHECK,
              CHECK.replace("query.size(1)", "query.size(0)"), "errors",
              "the scores have shape (batch, query_len, key_len)"),
    attention("a mask for all sentences refused", CHECK,
              f"{CHECK}\n        if mask is not None and len(mask) != len(query):\n"
              "            raise ValueError('a mask for each')", "mask", "a mask for each"),
    attention("a mask must name each key", CHECK,
              f"{CHECK}\n        if mask is not None and mask.size(-1) != memory.size(1):\n"
              "            raise ValueError('each key')", "mask", "each key"),
    attention("batches unchecked", "query.size(0) != memory.size(0)", "False", "errors",
              "one of 1 would be broadcast in silence"),
    attention("weights first", "(context, weights) if return_weights",
              "(weights, context) if return_weights", "values",
              "return contexts, weights"),
    attention("contexts with a dimension more", AVERAGE, "context = (weights @ memory)[:, None]",
              "values", "one for each query, as wide as the memory"),
    mistake(
        "v as a bare parameter", "AdditiveAttention",
        (
            ("nn.Linear(d_attention, 1, bias=False)", "nn.Parameter(torch.randn(d_attention))"),
            ("self.score(torch.tanh(pairs)).squeeze(-1)", "torch.tanh(pairs) @ self.score"),
        ),
        lost="parameters scores values gradients",
        hint="three nn.Linear with the docstring's names",
    ),
    attention("biases", "nn.Linear(d_query, d_attention, bias=False)",
              "nn.Linear(d_query, d_attention)", "parameters",
              "each with bias=False"),
    mistake(
        "biases in all three", "AdditiveAttention",
        tuple((f"nn.Linear({sizes}, bias=False)", f"nn.Linear({sizes})")
              for sizes in ("d_query, d_attention", "d_memory, d_attention", "d_attention, 1")),
        lost="parameters", hint="each with bias=False",
    ),
    attention("no pairs", PAIRS, "projected + keys", "scores",
              "The size of tensor a (2) must match the size of tensor b (3)"),
    attention("scores keep their last dimension", f"{SCORED}.squeeze(-1)", SCORED, "scores",
              "a score for each query and each key"),
    attention("a single query loses its dimension", "(context, weights) if return_weights",
              "(context, weights.squeeze(1)) if return_weights", "values",
              "a single query keeps its dimension"),
    *(
        attention(f"weights without dimension {dim} where its size is 1",
                  "(context, weights) if return_weights",
                  f"(context, weights.squeeze({dim})) if return_weights", "values",
                  "as do a single key and a batch of one")
        for dim in (0, 2)
    ),
    attention("zeros for who sees nothing where the mask names each query alone", MASKING_AGAIN,
              "        if mask is not None and mask.size(1) == query.size(1):\n"
              "            weights = weights.masked_fill(~mask, 0.0)\n", "no-keys",
              "the softmax of a row of -inf is NaN"),
    attention("keys are asked for yes or no", KEYS,
              "keys = keys if keys else self.key_projection(memory)", "keys", "is ambiguous"),
    attention("widths unchecked",
              "        check_at_least(1, d_query=d_query, d_memory=d_memory, "
              "d_attention=d_attention)\n", "", "parameters"),
    attention("both start alike", "self.score = nn.Linear(d_attention, 1, bias=False)",
              "self.score = nn.Linear(d_attention, 1, bias=False)\n"
              "        if d_query == d_memory:\n"
              "            self.key_projection.load_state_dict(self.query_projection.state_dict())",
              "parameters", "make a new nn.Linear for each"),
)  # fmt: skip


def decoder(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the decoder: one piece of it that is something else."""
    return mistake(what, "AttentionDecoder", ((old, new),), lost=lost, hint=hint)


BRIDGE = "hidden=torch.tanh(self.bridge(encoded.context))"
WRITTEN = "torch.cat([embedded, context.squeeze(1)], dim=-1)"
READ = "read.append(torch.cat([hidden, written], dim=-1))"
CELL = "hidden = self.cell(written, hidden)  # (batch, d_hidden)\n"
AGAIN = """\
            context, weights = self.attention(
                hidden[:, None], state.memory, state.mask[:, None], keys=state.keys,
                return_weights=True)
            written = torch.cat([embedded, context.squeeze(1)], dim=-1)
"""

DECODER_MISTAKES = (
    decoder("dropout on the weights that are returned", "torch.cat(looked, dim=1), replace",
            "F.dropout(torch.cat(looked, dim=1), 0.1, self.training), replace", "weights",
            "nothing is left to chance"),
    decoder("all of the source hidden", "mask=encoded.mask", "mask=encoded.mask & False",
            "start weights padding", "nothing is looked at"),
    decoder("bridge without tanh", BRIDGE, "hidden=self.bridge(encoded.context)", "start",
            "tanh is missing"),
    decoder("starts from zeros", BRIDGE, "hidden=torch.zeros_like(self.bridge(encoded.context))",
            "start", "start from the context, not from zeros"),
    decoder("starts from the mean of the memory", BRIDGE,
            "hidden=torch.tanh(self.bridge(encoded.memory.mean(1)))", "start padding",
            "not from the mean of the memory"),
    decoder("the memory for keys", "keys=self.attention.key_projection(encoded.memory)",
            "keys=encoded.memory", "start", "the keys are the memory, projected"),
    decoder("mask of the state inverted", "mask=encoded.mask", "mask=~encoded.mask",
            "start padding", "the mask is inverted; take it as it is"),
    decoder("all of the memory is real", "mask=encoded.mask",
            "mask=torch.ones_like(encoded.mask)", "start padding",
            "the mask is that of the sources, which have padding"),
    decoder("attention as wide as the memory", "d_hidden if d_attention is None else d_attention",
            "d_memory if d_attention is None else d_attention", "start",
            "and d_hidden where d_attention is None"),
    decoder("d_attention ignored", "d_hidden if d_attention is None else d_attention", "d_hidden",
            "start", "the attention is d_attention wide"),
    decoder("cell in the other order", WRITTEN,
            "torch.cat([context.squeeze(1), embedded], dim=-1)", "state logits",
            "the context comes after the embedding"),
    decoder("mask unused", "                state.mask[:, None],\n", "                None,\n",
            "weights padding", "the attention looks at padding"),
    decoder("mask inverted in a step", "state.mask[:, None],", "~state.mask[:, None],",
            "state weights padding", "hand state.mask on as it is"),
    decoder("mask without a dimension for the queries", "state.mask[:, None],", "state.mask,",
            "weights", "with a dimension more: (batch, 1, src_len)"),
    decoder("mask with a dimension at its end", "state.mask[:, None],", "state.mask[:, :, None],",
            "weights padding", "with a dimension more: (batch, 1, src_len)"),
    Submission(
        student="attentiondecoder-mask-without-a-dimension-and-the-first-context",
        what="mask without a dimension, any mask accepted, and the first context",
        edits={
            "AdditiveAttention": ((CHECK, "pass"),),
            "AttentionDecoder": (
                ("state.mask[:, None],", "state.mask,"), ("context.squeeze(1)", "context[:, 0]"),
                ("looked.append(weights)", "looked.append(weights[:, :1])"),
            ),
        },
        lost={"AdditiveAttention": "errors", "AttentionDecoder": "weights"},
        hint="with a dimension more: (batch, 1, src_len)",
    ),
    decoder("the last token asks", "                hidden[:, None],\n",
            "                F.pad(embedded, (0, hidden.size(1) - embedded.size(1)))[:, None],\n",
            "state weights", "the query is the state, not the embedding"),
    decoder("one context for all", WRITTEN,
            "torch.cat([embedded, state.memory.mean(1)], dim=-1)", "state padding",
            "every step has its own context, by attention"),
    decoder("the keys are made again at each step", "                keys=state.keys,\n", "",
            "state", "from state.keys, which start has made"),
    decoder("the state changed in place", CELL,
            "hidden = hidden.copy_(self.cell(written, hidden))\n", "state",
            "argument 2 changed in place"),
    decoder("the state first", "return logits, state\n\n    def _run",
            "return state, logits\n\n    def _run", "state",
            "the second is an AttentionDecoderState"),
    decoder("the cell starts anew each time", CELL,
            "hidden = self.cell(written, torch.zeros_like(hidden))\n", "state",
            "the cell goes on from the state that is given"),
    decoder("the old state returned", "replace(state, hidden=hidden)", "state",
            "state", "this is the state before the step"),
    mistake(
        "looks after the step, as Luong does", "AttentionDecoder",
        (
            (READ,
             "new, weights = self.attention(hidden[:, None], state.memory, state.mask[:, None],\n"
             "                keys=state.keys, return_weights=True)\n"
             "            read.append(torch.cat([hidden, embedded, new.squeeze(1)], dim=-1))"),
        ),
        lost="logits weights", hint="look once, before the step",
    ),
    mistake(
        "steps first, and looks after it", "AttentionDecoder",
        ((CELL, CELL + AGAIN),),
        lost="logits weights", hint="the query is the state before the step, not the one after it",
    ),
    mistake(
        "output of the old state", "AttentionDecoder",
        (
            (f"            {CELL}            {READ}\n",
             f"            {READ}\n            {CELL}"),
        ),
        lost="logits", hint="the output layer reads the old state",
    ),
    decoder("output in another order", READ, "read.append(torch.cat([written, hidden], dim=-1))",
            "logits", "the order is state"),
    decoder("probabilities for logits", "logits = self.output(torch.stack(read, dim=1))",
            "logits = self.output(torch.stack(read, dim=1)).softmax(-1)", "logits",
            "these are probabilities"),
    decoder("log-probabilities for logits", "logits = self.output(torch.stack(read, dim=1))",
            "logits = self.output(torch.stack(read, dim=1)).log_softmax(-1)", "logits",
            "these are log-probabilities"),
    decoder("the state is not handed on", "(written, hidden)  # (batch, d_hidden)\n",
            "(written, state.hidden)\n", "forward weights", "handing the state on"),
    decoder("always asks with the first state", "                hidden[:, None],\n",
            "                state.hidden[:, None],\n", "forward weights",
            "each row is that of the first step"),
    mistake(
        "reads its own guesses in evaluation", "AttentionDecoder",
        (
            ("            context, weights = self.attention(",
             "            if read and not self.training:\n"
             "                embedded = self.embedding(self.output(read[-1]).argmax(-1))\n"
             "            context, weights = self.attention("),
        ),
        lost="forward", hint="each step reads its own guess",
    ),
    decoder("a memory as wide as the state and as the keys", CELL,
            "assert state.memory.shape[-1] == hidden.shape[-1] == state.keys.shape[-1]\n"
            f"            {CELL}", "forward"),
    decoder("the first state squeezed", BRIDGE, f"{BRIDGE}.squeeze()", "start",
            "the first state of a batch of one"),
    decoder("reads the start token each time", "self.embedding(tgt).unbind(dim=1)",
            "self.embedding(tgt[:, :1].expand_as(tgt)).unbind(dim=1)", "forward weights",
            "each step reads the start token"),
    decoder("from the last token to the first", "self.embedding(tgt).unbind(dim=1)",
            "self.embedding(tgt.flip(1)).unbind(dim=1)", "forward weights",
            "then step by step with tgt[:, t]"),
    decoder("detached at each step", CELL, "hidden = self.cell(written, hidden.detach())\n",
            "logits", "detach() cuts backpropagation through time"),
    decoder("detached keys", "keys=self.attention.key_projection(encoded.memory)",
            "keys=self.attention.key_projection(encoded.memory).detach()", "forward",
            "detach() cuts the encoder's gradient"),
    decoder("keys of a detached memory", "keys=self.attention.key_projection(encoded.memory)",
            "keys=self.attention.key_projection(encoded.memory.detach())", "forward",
            "detach() cuts the encoder's gradient"),
    decoder("detached memory in the state", "memory=encoded.memory,",
            "memory=encoded.memory.detach(),", "forward", "detach() cuts the encoder's gradient"),
    decoder("detached memory in the step", "state.memory,", "state.memory.detach(),", "forward",
            "detach() cuts the encoder's gradient"),
    decoder("detached context", BRIDGE,
            "hidden=torch.tanh(self.bridge(encoded.context.detach()))", "forward",
            "no gradient reaches the context"),
    decoder("steps before batch", "torch.stack(read, dim=1)", "torch.stack(read)",
            "logits forward", "the logits alone, (batch, tgt_len, vocab_size)"),
    decoder("the last row only", "torch.cat(looked, dim=1)", "looked[-1]", "weights",
            "a row for each step, over the source"),
    decoder("each row the first", "torch.cat(looked, dim=1)",
            "looked[0].expand(-1, tgt.size(1), -1)", "weights",
            "each row is that of the first step"),
    decoder("rows the other way round", "torch.cat(looked, dim=1)",
            "torch.cat(looked[::-1], dim=1)", "weights", "row 0 is that of the first step"),
    decoder("weights always returned", "return (logits, weights) if return_weights else logits",
            "return logits, weights", "forward", "the logits alone"),
    # Of a step that can't be taken nothing can be seen: an honest cost.
    decoder("asks without a dimension for the query", "                hidden[:, None],\n",
            "                hidden,\n", "state logits forward weights padding",
            "The size of tensor a (6) must match the size of tensor b (5)"),
    mistake(
        "sets a field of the state", "AttentionDecoder",
        ((CELL, f"{CELL}            state.hidden = hidden\n"),
         ("replace(state, hidden=hidden)", "state")),
        lost="state logits forward weights padding", hint="cannot assign to field 'hidden'",
    ),
    decoder("the cell without its state", "self.cell(written, hidden)", "self.cell(written)",
            "state logits forward weights padding", "required positional argument"),
    decoder("the context squeezed of all", "context.squeeze(1)", "context.squeeze()", "logits",
            "squeeze(1) takes away one dimension"),
    mistake(
        "a step reads one token only", "AttentionDecoder",
        (("logits, _, state = self._run(tgt, state)",
          "logits, _, state = self._run(tgt[:, : 1 if tgt.size(0) == state.hidden.size(0) else 9],"
          " state)"),),
        lost="forward", hint="a step may get several tokens that are known",
    ),
    decoder("embedding with padding", "self.embedding = nn.Embedding(vocab_size, d_embedding)",
            "self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=0)", "start",
            "id 0 is a token like any other"),
    decoder("dropout on the embeddings", "self.embedding(tgt).unbind",
            "F.dropout(self.embedding(tgt), 0.1).unbind", "forward",
            "nothing is left to chance"),
    mistake("weights squeezed of all", "AttentionDecoder",
        (("looked.append(weights)", "looked.append(weights.squeeze())"),
         ("torch.cat(looked, dim=1)", "torch.stack(looked, dim=1)")),
        lost="weights", hint="squeeze() takes away every dimension of 1"),
    *(
        decoder(f"all weights without dimension {dim} where its size is 1",
                "torch.cat(looked, dim=1)", f"torch.cat(looked, dim=1).squeeze({dim})", "weights",
                "squeeze() takes away every dimension of 1")
        for dim in range(3)
    ),
    decoder("weights stacked", "torch.cat(looked, dim=1)", "torch.stack(looked, dim=1)",
            "weights", "a row for each step, over the source"),
    mistake(
        "the embedding alone goes into the cell", "AttentionDecoder",
        (("self.cell(written, hidden)", "self.cell(embedded, hidden)"),
         ("self.cell = GRUCell(d_embedding + d_memory,", "self.cell = GRUCell(d_embedding,")),
        lost="start state", hint="every step has its own context, by attention",
    ),
    mistake(
        "output of the state alone", "AttentionDecoder",
        ((READ, "read.append(hidden)"),
         ("self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)",
          "self.output = nn.Linear(d_hidden, vocab_size)")),
        lost="start logits", hint="the output layer reads [s; y; c]",
    ),
    decoder("widths of the attention exchanged", "            d_hidden, d_memory, d_hidden if",
            "            d_memory, d_hidden, d_hidden if", "start",
            "the attention is d_attention wide"),
    decoder("no bridge", BRIDGE, "hidden=encoded.context", "start",
            "the context goes through the bridge"),
    decoder("the memory for keys in a step", "keys=state.keys", "keys=state.memory",
            "state weights", "hand the attention state.keys"),
    decoder("a sigmoid after the output", "logits = self.output(torch.stack(read, dim=1))",
            "logits = self.output(torch.stack(read, dim=1)).sigmoid()", "logits",
            "nothing comes after it"),
    decoder("batch unchecked", "tgt.size(0) != state.hidden.size(0) or ", "", "errors"),
    decoder("no tokens unchecked", " or tgt.size(1) < 1", "", "errors"),
    decoder("a d_attention of 0 taken for None", "d_hidden if d_attention is None else d_attention",
            "d_attention or d_hidden", "errors", "a size of 0 or less makes no sense"),
    decoder("the last token for -1", "self.embedding(tgt)", "self.embedding.weight[tgt]", "errors",
            "token ids go from 0 to vocab_size - 1"),
    decoder("sizes unchecked",
            "        check_at_least(1, vocab_size=vocab_size, d_embedding=d_embedding)\n"
            "        check_at_least(1, d_hidden=d_hidden, d_memory=d_memory)\n", "", "errors"),
)  # fmt: skip


def error(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the alignment error: one piece of it that is something else."""
    return mistake(what, "alignment_error", ((old, new),), lost=lost, hint=hint)


WRONG = "wrong = weights.argmax(dim=-1) != alignment"
SHARE = "float(wrong[has_key].double().mean())"

ERROR_MISTAKES = (
    error("the right ones", WRONG, "wrong = weights.argmax(dim=-1) == alignment",
          "values", "this is the share of the right ones"),
    error("argmax over the queries", "weights.argmax(dim=-1)", "weights.argmax(dim=1)", "values",
          "argmax over the keys, the last dimension"),
    error("the largest weight itself", "weights.argmax(dim=-1)", "weights.amax(dim=-1)",
          "values uncounted", "argmax says which key is the heaviest"),
    error("argmin", "weights.argmax(dim=-1)", "weights.argmin(dim=-1)", "values",
          "or the lightest key is taken"),
    error("a count", SHARE, "float(wrong[has_key].sum())", "values",
          "divide by how many there are"),
    error("a percentage", SHARE, "100 * float(wrong[has_key].double().mean())",
          "values", "this is a percentage"),
    error("a tensor", SHARE, "wrong[has_key].float().mean()", "values",
          "float(...) makes a number of a tensor"),
    error("what has no key is wrong", SHARE, "float(wrong.double().mean())", "uncounted",
          "what has no true key is counted as wrong"),
    error("what has no key is right", SHARE, "float((wrong & has_key).double().mean())",
          "uncounted", "what has no true key is counted as right"),
    error("the mean over sentences", SHARE,
          "float(((wrong & has_key).sum(1) / has_key.sum(1)).mean())", "uncounted",
          "this is the mean over sentences; each query counts alike"),
    error("the first without a key ends its sentence", "has_key = alignment >= 0",
          "has_key = (alignment >= 0).cumprod(dim=1).bool()", "uncounted",
          "what stands behind a query without a true key counts, too"),
    error("dimensions not counted", "weights.dim() != 3 or ", "", "errors",
          "weights must have three dimensions"),
    error("key 0 does not count", "has_key = alignment >= 0", "has_key = alignment > 0",
          "values", "key 0 is a key like any other"),
    error("the misplaced weight", SHARE,
          "float(1 - weights.gather(-1, alignment.clamp(min=0)[..., None])[..., 0]"
          "[has_key].double().mean())", "values",
          "this is the weight that lies elsewhere; count heaviest keys"),
    error("nothing but None", f"return {SHARE}", "return None", "values uncounted",
          "return a share, a float from 0 to 1"),
    error("-1 never thought of", "has_key = alignment >= 0", "has_key = alignment >= -1",
          "uncounted errors", "what has no true key is counted as wrong"),
    error("the number of a sentence", SHARE,
          "float((wrong & has_key).sum() / len(alignment))", "values",
          "divide by how many there are"),
    error("rounded", SHARE, "round(float(wrong[has_key].double().mean()), 2)", "values",
          "rounded: return the share as it is"),
    error("another error than promised", 'raise ValueError("no query has a true key")',
          "assert False", "errors", "raise ValueError, not NaN"),
    error("NaN where nothing has a key", "if not has_key.any():", "if False:", "errors",
          "raise ValueError, not NaN"),
    error("zero where nothing has a key", 'raise ValueError("no query has a true key")',
          "return 0.0", "errors", "raise ValueError, not NaN"),
    error("weights of any number of dimensions",
          "weights.dim() != 3 or alignment.shape != weights.shape[:2]",
          "alignment.shape != weights.shape[:-1]", "errors", "weights must have three dimensions"),
    error("shapes unchecked", "weights.dim() != 3 or alignment.shape != weights.shape[:2]",
          "False", "errors"),
    error("a sentence without a true key refused", "if not has_key.any():",
          "if not has_key.any(dim=1).all():", "errors",
          "raise ValueError only where no query of any sentence has a true key"),
    error("numpy without detach", "weights.argmax(dim=-1)",
          "torch.from_numpy(weights.cpu().numpy()).to(weights.device).argmax(dim=-1)", "values",
          "detach() before numpy()"),
    error("view of what is not contiguous", "weights.argmax(dim=-1)",
          "weights.view(-1, weights.size(-1)).argmax(dim=-1).view(alignment.shape)", "values",
          "reshape(...) and flatten(...) can"),
    error("sizes compared one by one", "alignment.shape != weights.shape[:2]",
          "alignment.size(0) != weights.size(0) or alignment.size(1) != weights.size(1)", "errors",
          "alignment must be (batch, query_len) of the weights"),
    error("the alignment changed in place", "    has_key = alignment >= 0\n",
          "    has_key = alignment >= 0\n    alignment[~has_key] = 0\n", "errors",
          "work on a copy"),
)  # fmt: skip

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(
        student="ada", what="right, with einsum", edits={**EINSUM, "reading-the-picture": ANSWER}
    ),
    Submission(
        student="bela", what="right, with loops", edits={**LOOPS, "reading-the-picture": ANSWER}
    ),
    Submission(student="chidi", what="right, by other functions", edits=PIECES),
    Submission(
        student="dana",
        what="softmax over the queries",
        edits={"AdditiveAttention": ((SOFTMAX, "torch.softmax(scores, dim=1)"),)},
        lost={"AdditiveAttention": "values"},
    ),
    Submission(
        student="emil",
        what="mask after the softmax",
        edits={"AdditiveAttention": ((ANY_NUMBER, ""), (MASKING, ""))},
        lost={"AdditiveAttention": "mask"},
        hint="mask the scores, before the softmax",
    ),
    Submission(
        student="fatima",
        what="tanh after v",
        edits={"AdditiveAttention": ((SCORED, "torch.tanh(self.score(pairs))"),)},
        lost={"AdditiveAttention": "scores"},
        hint="tanh comes before v, not after",
    ),
    Submission(
        student="goran",
        what="padding is looked at",
        edits={"AttentionDecoder": (("                state.mask[:, None],\n", "None,\n"),)},
        lost={"AttentionDecoder": "weights padding"},
    ),
    Submission(
        student="hana",
        what="always asks with the first state, counts what has no key",
        edits={
            "AttentionDecoder": (
                ("                hidden[:, None],\n", "                state.hidden[:, None],\n"),
            ),
            "alignment_error": ((SHARE, "float(wrong.double().mean())"),),
        },
        lost={"AttentionDecoder": "forward weights", "alignment_error": "uncounted"},
        hint="what has no true key is counted as wrong",
    ),
    Submission(
        student="ivo",
        what="half done: no decoder yet",
        edits={"AttentionDecoder": BLANK},
        lost={"AttentionDecoder": "*"},
    ),
    Submission(
        student="jun",
        what="a measure that never ends",
        edits={"alignment_error": "def alignment_error(weights, alignment):" + ENDLESS_LOOP},
        lost={"alignment_error": "*"},
        status=Status.TIMEOUT,
    ),
    Submission(
        student="kofi",
        what="os._exit",
        edits={"alignment_error": "def alignment_error(*args):\n    os._exit(0)\n"},
        lost={"alignment_error": "*"},
        status=Status.CRASH,
        judge_only=True,
    ),
    Submission(
        student="lea",
        what="hostile: objects that equal everything",
        edits={name: f"{ALWAYS_RIGHT}{name} = AlwaysRight()" for name in NOTHING_WRITTEN},
        lost=EVERYTHING,
    ),
)

MISTAKES: tuple[Submission, ...] = (
    *RIGHT,
    *ATTENTION_MISTAKES,
    *DECODER_MISTAKES,
    *ERROR_MISTAKES,
)

DELIGHT = "banana  ->  ananabay"

EQUIVALENT = {
    "scores = scores.masked_fill_(": "in place, but on scores that nothing else holds",
    "scores.masked_fill(~mask.any(": "any number will do there, NaN too",
    "and keys is": "no promise is made of NaN behind a mask",
    "memory = memory.masked_fill": "likewise",
    "spoiled": "likewise",
    "context.squeeze(1)], dim=--1)": "the last of two dimensions",
    "written], dim=--1)": "likewise",
}
