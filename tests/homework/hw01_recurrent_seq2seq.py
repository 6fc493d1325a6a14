"""The submissions of hw01, each with the marks that it must get.

Twenty-two points are to be had from tests, each check worth one; two from the written question.
"""

from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, ENDLESS_LOOP
from .submissions import BLANK, Edit, Submission, mistake, right

ANSWER = """\
### The wider beam that made things worse

It searched better: the scores went up, so the model is at fault, and `diagnose` says "model" more
often. A sum of negative log-probabilities grows with every term, so short outputs win. Divide by
the length.
"""

# ---- right ones in other styles ----

FUNCTIONAL: dict[str, Edit] = {
    "RNNCell": '''
class RNNCell(nn.Module):
    """One product of both inputs, side by side."""

    def __init__(self, d_input: int, d_hidden: int, bias: bool = True):
        super().__init__()
        for name, width in {"d_input": d_input, "d_hidden": d_hidden}.items():
            if width <= 0:
                raise ValueError(f"{name}: {width}")
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, d_hidden, bias)
        self.hidden_projection = nn.Linear(d_hidden, d_hidden, bias)

    def forward(self, x, hidden):
        both = torch.cat([x, hidden], dim=1)
        weight = torch.cat([self.input_projection.weight, self.hidden_projection.weight], dim=1)
        total = torch.einsum("bi,oi->bo", both, weight)
        for projection in (self.input_projection, self.hidden_projection):
            if projection.bias is not None:
                total = total + projection.bias
        return total.tanh()
''',
    "GRUCell": '''
class GRUCell(nn.Module):
    """Gate by gate, by slices of the weights."""

    def __init__(self, d_input: int, d_hidden: int, bias: bool = True):
        super().__init__()
        if not (d_input > 0 and d_hidden > 0):
            raise ValueError("widths")
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, 3 * d_hidden, bias)
        self.hidden_projection = nn.Linear(d_hidden, 3 * d_hidden, bias)

    def gate(self, projection, number, x):
        rows = slice(number * self.d_hidden, (number + 1) * self.d_hidden)
        bias = None if projection.bias is None else projection.bias[rows]
        return F.linear(x, projection.weight[rows], bias)

    def forward(self, x, hidden):
        r, z = (
            torch.sigmoid(
                self.gate(self.input_projection, i, x)
                + self.gate(self.hidden_projection, i, hidden)
            )
            for i in (0, 1)
        )
        n = torch.tanh(
            self.gate(self.input_projection, 2, x)
            + r * self.gate(self.hidden_projection, 2, hidden)
        )
        return n + z * (hidden - n)
''',
    "read_both_ways": '''
def reverse(x, lengths):
    """Turn each sequence round, and leave its padding where it is."""
    places = torch.arange(x.size(1), device=x.device)[None, :].expand(x.size(0), -1)
    turned = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    return x.gather(1, turned[..., None].expand_as(x))


def read_one_way(cell, x, d_hidden):
    hidden = torch.zeros(x.size(0), d_hidden, dtype=x.dtype, device=x.device)
    states = []
    for x_t in x.unbind(1):
        hidden = cell(x_t, hidden)
        states.append(hidden)
    return torch.stack(states, 1)


def read_both_ways(x, lengths, layers, d_hidden):
    """Forwards over each sequence, and forwards over each one turned round."""
    real = (torch.arange(x.size(1), device=x.device) < lengths[:, None])[..., None].to(x.dtype)
    for forward_cell, backward_cell in layers:
        ahead = read_one_way(forward_cell, x, d_hidden)
        back = reverse(read_one_way(backward_cell, reverse(x, lengths), d_hidden), lengths)
        x = torch.cat([ahead, back], -1) * real
    rows = torch.arange(len(x), device=x.device)
    return x, torch.cat([x[rows, lengths - 1, :d_hidden], x[:, 0, d_hidden:]], -1)
''',
    "Decoder": '''
class Decoder(nn.Module):
    """Embeds all tokens at once, and scores all states at once."""

    def __init__(self, vocab_size, d_embedding, d_hidden, d_memory):
        super().__init__()
        width = d_embedding + d_memory
        self.cell = GRUCell(width, d_hidden)
        self.output = nn.Linear(width + d_hidden, vocab_size)
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.bridge = nn.Linear(d_memory, d_hidden)

    def start(self, context):
        return self.bridge(context).tanh()

    def step(self, tokens, state, context):
        y = self.embedding(tokens)
        state = self.cell(torch.hstack([y, context]), state)
        return self.output(torch.hstack([state, y, context])), state

    def forward(self, tgt, context):
        batch, tgt_len = tgt.shape
        y = self.embedding(tgt)
        c = context.unsqueeze(1).expand(batch, tgt_len, context.size(-1))
        inputs = torch.cat((y, c), dim=2)
        states = [self.start(context)]
        for t in range(tgt_len):
            states.append(self.cell(inputs[:, t], states[-1]))
        return self.output(torch.cat((torch.stack(states[1:], dim=1), inputs), dim=2))
''',
    "greedy_search": '''
def greedy_search(next_logits, *, bos_id, eos_id, max_new_tokens):
    """With tensors all the way."""
    if max_new_tokens <= 0:
        raise ValueError(max_new_tokens)
    tokens = torch.full((1, 1), bos_id)
    score = 0.0
    for _ in range(max_new_tokens):
        log_probabilities = F.log_softmax(next_logits(tokens), dim=-1)
        best = log_probabilities.argmax(dim=-1, keepdim=True).cpu()
        score += log_probabilities.max().item()
        tokens = torch.cat([tokens, best], dim=1)
        if best.item() == eos_id:
            break
    return tokens[0, 1:].tolist(), score
''',
    "beam_search": '''
def beam_search(next_logits, *, beam_size, bos_id, eos_id, max_new_tokens, alpha):
    """With tensors and topk, and a stop where nothing in play can win any more."""
    tokens = torch.tensor([[bos_id]])
    totals = torch.zeros(1, dtype=torch.float64)
    found = []
    for length in range(1, max_new_tokens + 1):
        steps = torch.log_softmax(next_logits(tokens).cpu().double(), dim=-1)
        vocab_size = steps.shape[1]
        flat = (totals[:, None] + steps).reshape(-1)
        values, where = flat.topk(min(2 * beam_size, len(flat)))
        candidates = torch.cat(
            [tokens[where.div(vocab_size, rounding_mode="floor")], (where % vocab_size)[:, None]],
            dim=1,
        )
        ended = candidates[:, -1] == eos_id
        for rank in range(min(beam_size, len(values))):
            if ended[rank] or length == max_new_tokens:
                score = values[rank].item() / length**alpha
                found.append((candidates[rank, 1:].tolist(), score))
        tokens, totals = candidates[~ended][:beam_size], values[~ended][:beam_size]
    return sorted(found, key=lambda pair: -pair[1])[:beam_size]
''',
    "diagnose": '''
def diagnose(next_logits, *, output, reference, bos_id, alpha):
    """By cross-entropy, which is the negative log-probability."""
    def score(tokens):
        logits = torch.cat([
            next_logits(torch.tensor([[bos_id] + list(tokens[:t])])) for t in range(len(tokens))
        ])
        loss = F.cross_entropy(logits, torch.tensor(tokens, device=logits.device), reduction="sum")
        return -loss.item() / math.pow(len(tokens), alpha)

    mine, theirs = score(output), score(reference)
    if list(output) == list(reference):
        verdict = "none"
    else:
        verdict = "model" if mine >= theirs else "search"
    return verdict, mine, theirs
''',
}

LOOPS: dict[str, Edit] = {
    "RNNCell": '''
class RNNCell(nn.Module):
    """Row by row."""

    def __init__(self, d_input, d_hidden, *, bias=True):
        super().__init__()
        if min(d_input, d_hidden) <= 0:
            raise ValueError("too narrow")
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, d_hidden, bias=bias)
        self.hidden_projection = nn.Linear(d_hidden, d_hidden, bias=bias)

    def forward(self, x, hidden):
        rows = []
        for one_x, one_hidden in zip(x, hidden):
            a = self.input_projection.weight @ one_x + self.hidden_projection.weight @ one_hidden
            if self.input_projection.bias is not None:
                a = a + self.input_projection.bias + self.hidden_projection.bias
            rows.append(2 / (1 + torch.exp(-2 * a)) - 1)  # tanh, from its definition
        return torch.stack(rows)
''',
    "GRUCell": '''
class GRUCell(nn.Module):
    """The formula, letter by letter."""

    def __init__(self, d_input, d_hidden, *, bias=True):
        super().__init__()
        if min(d_input, d_hidden) <= 0:
            raise ValueError("too narrow")
        self.d_hidden = d_hidden
        self.input_projection = nn.Linear(d_input, 3 * d_hidden, bias=bias)
        self.hidden_projection = nn.Linear(d_hidden, 3 * d_hidden, bias=bias)

    def forward(self, x, hidden):
        d = self.d_hidden
        from_x, from_h = self.input_projection(x), self.hidden_projection(hidden)
        r = 1 / (1 + torch.exp(-from_x[:, :d] - from_h[:, :d]))
        z = 1 / (1 + torch.exp(-from_x[:, d : 2 * d] - from_h[:, d : 2 * d]))
        n = (from_x[:, 2 * d :] + r * from_h[:, 2 * d :]).tanh()
        return torch.lerp(n, hidden, z)
''',
    "read_both_ways": '''
def read_both_ways(x, lengths, layers, d_hidden):
    """One sequence at a time: then there is no padding."""
    memories, contexts = [], []
    for sequence, length in zip(x, lengths.tolist()):
        words = sequence[:length].split(1)
        for ahead, back in layers:
            forwards, backwards = [], []
            hidden = sequence.new_zeros(1, d_hidden)
            for word in words:
                hidden = ahead(word, hidden)
                forwards.append(hidden)
            hidden = sequence.new_zeros(1, d_hidden)
            for word in words[::-1]:
                hidden = back(word, hidden)
                backwards.insert(0, hidden)
            words = [torch.cat(pair, dim=1) for pair in zip(forwards, backwards)]
        padding = sequence.new_zeros(len(sequence) - length, 2 * d_hidden)
        memories.append(torch.cat([*words, padding]))
        contexts.append(torch.cat([forwards[-1], backwards[0]], dim=1)[0])
    return torch.stack(memories), torch.stack(contexts)
''',
    "Decoder": '''
class Decoder(nn.Module):
    """As little as will do; the layers in another order."""

    def __init__(self, vocab_size: int, d_embedding: int, d_hidden: int, d_memory: int):
        super().__init__()
        self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)
        self.cell = GRUCell(d_embedding + d_memory, d_hidden)
        self.bridge = nn.Linear(d_memory, d_hidden)
        self.embedding = nn.Embedding(vocab_size, d_embedding)

    def start(self, context):
        return torch.tanh(F.linear(context, self.bridge.weight, self.bridge.bias))

    def step(self, tokens, state, context):
        read = torch.cat([self.embedding.weight[tokens], context], 1)
        new = self.cell(read, state)
        return self.output(torch.cat([new, read], 1)), new

    def forward(self, tgt, context):
        state, logits = self.start(context), None
        for t in range(tgt.shape[1]):
            scores, state = self.step(tgt[:, t], state, context)
            scores = scores[:, None]
            logits = scores if logits is None else torch.cat([logits, scores], dim=1)
        return logits
''',
    "greedy_search": '''
def greedy_search(next_logits, *, bos_id, eos_id, max_new_tokens):
    """Write one token, and let a call of itself write the others."""
    if max_new_tokens < 1:
        raise ValueError("at least one")

    def go_on(prefix, left):
        p = torch.softmax(next_logits(torch.tensor([prefix]))[-1].double(), dim=0).tolist()
        token = p.index(max(p))
        if token == eos_id or left == 1:
            return [token], math.log(p[token])
        rest, score = go_on(prefix + [token], left - 1)
        return [token] + rest, math.log(p[token]) + score

    return go_on([bos_id], max_new_tokens)
''',
    "beam_search": '''
def beam_search(next_logits, *, beam_size, bos_id, eos_id, max_new_tokens, alpha):
    """A dictionary of beginnings, and the model asked about one at a time."""
    in_play, results = {(): 0.0}, {}
    for length in range(1, max_new_tokens + 1):
        candidates = {}
        for beginning, total in in_play.items():
            logits = next_logits(torch.tensor([(bos_id,) + beginning]))[0]
            log_sum = torch.logsumexp(logits, dim=0)
            for token in range(len(logits)):
                candidates[beginning + (token,)] = total + (logits[token] - log_sum).item()
        ranked = sorted(candidates, key=candidates.get, reverse=True)
        for tokens in ranked[:beam_size]:
            if tokens[-1] == eos_id or length == max_new_tokens:
                results[tokens] = candidates[tokens] / length**alpha
        open_ones = [tokens for tokens in ranked if tokens[-1] != eos_id]
        in_play = {tokens: candidates[tokens] for tokens in open_ones[:beam_size]}
    best = sorted(results.items(), key=lambda item: item[1], reverse=True)
    return [(list(tokens), score) for tokens, score in best[:beam_size]]
''',
    "diagnose": '''
def diagnose(next_logits, *, output, reference, bos_id, alpha):
    """Two sums, written out."""
    sums = {}
    for name, tokens in (("output", output), ("reference", reference)):
        prefix, sums[name] = [bos_id], 0.0
        for token in tokens:
            logits = next_logits(torch.tensor([prefix]))[0]
            sums[name] += (logits[token] - logits.logsumexp(0)).item()
            prefix.append(token)
        sums[name] /= len(tokens) ** alpha
    if tuple(output) == tuple(reference):
        return ("none", sums["output"], sums["reference"])
    if sums["reference"] > sums["output"]:
        return ("search", sums["output"], sums["reference"])
    return ("model", sums["output"], sums["reference"])
''',
}

PREALLOCATED: dict[str, Edit] = {
    "RNNCell": (
        (
            "return torch.tanh(self.input_projection(x) + self.hidden_projection(hidden))",
            "W, U = self.input_projection, self.hidden_projection\n"
            "        new = U(hidden)\n"
            "        new = new.add_(W(x))\n"
            "        return new.tanh_()",
        ),
    ),
    "GRUCell": '''
class GRUCell(nn.Module):
    """Both gates at once, by unflatten."""

    def __init__(self, d_input, d_hidden, *, bias=True):
        nn.Module.__init__(self)
        assert_wide(d_input)
        assert_wide(d_hidden)
        self.d_input, self.d_hidden = d_input, d_hidden
        self.hidden_projection = nn.Linear(d_hidden, d_hidden * 3, bias=bias)
        self.input_projection = nn.Linear(d_input, d_hidden * 3, bias=bias)

    def forward(self, x, hidden):
        from_x = self.input_projection(x).unflatten(-1, (3, -1))
        from_h = self.hidden_projection(hidden).unflatten(-1, (3, -1))
        r, z = (from_x + from_h)[:, :2].sigmoid().unbind(1)
        n = (from_x[:, 2] + from_h[:, 2] * r).tanh()
        return n - n * z + hidden * z


def assert_wide(width):
    if width < 1:
        raise ValueError(f"{width} is no width")
''',
    "read_both_ways": '''
def read_both_ways(x, lengths, layers, d_hidden):
    """Into a memory made beforehand, with masks of ones and zeros."""
    batch, length, _ = x.shape
    m = (torch.arange(length, device=x.device)[None] < lengths[:, None]).to(x.dtype)[..., None]
    below = x
    for ahead, back in layers:
        memory = torch.zeros(batch, length, 2 * d_hidden, dtype=x.dtype, device=x.device)
        f = torch.zeros(batch, d_hidden, dtype=x.dtype, device=x.device)
        b = torch.zeros_like(f)
        for t in range(length):
            f = m[:, t] * ahead(below[:, t], f) + (1 - m[:, t]) * f
            memory[:, t, :d_hidden] = f * m[:, t]
            u = length - 1 - t
            b = m[:, u] * back(below[:, u], b) + (1 - m[:, u]) * b
            memory[:, u, d_hidden:] = b * m[:, u]
        below = memory
    return below, torch.cat((f, b), 1)
''',
    "Decoder": (
        (
            "        state = self.start(context)\n        logits = []\n"
            "        for tokens in tgt.unbind(dim=1):\n"
            "            after, state = self.step(tokens, state, context)\n"
            "            logits.append(after)\n"
            "        return torch.stack(logits, dim=1)",
            "        logits = context.new_zeros(*tgt.shape, self.output.out_features)\n"
            "        state = self.start(context)\n"
            "        for t in range(tgt.size(1)):\n"
            "            logits[:, t], state = self.step(tgt[:, t], state, context)\n"
            "        return logits",
        ),
    ),
    "greedy_search": '''
def greedy_search(next_logits, *, bos_id, eos_id, max_new_tokens):
    """A loop that is left in the middle."""
    if not max_new_tokens > 0:
        raise ValueError(f"{max_new_tokens=}")
    tokens, terms = [bos_id], []
    while True:
        logits = next_logits(torch.as_tensor(tokens).view(1, -1)).squeeze(0)
        best = torch.argmax(logits)
        tokens += [best.item()]
        terms += [logits[best] - logits.logsumexp(0)]
        if tokens[-1] == eos_id or len(terms) == max_new_tokens:
            return tokens[1:], torch.stack(terms).sum().item()
''',
    "beam_search": '''
import heapq


class Beginning:
    """A sequence in play."""

    def __init__(self, tokens, total):
        self.tokens, self.total = tokens, total


def beam_search(next_logits, *, beam_size, bos_id, eos_id, max_new_tokens, alpha):
    """With objects and a heap."""
    beam, done = [Beginning([], 0.0)], []
    length = 0
    while length < max_new_tokens:
        length += 1
        asked = torch.tensor([[bos_id] + b.tokens for b in beam])
        table = next_logits(asked).log_softmax(1)
        found = []
        for row, beginning in zip(table.tolist(), beam):
            for token, term in enumerate(row):
                found.append(Beginning(beginning.tokens + [token], beginning.total + term))
        by_total = lambda b: b.total
        counting = heapq.nlargest(beam_size, found, key=by_total)
        last = length == max_new_tokens
        done += [b for b in counting if last or b.tokens[-1] == eos_id]
        beam = heapq.nlargest(beam_size, [b for b in found if b.tokens[-1] != eos_id], key=by_total)
    score = lambda b: b.total / len(b.tokens) ** alpha
    return [(b.tokens, score(b)) for b in sorted(done, key=score, reverse=True)][:beam_size]
''',
    "diagnose": (
        (
            '    fault = "search" if reference_score > output_score else "model"\n'
            "    return fault, output_score, reference_score",
            "    gap = output_score - reference_score\n"
            '    return "model" if gap >= 0 else "search", output_score, reference_score',
        ),
    ),
}

NOTHING_WRITTEN: dict[str, Edit] = dict.fromkeys(LOOPS, BLANK)
EVERYTHING = dict.fromkeys(NOTHING_WRITTEN, "*")

# ---- wrong ones ----

RNN_STEP = "torch.tanh(self.input_projection(x) + self.hidden_projection(hidden))"
RNN_WIDTHS = "        check_at_least(1, d_input=d_input, d_hidden=d_hidden)\n"


def rnn_step(wrong: str) -> Edit:
    """Take the plain step another way."""
    return ((RNN_STEP, wrong),)


RNN_MISTAKES = (
    mistake(
        "no tanh", "RNNCell", rnn_step("self.input_projection(x) + self.hidden_projection(hidden)"),
        lost="values", hint="tanh is missing",
    ),
    mistake(
        "no tanh in evaluation", "RNNCell",
        rnn_step(f"{RNN_STEP} if self.training else "
                 "self.input_projection(x) + self.hidden_projection(hidden)"),
        lost="values", hint="as in training",
    ),
    mistake(
        "the state is not used", "RNNCell", rnn_step("torch.tanh(self.input_projection(x))"),
        lost="values", hint="the last state is not used",
    ),
    mistake(
        "the input is not used", "RNNCell", rnn_step("torch.tanh(self.hidden_projection(hidden))"),
        lost="values", hint="the input is not used",
    ),
    mistake(
        "a sigmoid for the tanh", "RNNCell",
        rnn_step("torch.sigmoid(self.input_projection(x) + self.hidden_projection(hidden))"),
        lost="values",
    ),
    mistake(
        "a ReLU for the tanh", "RNNCell",
        rnn_step("torch.relu(self.input_projection(x) + self.hidden_projection(hidden))"),
        lost="values",
    ),
    mistake(
        "a tanh around each", "RNNCell",
        rnn_step("self.input_projection(x).tanh() + self.hidden_projection(hidden).tanh()"),
        lost="values",
    ),
    mistake(
        "multiplied", "RNNCell",
        rnn_step("torch.tanh(self.input_projection(x) * self.hidden_projection(hidden))"),
        lost="values",
    ),
    mistake(
        "projections exchanged", "RNNCell",
        rnn_step("torch.tanh(self.input_projection(hidden) + self.hidden_projection(x))"),
        lost="values",
    ),
    mistake(
        "the state is cut off", "RNNCell",
        rnn_step("torch.tanh(self.input_projection(x) + self.hidden_projection(hidden.detach()))"),
        lost="values", hint="backpropagation through time",
    ),
    mistake(
        "all is cut off", "RNNCell", rnn_step(f"{RNN_STEP}.detach()"),
        lost="values", hint="no gradient flows back",
    ),
    mistake(
        "bias whether wanted or not", "RNNCell",
        (("nn.Linear(d_input, d_hidden, bias=bias)", "nn.Linear(d_input, d_hidden)"),),
        lost="parameters", hint="hand bias on",
    ),
    mistake(
        "an error without biases", "RNNCell",
        rnn_step("torch.tanh(F.linear(x, self.input_projection.weight) + "
                 "self.input_projection.bias + self.hidden_projection(hidden))"),
        lost="values",
    ),
    mistake(
        "without biases the state alone counts", "RNNCell",
        rnn_step(f"{RNN_STEP} if self.input_projection.bias is not None else 1 * hidden"),
        lost="values", hint="without biases",
    ),
    mistake("the batch squeezed", "RNNCell", rnn_step(f"{RNN_STEP}.squeeze(0)"),
        lost="values", hint="a batch of one"),
    mistake(
        "one bias only", "RNNCell",
        (("(d_hidden, d_hidden, bias=bias)", "(d_hidden, d_hidden, bias=False)"),),
        lost="parameters",
    ),
    mistake(
        "widths unchecked", "RNNCell", ((RNN_WIDTHS, ""),), lost="parameters",
        hint="raise ValueError",
    ),
    mistake(
        "a ValueError for one width only", "RNNCell",
        (("check_at_least(1, d_input=d_input, d_hidden=d_hidden)",
          "check_at_least(1, d_input=d_input)"),),
        lost="parameters", hint="raise ValueError",
    ),
    mistake(
        "d_hidden forgotten", "RNNCell", (("        self.d_hidden = d_hidden\n", ""),),
        lost="parameters",
    ),
    mistake(
        "both start alike", "RNNCell",
        (
            (
                "nn.Linear(d_hidden, d_hidden, bias=bias)",
                "nn.Linear(d_hidden, d_hidden, bias=bias)\n"
                "        if d_input == d_hidden:\n"
                "            self.hidden_projection.load_state_dict(\n"
                "                self.input_projection.state_dict())",
            ),
        ),
        lost="parameters", hint="make a new nn.Linear for each",
    ),
    mistake(
        "the state changed in place", "RNNCell",
        rnn_step(RNN_STEP.replace("(hidden)", "(hidden.clamp_(-1))")),
        lost="values", hint="argument 2 changed in place",
    ),
    mistake(
        "the state twice, as PyTorch's own layers do", "RNNCell",
        rnn_step(RNN_STEP + ", hidden"), lost="values", hint="one tensor, and nothing else",
    ),
    mistake(
        "nn.Module not set up", "RNNCell", (("        super().__init__()\n", ""),), lost="*",
        hint="super().__init__() comes first",
    ),
)  # fmt: skip

RESET = "reset = torch.sigmoid(reset_x + reset_h)"
UPDATE = "update = torch.sigmoid(update_x + update_h)"
CANDIDATE = "torch.tanh(candidate_x + reset * candidate_h)"
STATE = "(1 - update) * candidate + update * hidden"


def gru(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the GRU: one piece of it that is something else."""
    return mistake(what, "GRUCell", ((old, new),), lost=lost, hint=hint)


GRU_MISTAKES = (
    gru("one bias only", "nn.Linear(d_hidden, 3 * d_hidden, bias=bias)",
        "nn.Linear(d_hidden, 3 * d_hidden, bias=False)", "parameters", "hand bias on"),
    gru("an error without biases", "self.input_projection(x)",
        "(F.linear(x, self.input_projection.weight) + self.input_projection.bias)", "values"),
    gru("update gate the other way round", STATE, "update * candidate + (1 - update) * hidden",
        "update", "z and 1 - z have changed places"),
    gru("update gate the other way round in float64", STATE,
        f"({STATE}) if x.dtype != torch.float64 else update * candidate + (1 - update) * hidden",
        "values", "shows here: one of the gates is wrong"),
    gru("no way back to the weights", "self.hidden_projection(hidden)",
        "F.linear(hidden, self.hidden_projection.weight.data, self.hidden_projection.bias)",
        "values", "what flows back to hidden_projection.weight"),
    gru("gates of the state in the order z, r, n", "reset_h, update_h, candidate_h",
        "update_h, reset_h, candidate_h", "values"),
    mistake(
        "all parts in the order z, r, n", "GRUCell",
        (
            ("reset_x, update_x, candidate_x", "update_x, reset_x, candidate_x"),
            ("reset_h, update_h, candidate_h", "update_h, reset_h, candidate_h"),
        ),
        lost="values", hint="the gates are cut in another order",
    ),
    gru(
        "reset before the product, as in the paper", CANDIDATE,
        "torch.tanh(candidate_x + F.linear(reset * hidden, "
        "*(p[2 * self.d_hidden :] for p in self.hidden_projection.parameters())))",
        "reset", "reset after the product with U_n",
    ),
    gru("no reset", CANDIDATE, "torch.tanh(candidate_x + candidate_h)", "reset",
        "the reset gate does nothing"),
    gru("reset on the input too", CANDIDATE, "torch.tanh(reset * (candidate_x + candidate_h))",
        "update reset values"),
    gru("reset on the input", CANDIDATE, "torch.tanh(reset * candidate_x + candidate_h)",
        "update reset values"),
    gru("reset the other way round", CANDIDATE,
        "torch.tanh(candidate_x + (1 - reset) * candidate_h)", "reset"),
    gru("candidate without the state", CANDIDATE, "torch.tanh(candidate_x)", "reset"),
    gru("candidate without tanh", CANDIDATE, "candidate_x + reset * candidate_h",
        "update"),
    gru("candidate with a sigmoid", CANDIDATE, "torch.sigmoid(candidate_x + reset * candidate_h)",
        "update reset values"),
    gru("reset gate without sigmoid", RESET, "reset = reset_x + reset_h", "reset"),
    gru("update gate without sigmoid", UPDATE, "update = update_x + update_h",
        "update reset values"),
    gru("update gate blind to the state", UPDATE, "update = torch.sigmoid(update_x)",
        "update"),
    gru("reset gate blind to the state", RESET, "reset = torch.sigmoid(reset_x)", "reset"),
    gru("candidate added whole", STATE, "candidate + update * hidden", "update reset values"),
    gru("old state added whole", STATE, "(1 - update) * candidate + hidden",
        "update reset values"),
    gru("candidate alone in evaluation", STATE,
        f"{STATE} if self.training else candidate", "values", "as in training"),
    gru("old state forgotten", STATE, "(1 - update) * candidate", "update reset values"),
    gru("old state cut off", STATE, "(1 - update) * candidate + update * hidden.detach()",
        "values", "gates learn by it too"),
    mistake(
        "all is cut off", "GRUCell", ((STATE, f"({STATE}).detach()"),),
        lost="values", hint="no gradient flows back",
    ),
    mistake(
        "x set to zero when it has been read", "GRUCell",
        (("        return (1 - update)", "        x.data.zero_()\n        return (1 - update)"),),
        lost="values", hint="argument 1 changed in place",
    ),
    gru("bias whether wanted or not", "nn.Linear(d_hidden, 3 * d_hidden, bias=bias)",
        "nn.Linear(d_hidden, 3 * d_hidden)", "parameters", "hand bias on"),
    gru("widths unchecked", RNN_WIDTHS, "", "parameters", "raise ValueError"),
    gru("d_hidden forgotten", "        self.d_hidden = d_hidden\n", "", "parameters"),
    gru("gates of x in the order z, r, n", "reset_x, update_x, candidate_x",
        "update_x, reset_x, candidate_x", "values", "the gates are cut in another order"),
    gru("gates in the order z, n, r", "reset_x, update_x, candidate_x",
        "update_x, candidate_x, reset_x", "values", "the gates are cut in another order"),
    mistake(
        "always zeros", "GRUCell", ((f"return {STATE}", "return 0 * hidden"),),
        lost="update reset values",
    ),
    mistake(
        "the state as it was", "GRUCell", ((f"return {STATE}", "return 1 * hidden"),),
        lost="update reset values",
    ),
    gru("without biases the state as it was", f"return {STATE}",
        f"return {STATE} if self.input_projection.bias is not None else 1 * hidden", "values",
        "without biases"),
    gru("the state twice", f"return {STATE}", f"return {STATE}, hidden", "values",
        "one tensor, and nothing else"),
    gru("one more layer", "        self.d_hidden = d_hidden\n",
        "        self.d_hidden = d_hidden\n        self.reset_projection = nn.Linear(9, 9)\n", "*"),
)  # fmt: skip

KEEP = "torch.where(is_real[:, t, None], cell(memory[:, t], hidden), hidden)"
ZEROS = "            hidden = x.new_zeros(x.size(0), d_hidden)\n"


def read(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the encoder: one piece of it that is something else."""
    return mistake(what, "read_both_ways", ((old, new),), lost=lost, hint=hint)


READ_MISTAKES = (
    read("padding is kept apart in the first layer alone", KEEP,
         KEEP.replace("is_real[:, t, None]", "is_real[:, t, None] | (memory is not x)"), "layers",
         "in every layer"),
    read("the memory ends with the longest sequence", "for pair in layers:",
         "x = memory = x[:, : int(lengths.max())]\n    is_real = is_real[:, : x.size(1)]\n"
         "    for pair in layers:", "padding"),
    read("backward states in reading order", "by_step[t] = hidden",
         "by_step[x.size(1) - 1 - t if backward else t] = hidden",
         "backward", "in the order of reading"),
    read("context of several layers from the last place", "return memory, context",
         "if len(layers) > 1:\n        context = torch.cat("
         "[memory[:, -1, :d_hidden], memory[:, 0, d_hidden:]], dim=-1)\n    return memory, context",
         "layers", "the last state is the one at the last real step"),
    read("context and memory exchanged", "return memory, context", "return context, memory",
         "forward", "the memory first"),
    read("both from left to right",
         "reversed(range(x.size(1))) if backward else range(x.size(1))", "range(x.size(1))",
         "backward context"),
    read("both from right to left",
         "reversed(range(x.size(1))) if backward else range(x.size(1))",
         "reversed(range(x.size(1)))", "forward context"),
    read("the state runs on through the padding", KEEP, "cell(memory[:, t], hidden)",
         "padding"),
    read("the state is zeroed at padding", KEEP,
         "cell(memory[:, t], hidden) * is_real[:, t, None]", "context",
         "a state stays what it was"),
    read("padding in the memory", ".masked_fill(~is_real[:, :, None], 0.0)", "", "padding"),
    read("one token too many is real", "< lengths[:, None]", "<= lengths[:, None]",
         "padding"),
    read("one token too few is real", "< lengths[:, None]", "< lengths[:, None] - 1",
         "forward backward padding context"),
    read("lengths unused", "< lengths[:, None]", "< torch.full_like(lengths, x.size(1))[:, None]",
         "padding"),
    read("lengths unused in a batch of one", "< lengths[:, None]",
         "< (lengths if len(x) > 1 else torch.full_like(lengths, x.size(1)))[:, None]",
         "padding", "a sequence alone has padding too"),
    read("context from the last place", "torch.cat(last, dim=-1)", "memory[:, -1]", "context",
         "both halves are taken at the last step"),
    read("context from the first place", "torch.cat(last, dim=-1)", "memory[:, 0]", "context"),
    read("context is the mean", "torch.cat(last, dim=-1)", "memory.mean(dim=1)", "context"),
    read("context backward first", "torch.cat(last, dim=-1)", "torch.cat(last[::-1], dim=-1)",
         "context"),
    read("context of the first layer", "        context = torch.cat(last, dim=-1)\n",
         "        if pair is layers[0]:\n            context = torch.cat(last, dim=-1)\n",
         "layers"),
    read("memory backward first", "torch.cat(states, dim=-1)", "torch.cat(states[::-1], dim=-1)",
         "forward backward"),
    read("the forward cell for both", "for cell, backward in zip(pair,",
         "for cell, backward in zip((pair[0], pair[0]),", "backward"),
    read("the cells of a pair exchanged", "for cell, backward in zip(pair,",
         "for cell, backward in zip(pair[::-1],", "forward backward"),
    read("the first layer only", "for pair in layers:", "for pair in layers[:1]:", "layers",
         "one layer only"),
    read("every layer reads x", "cell(memory[:, t], hidden)", "cell(x[:, t], hidden)", "layers",
         "a cell was called with"),
    read("starts from ones", "x.new_zeros(x.size(0), d_hidden)", "x.new_ones(x.size(0), d_hidden)",
         "forward backward"),
    mistake(
        "a state is handed from cell to cell", "read_both_ways",
        (
            (ZEROS, ""),
            ("    memory = x\n", "    memory = x\n    hidden = x.new_zeros(x.size(0), d_hidden)\n"),
        ),
        lost="backward layers",
    ),
    read("starts from zeros at each step", KEEP,
         "torch.where(is_real[:, t, None], cell(memory[:, t], torch.zeros_like(hidden)), hidden)",
         "forward backward"),
    read("float32 whatever comes", "x.new_zeros(x.size(0), d_hidden)",
         "torch.zeros(x.size(0), d_hidden).to(x.device)", "forward", "see new_zeros"),
    read("detached at each step", "cell(memory[:, t], hidden)",
         "cell(memory[:, t], hidden.detach())",
         "forward backward", "cuts backpropagation through time"),
    mistake(
        "no gradient at all", "read_both_ways",
        (("def read_both_ways", "@torch.no_grad()\ndef read_both_ways"),),
        lost="forward backward", hint="no gradient flows back",
    ),
    read("context detached", "return memory, context", "return memory, context.detach()",
         "context", "no gradient flows back from the context"),
    read("half of the context detached", "torch.cat(last, dim=-1)",
         "torch.cat([last[0], last[1].detach()], dim=-1)", "context",
         "made of two states as they are"),
    read("detached between two layers", "cell(memory[:, t], hidden)",
         "cell(memory[:, t] if memory is x else memory[:, t].detach(), hidden)", "layers",
         "between two layers cuts the gradient"),
    *(
        mistake(
            what, "read_both_ways",
            (
                ("    memory = x\n",
                 "    lengths, order = lengths.sort(descending=True)\n"
                 "    x, is_real = x[order], is_real[order]\n    memory = x\n"),
                ("    return memory, context", f"    return {returned}"),
            ),
            lost=lost, hint=hint,
        )
        for what, returned, lost, hint in (
            ("sorted, and put back by the same order", "memory[order], context[order]",
             "padding", "put the rows back"),
            ("sorted, and not put back", "memory, context", "padding", "put the rows back"),
            ("sorted, and the context put back by the same order",
             "memory[order.argsort()], context[order]", "context", ""),
            ("sorted, and the context not put back",
             "memory[order.argsort()], context", "context", ""),
        )
    ),
    mistake(
        "the state before reading", "read_both_ways",
        (
            (f"                hidden = {KEEP}\n                by_step[t] = hidden\n",
             f"                by_step[t] = hidden\n                hidden = {KEEP}\n"),
        ),
        lost="forward backward padding",
    ),
    read("padding zeroed in x", "    memory = x\n", "    x[~is_real] = 0.0\n    memory = x\n",
         "padding", "set padding to zero in the memory, not in x"),
    # Of a result without a number none can be right: an honest cost.
    read("NaN everywhere", "return memory, context", "return memory / 0 * 0, context / 0 * 0", "*",
         "where none belongs"),
    mistake("ones, whatever is read", "read_both_ways",
        "def read_both_ways(x, lengths, layers, d_hidden):\n"
        "    memory = torch.ones(*x.shape[:2], 2 * d_hidden)\n    return memory, memory[:, 0]\n",
        lost="*", hint="are the same where there is something to remember"),
    read("the memory alone", "return memory, context", "return memory", "forward context",
         "return memory, context"),
    read("both directions summed", "torch.cat(states, dim=-1)", "sum(states)", "forward layers",
         "for each sequence and step two states"),
    mistake(
        "both directions summed, the context too", "read_both_ways",
        (
            ("torch.cat(states, dim=-1)", "sum(states)"),
            ("torch.cat(last, dim=-1)", "sum(last)"),
        ),
        lost="forward layers", hint="for each sequence and step two states",
    ),
    read("steps before batch", "torch.cat(states, dim=-1)", "torch.cat(states, dim=-1).mT", "*"),
    read("cell called with x and state exchanged", "cell(memory[:, t], hidden)",
         "cell(hidden, memory[:, t])", "forward", "a cell was called with"),
)  # fmt: skip


def decoder(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the decoder: one piece of it that is something else."""
    return mistake(what, "Decoder", ((old, new),), lost=lost, hint=hint)


WRITTEN = "torch.cat([self.embedding(tokens), context], dim=-1)"
SCORED = "self.output(torch.cat([state, written], dim=-1))"
STEP = "after, state = self.step(tokens, state, context)"

DECODER_MISTAKES = (
    decoder("a plain cell in place of the gated one", "self.cell = GRUCell(",
            "self.cell = RNNCell(", "start", "self.cell = GRUCell("),
    decoder("bridge without tanh", "torch.tanh(self.bridge(context))", "self.bridge(context)",
            "start", "tanh is missing"),
    decoder("embedding with padding", "self.embedding = nn.Embedding(vocab_size, d_embedding)",
            "self.embedding = nn.Embedding(vocab_size, d_embedding, padding_idx=0)", "start",
            "id 0 is a token like any other"),
    decoder("the first state squeezed", "torch.tanh(self.bridge(context))",
            "torch.tanh(self.bridge(context)).squeeze()", "start", "squeeze() takes all"),
    decoder("bridge with a sigmoid", "torch.tanh(self.bridge(context))",
            "torch.sigmoid(self.bridge(context))", "start", "this is the sigmoid"),
    decoder("starts from zeros", "torch.tanh(self.bridge(context))",
            "torch.zeros_like(self.bridge(context))", "start forward"),
    decoder("starts from the context itself", "torch.tanh(self.bridge(context))", "context",
            "start forward"),
    decoder("output reads the state alone",
            "self.output = nn.Linear(d_hidden + d_embedding + d_memory, vocab_size)",
            "self.output = nn.Linear(d_hidden, vocab_size)", "*"),
    decoder("cell in the other order", WRITTEN,
            "torch.cat([context, self.embedding(tokens)], dim=-1)", "step",
            "the context comes after the embedding"),
    decoder("output in another order", SCORED, "self.output(torch.cat([written, state], dim=-1))",
            "step", "the order is state"),
    mistake(
        "output of the old state", "Decoder",
        (
            ("state = self.cell(written, state)", "new = self.cell(written, state)"),
            (f"return {SCORED}, state", f"return {SCORED}, new"),
        ),
        lost="step", hint="the output layer reads the old state",
    ),
    mistake(
        "the old state returned", "Decoder",
        (
            ("state = self.cell(written, state)", "new = self.cell(written, state)"),
            (SCORED, "self.output(torch.cat([new, written], dim=-1))"),
        ),
        lost="step", hint="this is the state before the step",
    ),
    decoder("the first state at each step", "self.cell(written, state)",
            "self.cell(written, self.start(context))", "step", "this is the first state"),
    decoder("probabilities for logits", f"return {SCORED}, state",
            f"return {SCORED}.softmax(-1), state", "step", "these are probabilities"),
    decoder("log-probabilities for logits", f"return {SCORED}, state",
            f"return {SCORED}.log_softmax(-1), state", "step", "these are log-probabilities"),
    mistake(
        "reads its own guesses from the start", "Decoder",
        (
            ("for tokens in tgt.unbind(dim=1):", "tokens = tgt[:, 0]\n        for _ in tgt[0]:"),
            ("logits.append(after)", "logits.append(after)\n            tokens = after.argmax(-1)"),
        ),
        lost="forward", hint="each step reads its own guess",
    ),
    decoder("reads its own guesses in evaluation", STEP,
            "tokens = tokens if self.training or not logits else after.argmax(-1)\n"
            f"            {STEP}", "forward", "each step reads its own guess"),
    decoder("the state is not handed on", STEP, "after, _ = self.step(tokens, state, context)",
            "forward", "each step starts from the first state"),
    decoder("zeros for a first state in forward", "state = self.start(context)",
            "state = torch.zeros_like(self.start(context))", "forward"),
    decoder("reads the start token each time", STEP,
            "after, state = self.step(tgt[:, 0], state, context)", "forward",
            "each step reads the start token"),
    decoder("from the last token to the first", "tgt.unbind(dim=1)", "tgt.flip(1).unbind(dim=1)",
            "forward"),
    decoder("detached at each step", STEP,
            "after, state = self.step(tokens, state.detach(), context)", "forward",
            "cuts backpropagation through time"),
    decoder("the bridge reads a detached context", "torch.tanh(self.bridge(context))",
            "torch.tanh(self.bridge(context.detach()))", "start",
            "the encoder learns from the decoder"),
    decoder("a step reads a detached context", WRITTEN,
            "torch.cat([self.embedding(tokens), context.detach()], dim=-1)", "step",
            "the encoder learns from every step"),
    decoder("a step cuts off the embedding", WRITTEN,
            "torch.cat([self.embedding(tokens).detach(), context], dim=-1)", "step",
            "no gradient flows back to embedding.weight"),
    decoder("a step cuts off the output layer", SCORED,
            "F.linear(torch.cat([state, written], dim=-1), self.output.weight.detach(), "
            "self.output.bias)", "step", "no gradient flows back to output.weight"),
    decoder("forward cuts off what it reads", STEP,
            "written = torch.cat([self.embedding(tokens).detach(), context], dim=-1)\n"
            "            state = self.cell(written, state)\n"
            "            after = self.output(torch.cat([state, written], dim=-1))", "forward",
            "no gradient flows back to embedding.weight"),
    decoder("a step writes into the state that it is given", "state = self.cell(written, state)",
            "old, state = state, self.cell(written, state)\n"
            "        old.data.mul_(1 if old.requires_grad else 0)", "step",
            "argument 2 changed in place"),
    decoder("the batch squeezed", f"return {SCORED}, state", f"return {SCORED}.squeeze(), state",
            "step", "what comes of a batch of one"),
    decoder("starts from a detached context", "state = self.start(context)",
            "state = self.start(context.detach())", "forward",
            "hand on the context as it is"),
    decoder("hands its steps a detached context", STEP,
            "after, state = self.step(tokens, state, context.detach())", "forward",
            "hand on the context as it is"),
    decoder("the last step only", "torch.stack(logits, dim=1)", "logits[-1]", "forward"),
    decoder("steps before batch", "torch.stack(logits, dim=1)", "torch.stack(logits)", "forward"),
    *(
        decoder(f"logits without dimension {dim} where its size is 1",
                "torch.stack(logits, dim=1)", f"torch.stack(logits, dim=1).squeeze({dim})",
                "forward", "as does a batch of one: squeeze() takes both")
        for dim in (0, 1)
    ),
    decoder("the context changed in place", "torch.tanh(self.bridge(context))",
            "torch.tanh(self.bridge(context.tanh_()))", "start forward",
            "argument 1 changed in place"),
    decoder("step returns the logits alone", f"return {SCORED}, state", f"return {SCORED}",
            "step forward", "the result should be a pair"),
    decoder("the state first", f"return {SCORED}, state", f"return state, {SCORED}",
            "step forward", "step returns the logits first"),
    decoder("logits with a dimension more", f"return {SCORED}, state",
            f"return {SCORED}[:, None], state", "step forward"),
    decoder("the last token left out", "tgt.unbind(dim=1)", "tgt[:, :-1].unbind(dim=1)", "forward"),
)  # fmt: skip


def greedy(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in greedy search: one piece of it that is something else."""
    return mistake(what, "greedy_search", ((old, new),), lost=lost, hint=hint)


PICK = "logits[0].log_softmax(dim=-1).max(dim=-1)"
ADD = "total += float(log_probability)"

GREEDY_MISTAKES = (
    greedy("nothing where the start token is the end token", " and written[-1:] != [eos_id]",
           " and [bos_id, *written][-1] != eos_id", "tokens", "one token for both ends"),
    greedy("end token left out", "return written, total",
           "return [t for t in written if t != eos_id], total", "tokens"),
    greedy("a tuple of tokens", "return written, total", "return tuple(written), total", "tokens",
           "list() makes one of a tuple"),
    greedy("start token written", "return written, total", "return [bos_id, *written], total",
           "tokens"),
    greedy("goes on after the end", " and written[-1:] != [eos_id]", "", "tokens score"),
    greedy("no limit", "len(written) < max_new_tokens and ", "", "tokens score"),
    greedy("one token too many", "len(written) < max_new_tokens",
           "len(written) <= max_new_tokens", "tokens score"),
    greedy("the least probable", PICK, "logits[0].log_softmax(dim=-1).min(dim=-1)",
           "tokens score"),
    greedy("the end token is always 1", "!= [eos_id]", "!= [1]", "tokens",
           "stop at eos_id, whatever number it is"),
    greedy("the start token is always the notebook's", "[[bos_id, *written]]", "[[BOS, *written]]",
           "tokens", "does not begin with bos_id"),
    greedy("no error for no tokens", "    if max_new_tokens < 1:\n        raise ValueError("
           'f"max_new_tokens must be at least 1, got {max_new_tokens}")\n', "", "tokens",
           "raise ValueError"),
    greedy("fewer than no tokens", "if max_new_tokens < 1:", "if max_new_tokens == 0:", "tokens",
           "raise ValueError"),
    greedy("the model gets the last token alone", "[[bos_id, *written]]",
           "[[bos_id, *written][-1:]]", "tokens score", "does not begin with bos_id"),
    greedy("the model gets no start token", "[[bos_id, *written]]", "[written or [bos_id]]",
           "tokens score", "does not begin with bos_id"),
    greedy("the model gets a flat list", "torch.tensor([[bos_id, *written]])",
           "torch.tensor([bos_id, *written])", "*", "not int64 of shape (n, len)"),
    greedy("logits added up", PICK, "logits[0].max(dim=-1)", "score"),
    greedy("probabilities added up", ADD, "total += float(log_probability.exp())", "score"),
    greedy("the probability", "return written, total", "return written, math.exp(total)", "score",
           "this is the probability"),
    greedy("the mean", "return written, total", "return written, total / len(written)", "score",
           "this is the mean"),
    greedy("the last term alone", ADD, "total = float(log_probability)", "score",
           "only the last token counts"),
    greedy("bits for nats", ADD, "total += float(log_probability) / math.log(2)", "score"),
    greedy("positive", ADD, "total -= float(log_probability)", "score"),
    mistake(
        "probabilities multiplied", "greedy_search",
        (
            ("total = 0.0", "total = 1.0"),
            ("total += float(log_probability)", "total *= float(log_probability.exp())"),
            ("return written, total", "return written, math.log(total)"),
        ),
        lost="score", hint="a product of so many probabilities",
    ),
    greedy("one token too few", "len(written) < max_new_tokens",
           "len(written) < max_new_tokens - 1", "tokens", "and no more"),
    greedy("tokens are tensors", "written.append(int(token))", "written.append(token)", "tokens",
           "make numbers of tensors"),
    greedy("all tokens in one tensor", "return written, total",
           "return torch.tensor(written), total", "tokens", "make numbers of tensors"),
    greedy("the score is a tensor", "return written, total", "return written, torch.tensor(total)",
           "score", "make numbers of tensors"),
    greedy("the score is NaN", "return written, total", "return written, math.nan", "score",
           "where none belongs"),
    greedy("probabilities for tokens", "written.append(int(token))",
           "written.append(float(log_probability))", "tokens score"),
    greedy("a token far out of the vocabulary", "return written, total",
           "return [400_000_000] * len(written), total", "tokens score",
           "a token is its place in a row of logits"),
    greedy("the tokens alone", "return written, total", "return written", "tokens score",
           "return tokens, log-probability"),
    greedy("the end does not count", ADD,
           "total += float(log_probability) if token != eos_id else 0.0", "score",
           "the end token counts too"),
)  # fmt: skip


def beam(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in beam search: one piece of it that is something else."""
    return mistake(what, "beam_search", ((old, new),), lost=lost, hint=hint)


COUNTING = "candidates[:beam_size]"
IN_PLAY = "[c for c in candidates if c[1][-1] != eos_id][:beam_size]"
STOP = f"""{IN_PLAY}
        best_left = in_play[0][0] / max_new_tokens**alpha
        if len(results) >= beam_size and sorted(results)[-beam_size][0] >= best_left:
            break"""
RETURN = "[(tokens, score) for score, tokens in results[:beam_size]]"

BEAM_MISTAKES = (
    beam("tuples of tokens", "[(tokens, score) for", "[(tuple(tokens), score) for", "results",
         "list() makes one of a tuple"),
    beam("stops where nothing in play is better at its present length", IN_PLAY,
         f"""{IN_PLAY}
        worst = sorted(results, reverse=True)[beam_size - 1 : beam_size]
        if worst and candidates[0][0] / length**alpha < worst[0][0]:
            break""", "normalisation", "what is in play may still grow"),
    beam("scores before tokens", "(tokens, score) for score,", "(score, tokens) for score,",
         "results", "the tokens come first"),
    beam("a beam of one", IN_PLAY, "[c for c in candidates if c[1][-1] != eos_id][:1]",
         "best results pruning", "this is one path alone"),
    beam("nothing is dropped", IN_PLAY, "[c for c in candidates if c[1][-1] != eos_id]",
         "best results pruning"),
    beam("the best of each beginning", IN_PLAY,
         "[]\n        kept = {}\n        for c in candidates:\n"
         "            group = kept.setdefault(tuple(c[1][:-1]), [])\n"
         "            if c[1][-1] != eos_id and len(group) < beam_size:\n"
         "                group.append(c)\n                in_play.append(c)",
         "best results pruning"),
    beam("what is finished is extended", IN_PLAY, "candidates[:beam_size]", "best results"),
    beam("what is finished takes room", IN_PLAY,
         "[c for c in candidates[:beam_size] if c[1][-1] != eos_id]\n"
         "        if not in_play:\n            break", "results", "what is finished takes no room"),
    beam("the first that is finished takes no room", IN_PLAY,
         "[c for c in candidates[: beam_size + 1] if c[1][-1] != eos_id][:beam_size]",
         "results", "what is finished takes no room"),
    beam("stops where all of the best end", IN_PLAY,
         f"{IN_PLAY}\n        if all(c[1][-1] == eos_id for c in {COUNTING}):\n            break",
         "normalisation", "shows here: where the best two end"),
    beam("stops when the beam is full of results", IN_PLAY,
         f"{IN_PLAY}\n        if len(results) >= beam_size:\n            break",
         "results", "the search stopped too soon"),
    beam("stops when nothing can beat the best", IN_PLAY,
         f"{IN_PLAY}\n        best_left = in_play[0][0] / max_new_tokens**alpha\n"
         "        if results and max(results)[0] >= best_left:\n            break", "results",
         "the search stopped too soon"),
    right("stops where nothing in play can win", {"beam_search": ((IN_PLAY, STOP),)}),
    beam("stops by the length so far", IN_PLAY, STOP.replace("max_new_tokens**", "length**"),
         "normalisation", "what is in play may still grow"),
    beam("stops by the bare log-probability", IN_PLAY,
         STOP.replace(" / max_new_tokens**alpha", ""), "normalisation",
         "what is in play may still grow"),
    mistake(
        "the end token is always 1 in the beam", "beam_search",
        (("tokens[-1] == eos_id", "tokens[-1] == 1"), ("c[1][-1] != eos_id", "c[1][-1] != 1")),
        lost="best", hint="a sequence ends with eos_id, whatever number it is",
    ),
    beam("the start token is always the notebook's", "[[bos_id, *written]", "[[BOS, *written]",
         "best", "does not begin with bos_id"),
    beam("every ending counts", f"for total, tokens in {COUNTING}:",
         "for total, tokens in candidates:", "results", "only if it is among the best beam_size"),
    beam("nothing unfinished at the limit", "tokens[-1] == eos_id or length == max_new_tokens",
         "tokens[-1] == eos_id", "results pruning"),
    beam("unfinished ones only where fewer than beam_size have ended",
         "tokens[-1] == eos_id or length == max_new_tokens",
         "tokens[-1] == eos_id or length == max_new_tokens and len(results) < beam_size",
         "results", "whatever has ended before"),
    mistake(
        "unfinished ones only where fewer have ended, added at the end", "beam_search",
        (
            ("tokens[-1] == eos_id or length == max_new_tokens", "tokens[-1] == eos_id"),
            ("    results.sort(reverse=True)",
             "    if len(results) < beam_size:\n"
             "        results += [(total / max_new_tokens**alpha, x) for total, x in in_play]\n"
             "    results.sort(reverse=True)"),
        ),
        lost="results", hint="whatever has ended before",
    ),
    beam("nothing finished before the limit", "tokens[-1] == eos_id or length == max_new_tokens",
         "length == max_new_tokens", "best results"),
    beam("worst first", "results.sort(reverse=True)", "results.sort()",
         "results", "sort them by their scores, best first"),
    beam("unsorted results", "    results.sort(reverse=True)\n", "", "results",
         "sort them by their scores, best first"),
    beam("one result only", RETURN, "[(tokens, score) for score, tokens in results[:1]]",
         "results pruning"),
    beam("too many results", RETURN, "[(tokens, score) for score, tokens in results]",
         "results"),
    beam("start token written", RETURN,
         "[([bos_id, *tokens], score) for score, tokens in results[:beam_size]]", "best"),
    beam("end token left out", RETURN,
         "[([t for t in tokens if t != eos_id], score) for score, tokens in results[:beam_size]]",
         "best"),
    beam("logits added up", ".log_softmax(dim=-1)", "", "normalisation",
         "these are sums of logits"),
    beam("probabilities added up", ".log_softmax(dim=-1)", ".softmax(dim=-1)",
         "normalisation"),
    beam("not normalised", "total / length**alpha", "total", "normalisation",
         "these are log-probabilities"),
    beam("divided by the length", "total / length**alpha", "total / length",
         "normalisation", "raise it to the power alpha"),
    beam("multiplied by the length", "total / length**alpha", "total * length**alpha",
         "normalisation"),
    beam("divided by the limit", "total / length**alpha", "total / max_new_tokens**alpha",
         "normalisation"),
    beam("the start token counts", "total / length**alpha", "total / (length + 1) ** alpha",
         "normalisation"),
    beam("the end does not count", "total / length**alpha",
         "total / max(length - (tokens[-1] == eos_id), 1) ** alpha", "normalisation"),
    beam("ranked before it is normalised", "return [(tokens, score) for score",
         "results.sort(key=lambda r: r[0] * len(r[1]) ** alpha, reverse=True)\n"
         "    return [(tokens, score) for score", "normalisation", "not ranked by their scores"),
    beam("the logarithm of softmax", ".log_softmax(dim=-1)", ".softmax(dim=-1).log()",
         "normalisation", "log_softmax never takes exp alone"),
    beam("tokens are tensors", RETURN,
         "[([*map(torch.tensor, tokens)], score) for score, tokens in results[:beam_size]]",
         "results", "make numbers of tensors"),
    beam("scores are tensors", RETURN,
         "[(tokens, torch.tensor(score)) for score, tokens in results[:beam_size]]",
         "results", "make numbers of tensors"),
    beam("tokens counted over all rows", "for token, term in enumerate(terms)",
         "for token, term in enumerate(terms, start=len(terms) * in_play.index((total, written)))",
         "*", "a token is its place in a row of logits"),
    beam("tokens far out of the vocabulary", RETURN,
         "[([400_000_000], score) for score, tokens in results[:beam_size]]", "*",
         "a token is its place in a row of logits"),
    beam("tokens are floats", RETURN,
         "[([*map(float, tokens)], score) for score, tokens in results[:beam_size]]", "*",
         "a token is no int"),
    beam("scores are NaN", RETURN,
         "[(tokens, math.nan) for score, tokens in results[:beam_size]]", "normalisation",
         "where none belongs"),
    beam("one step too few", "range(1, max_new_tokens + 1)", "range(1, max_new_tokens)",
         "best results pruning normalisation"),
    beam("the model gets no start token", "[bos_id, *written]", "(written or [bos_id])", "*",
         "does not begin with bos_id"),
)  # fmt: skip


def diagnosis(what: str, old: str, new: str, lost: str, hint: str = "") -> Submission:
    """Name a mistake in the diagnosis: one piece of it that is something else."""
    return mistake(what, "diagnose", ((old, new),), lost=lost, hint=hint)


TERM = "float(next_logits(sequence[:, :t])[0].log_softmax(dim=-1)[token])"
VERDICT = '"search" if reference_score > output_score else "model"'

DIAGNOSIS_MISTAKES = (
    diagnosis("search and model exchanged", VERDICT,
              '"model" if reference_score > output_score else "search"', "verdict",
              "'model' is wrong here: the model likes the reference better"),
    diagnosis("a tie blames the search", VERDICT,
              '"search" if reference_score >= output_score else "model"', "verdict",
              "equal scores"),
    diagnosis("never nothing", "if output == reference:", "if False:", "verdict",
              "'model' is wrong here: the output is the reference"),
    diagnosis("nothing where lengths agree", "if output == reference:",
              "if len(output) == len(reference):", "verdict"),
    diagnosis("compared by length", VERDICT,
              '"search" if len(reference) < len(output) else "model"', "verdict"),
    diagnosis("verdict in capitals", "return fault,", "return fault.upper(),", "verdict"),
    diagnosis("scores exchanged", "return fault, output_score, reference_score",
              "return fault, reference_score, output_score", "scores",
              "the two scores have changed places"),
    diagnosis("scores taken for each other", "output_score, reference_score = scores",
              "reference_score, output_score = scores", "scores",
              "the two scores have changed places"),
    diagnosis("the start token is always the notebook's", "[[bos_id, *tokens]]",
              "[[BOS, *tokens]]", "scores", "does not begin with bos_id"),
    diagnosis("no scores where nothing is at fault", "    scores = []\n",
              "    if output == reference:\n        return 'none', 0.0, 0.0\n    scores = []\n",
              "scores", "both scores come beside the verdict, whichever it is"),
    diagnosis("logits added up", TERM, "float(next_logits(sequence[:, :t])[0][token])",
              "scores", "these are sums of logits"),
    diagnosis("the logarithm of softmax", TERM,
              "float(next_logits(sequence[:, :t])[0].softmax(dim=-1)[token].log())",
              "scores", "log_softmax never takes exp alone"),
    diagnosis("start token put into the lists", "sequence = torch.tensor([[bos_id, *tokens]])",
              "tokens.insert(0, bos_id)\n        sequence = torch.tensor([tokens])\n"
              "        tokens = tokens[1:]", "scores", "bos_id goes in front of a copy"),
    diagnosis("the verdict alone", "return fault, output_score, reference_score", "return fault",
              "*", "return verdict, output_score, reference_score"),
    diagnosis("not normalised", " / len(tokens) ** alpha", "", "scores",
              "not divided by length ** alpha"),
    diagnosis("always divided by the length", "len(tokens) ** alpha", "len(tokens)",
              "scores"),
    diagnosis("the start token counts in the length", "len(tokens) ** alpha",
              "(len(tokens) + 1) ** alpha", "scores"),
    diagnosis("the first token left out", "enumerate(tokens, start=1):",
              "list(enumerate(tokens, start=1))[1:]:", "scores"),
    diagnosis("the last token left out", "enumerate(tokens, start=1):",
              "list(enumerate(tokens, start=1))[:-1]:", "scores"),
    diagnosis("the token is told beforehand", "sequence[:, :t]", "sequence[:, : t + 1]",
              "scores"),
    diagnosis("the model gets the last token alone", "sequence[:, :t]", "sequence[:, t - 1 : t]",
              "*", "does not begin with bos_id"),
    diagnosis("all scores alike", "output_score, reference_score = scores",
              "output_score, reference_score = 0.0, 0.0", "scores verdict",
              "your scores always say 'model'"),
    diagnosis("the score is the last term", "total += float", "total = float", "scores"),
)  # fmt: skip

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, functional", edits={**FUNCTIONAL, "wider-beam": ANSWER}),
    Submission(student="bela", what="right, with loops", edits={**LOOPS, "wider-beam": ANSWER}),
    Submission(student="chidi", what="right, preallocated", edits=PREALLOCATED),
    Submission(
        student="dana",
        what="update gate the other way round",
        edits={"GRUCell": ((STATE, "update * candidate + (1 - update) * hidden"),)},
        lost={"GRUCell": "update"},
        hint="z and 1 - z have changed places",
    ),
    Submission(
        student="emil",
        what="the state runs on through the padding",
        edits={"read_both_ways": ((KEEP, "cell(memory[:, t], hidden)"),)},
        lost={"read_both_ways": "padding"},
    ),
    Submission(
        student="fatima",
        what="reads its own guesses",
        edits={
            "Decoder": (
                (
                    "for tokens in tgt.unbind(dim=1):",
                    "tokens = tgt[:, 0]\n        for _ in tgt[0]:",
                ),
                (
                    "logits.append(after)",
                    "logits.append(after)\n            tokens = after.argmax(-1)",
                ),
            )
        },
        lost={"Decoder": "forward"},
        hint="each step reads its own guess",
    ),
    Submission(
        student="goran",
        what="not normalised, and the wrong one to blame",
        edits={
            "beam_search": (("total / length**alpha", "total"),),
            "diagnose": ((VERDICT, '"model" if reference_score > output_score else "search"'),),
        },
        lost={"beam_search": "normalisation", "diagnose": "verdict"},
        hint="these are log-probabilities; divide them by length ** alpha",
    ),
    Submission(
        student="hana",
        what="half done: the searches not begun",
        edits=dict.fromkeys(("greedy_search", "beam_search", "diagnose"), BLANK),
        lost=dict.fromkeys(("greedy_search", "beam_search", "diagnose"), "*"),
    ),
    Submission(
        student="ivo",
        what="half done: no cells, and so no decoder",
        edits={"RNNCell": BLANK, "GRUCell": BLANK},
        lost={"RNNCell": "*", "GRUCell": "*"},
    ),
    Submission(
        student="jun",
        what="a search that never ends",
        edits={
            "greedy_search": "def greedy_search(next_logits, *, bos_id, eos_id, max_new_tokens):"
            + ENDLESS_LOOP
        },
        lost={"greedy_search": "*"},
        status=Status.TIMEOUT,
    ),
    Submission(
        student="kofi",
        what="os._exit",
        edits={"diagnose": "def diagnose(*args, **kwargs):\n    os._exit(0)\n"},
        lost={"diagnose": "*"},
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
    *RNN_MISTAKES,
    *GRU_MISTAKES,
    *READ_MISTAKES,
    *DECODER_MISTAKES,
    *GREEDY_MISTAKES,
    *BEAM_MISTAKES,
    *DIAGNOSIS_MISTAKES,
)

DELIGHT = "1984  ->  MCMLXXXIV"

EQUIVALENT = {
    "+    is_real = torch.arange(x.size(1)) <": "where it is made shows on a GPU alone",
    "zip(pair, (False, True)):": "a pair is two",
    "zip(pair, (False, True), strict=False)": "likewise",
    "zip(in_play, steps) for": "as many rows as were asked for",
    "zip(in_play, steps, strict=False)": "likewise",
    "masked_fill_(": "in place, but in a memory that nothing else holds yet",
    "chunk(3, dim=--1)": "the last of two dimensions",
    "torch.cat(last, dim=--1)": "likewise",
    "context], dim=--1)": "likewise",
    "written], dim=--1)": "likewise",
    "next_logits(beginnings).log_softmax(dim=--1)": "likewise",
    "max(dim=-0)": "the last of one dimension",
    "logits[0].log_softmax(dim=-0)": "likewise",
    "[0].log_softmax(dim=-0)[token]": "likewise",
    "logits[-1].log_softmax": "the last of one row",
    "next_logits(sequence[:, :t])[-1]": "likewise",
}
