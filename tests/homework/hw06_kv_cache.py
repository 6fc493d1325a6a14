"""The submissions of hw06: a class of every kind, and a table of mistakes.

Twenty-one points are to be had from tests, three from the written question. Every check is worth
one point, so a score is twenty-one less the checks that are lost.
"""

from autograder.judging.results import Status

from .hostile import ALWAYS_RIGHT, PATCHED_SHELL
from .submissions import BLANK, Edit, Submission, mistake, right

EXERCISES = (
    "GrowingCache", "FixedCache", "CachedAttention", "TextModel", "keep_top_k", "keep_top_p",
    "sample", "kv_cache_bytes",
)  # fmt: skip
NOTHING_WRITTEN: dict[str, Edit] = dict.fromkeys(EXERCISES, BLANK)
EVERYTHING = dict.fromkeys(EXERCISES, "*")

ANSWER = """\
### How many readers fit?

1. 2 * 32 * 4096 * 2 = 524,288 bytes a token; 4.3 GB for 8192 tokens.
2. See the plot above: 32 texts reach 80 GB at about 3,900 tokens.
3. Four times fewer heads of keys and values (some quality), or four bits a number (rounding).
"""

SAMPLE_HEAD = """
@torch.no_grad()
def sample(
    model, prompt, *, eos_id, max_new_tokens, generator, temperature=1.0, top_k=None, top_p=None
):
"""
SAMPLE_REFUSALS = """
    if prompt.dim() != 2 or prompt.numel() == 0:
        raise ValueError("no prompt")
    if max_new_tokens < 1 or temperature <= 0 or math.isinf(temperature):
        raise ValueError("out of range")
"""

# ---- right, in three styles ---------------------------------------------------------------------

LOOPS: dict[str, Edit] = {
    "GrowingCache": '''
class GrowingCache:
    """Keys and values in two buffers, row after row."""

    def __init__(self, capacity=64):
        if capacity <= 0:
            raise ValueError("capacity")
        self.start_capacity = capacity
        self.final = None
        self.reset()

    def reset(self):
        self.key_buffer = None
        self.value_buffer = None
        self.length = 0

    def check(self, buffer, new, like):
        if new.requires_grad:
            raise ValueError("no gradients here")
        if new.shape != like.shape:
            raise ValueError("keys and values differ")
        if buffer is None:
            return
        same = buffer.shape[0] == new.shape[0] and buffer.shape[1] == new.shape[1]
        same = same and buffer.shape[3] == new.shape[3] and buffer.dtype == new.dtype
        if not same:
            raise ValueError(f"{tuple(new.shape)} does not fit")

    def grow(self, buffer, needed):
        batch, heads, room, width = buffer.shape
        while room < needed:
            room = room * 2
        bigger = torch.zeros(batch, heads, room, width, dtype=buffer.dtype, device=buffer.device)
        for position in range(self.length):
            bigger[:, :, position] = buffer[:, :, position]
        return bigger

    def update(self, keys, values):
        self.check(self.key_buffer, keys, values)
        self.check(self.value_buffer, values, keys)
        if self.key_buffer is None:
            empty = keys[:, :, :0]
            room = max(self.start_capacity, keys.shape[2])
            self.key_buffer = empty.new_zeros(*keys.shape[:2], room, keys.shape[3])
            self.value_buffer = torch.zeros_like(self.key_buffer)
        needed = self.length + keys.shape[2]
        if needed > self.key_buffer.shape[2]:
            self.key_buffer = self.grow(self.key_buffer, needed)
            self.value_buffer = self.grow(self.value_buffer, needed)
        for i in range(keys.shape[2]):
            self.key_buffer[:, :, self.length + i] = keys[:, :, i]
            self.value_buffer[:, :, self.length + i] = values[:, :, i]
        self.length = needed
        return self.key_buffer[:, :, :needed], self.value_buffer[:, :, :needed]

    def reorder(self, indices):
        if self.length > 0:
            self.key_buffer = torch.stack([self.key_buffer[i] for i in indices.tolist()])
            self.value_buffer = torch.stack([self.value_buffer[i] for i in indices.tolist()])

    @property
    def num_bytes(self):
        if self.key_buffer is None:
            return 0
        return 2 * self.key_buffer.numel() * self.key_buffer.element_size()
''',
    "FixedCache": '''
class FixedCache:
    """Plain attributes."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.final = None
        self.length = 0
        self.num_bytes = 0

    def update(self, keys, values):
        if self.final is not None:
            raise ValueError("filled already")
        self.hold(keys, values)
        return keys, values

    def hold(self, keys, values):
        self.final = (keys, values)
        self.length = keys.shape[2]
        self.num_bytes = sum(t.numel() * t.element_size() for t in self.final)

    def reorder(self, indices):
        if self.final is not None:
            self.hold(self.final[0][indices], self.final[1][indices])
''',
    "CachedAttention": '''
class CachedAttention(MultiHeadAttention):
    """The formula written out, head by head."""

    def __init__(self, d_model, num_heads, *, bias=True, rotary=None):
        super().__init__(d_model, num_heads, bias=bias)
        self.rotary = rotary

    def cut(self, x, projection, turn=False, offset=0):
        heads = torch.stack(projection(x).chunk(self.num_heads, dim=-1), dim=1)
        return self.rotary(heads, offset=offset) if turn and self.rotary else heads

    def forward(self, query, key, value, mask=None, *, return_weights=False, cache=None):
        if mask is not None and mask.dtype != torch.bool:
            raise TypeError("boolean masks only")
        past = cache.length if cache is not None else 0
        q = self.cut(query, self.query_projection, True, past)
        final = cache.final if cache is not None else None
        if final is not None and self.rotary:
            raise ValueError("no positions across texts")
        if final is not None:
            k, v = final
        else:
            k = self.cut(key, self.key_projection, True, past)
            v = self.cut(value, self.value_projection)
            if cache is not None:
                k, v = cache.update(k, v)
        outputs, all_weights = [], []
        for head in range(self.num_heads):
            scores = q[:, head] @ k[:, head].mT / math.sqrt(q.shape[-1])
            if mask is not None:
                of_head = mask.expand(q.shape[0], self.num_heads, q.shape[2], k.shape[2])[:, head]
                scores = scores.masked_fill(~of_head, -math.inf)
            weights = scores.softmax(-1).nan_to_num(0.0)
            outputs.append(weights @ v[:, head])
            all_weights.append(weights)
        output = self.output_projection(torch.cat(outputs, dim=-1))
        return (output, torch.stack(all_weights, dim=1)) if return_weights else output
''',
    "keep_top_k": '''
def keep_top_k(logits, k):
    """Row by row."""
    if k <= 0:
        raise ValueError("k")
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        values = sorted(row.tolist(), reverse=True)
        last = values[min(k, len(values)) - 1]
        rows.append([x if x >= last else float("-inf") for x in row.tolist()])
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device).reshape(logits.shape)
''',
    "keep_top_p": '''
def keep_top_p(logits, p):
    """Add up from the top, row by row."""
    if p <= 0 or p > 1:
        raise ValueError("p")
    result = torch.full_like(logits, float("-inf"))
    flat, kept = logits.reshape(-1, logits.shape[-1]), result.view(-1, logits.shape[-1])
    for row, out_row in zip(flat, kept):
        probabilities = row.softmax(-1).tolist()
        total = 0.0
        for i in sorted(range(len(probabilities)), key=lambda i: -probabilities[i]):
            if total >= p and p < 1:
                break
            out_row[i] = row[i]
            total += probabilities[i]
    return result
''',
    "sample": SAMPLE_HEAD
    + SAMPLE_REFUSALS
    + """
    written, logs = [[] for _ in prompt], [[] for _ in prompt]
    ended = [False for _ in prompt]
    following = prompt
    for _ in range(max_new_tokens):
        logits = model.advance(following)
        scores = logits / temperature
        scores = scores if top_k is None else keep_top_k(scores, top_k)
        scores = scores if top_p is None else keep_top_p(scores, top_p)
        following = torch.multinomial(torch.softmax(scores, -1), 1, generator=generator)
        own = torch.log_softmax(logits, -1)
        for row, (token,) in enumerate(following.tolist()):
            if not ended[row]:
                written[row].append(token)
                logs[row].append(own[row, token].item())
                ended[row] = token == eos_id
        if all(ended):
            break
    return [
        Hypothesis(tokens=tuple(w), log_probability=sum(p), score=sum(p), finished=e)
        for w, p, e in zip(written, logs, ended)
    ]
""",
    "kv_cache_bytes": '''
def kv_cache_bytes(batch, length, num_layers, d_model, *, bytes_per_number=4):
    """Add up, layer by layer."""
    total = 0
    for _ in range(num_layers):
        keys = batch * length * d_model
        values = batch * length * d_model
        total += keys + values
    return total * bytes_per_number
''',
}

TEXT_MODEL = (
    "        length = token_ids.size(1)\n"
    "        past = 0 if caches is None else caches[0].length\n"
    "        x = self.positions(self.embedding(token_ids), offset=past)  # (batch, length, "
    "d_model)\n"
    "        mask = causal_mask(length, past + length, device=x.device)\n"
    "        for number, layer in enumerate(self.layers):\n"
    "            x = layer(x, mask, cache=None if caches is None else caches[number])\n"
)
LOOPS["TextModel"] = (
    ("return [GrowingCache() for _ in self.layers]",
     "caches = []\n        while len(caches) < len(self.layers):\n"
     "            caches.append(GrowingCache(capacity=16))\n        return caches"),
    (TEXT_MODEL, """\
        if caches is None:
            caches, offset = [None] * len(self.layers), 0
        else:
            offset = caches[0].length
        n = token_ids.shape[1]
        x = self.positions(self.embedding(token_ids), offset=offset)
        rows = [[j <= offset + i for j in range(offset + n)] for i in range(n)]
        mask = torch.tensor([[rows]], device=token_ids.device)
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask, cache=caches[i])
"""),
)  # fmt: skip

STACKED: dict[str, Edit] = {
    "GrowingCache": '''
class GrowingCache:
    """Keys and values in one buffer: (2, batch, num_heads, capacity, head_dim)."""

    def __init__(self, *, capacity: int = 64) -> None:
        if capacity < 1:
            raise ValueError(f"capacity={capacity}")
        self.length, self.final, self._room, self._both = 0, None, capacity, None

    def update(self, keys, values):
        for tensor in (keys, values):
            if tensor.requires_grad:
                raise ValueError("gradients")
            if self._both is not None:
                held = self._both
                fits = (tensor.size(0), tensor.size(1), tensor.size(3)) == (
                    held.size(1), held.size(2), held.size(4)
                )
                if not fits or tensor.dtype is not held.dtype:
                    raise ValueError("shape or dtype")
        if keys.shape != values.shape:
            raise ValueError("keys and values")
        new = torch.stack([keys, values])
        end = self.length + new.size(3)
        if self._both is None:
            self._both = new.new_empty(*new.shape[:3], max(self._room, end), new.size(4))
        elif end > self._both.size(3):
            spare = max(self._both.size(3), end - self._both.size(3))
            more = new.new_empty(*new.shape[:3], spare, new.size(4))
            self._both = torch.cat([self._both, more], dim=3)
        self._both[:, :, :, self.length : end] = new
        self.length = end
        return tuple(self._both[:, :, :, :end])

    def reorder(self, indices):
        self._both = None if self._both is None else self._both[:, indices]

    def reset(self):
        self.length, self._both = 0, None

    @property
    def num_bytes(self):
        return 0 if self._both is None else self._both.nbytes
''',
    "FixedCache": '''
class FixedCache:
    """An empty tuple holds nothing."""

    def __init__(self):
        self.held = ()

    @property
    def final(self):
        return self.held or None

    def update(self, *pair):
        if self.held:
            raise ValueError("once and for all")
        self.held = pair
        return pair

    def reorder(self, indices):
        self.held = tuple(tensor[indices] for tensor in self.held)

    def reset(self):
        self.held = ()

    @property
    def length(self):
        return self.held[0].shape[-2] if self.held else 0

    @property
    def num_bytes(self):
        return sum(tensor.nbytes for tensor in self.held)
''',
    "CachedAttention": '''
class CachedAttention(MultiHeadAttention):
    """With einsum, and without a word more than needed."""

    def __init__(self, d_model, num_heads, bias=True, rotary=None):
        super().__init__(d_model, num_heads, bias=bias)
        self.rotary = rotary

    def forward(self, query, key, value, mask=None, return_weights=False, cache=None):
        if cache is None and self.rotary is None:
            return super().forward(query, key, value, mask, return_weights=return_weights)
        past = 0 if cache is None else cache.length
        turn = (lambda x: x) if self.rotary is None else (lambda x: self.rotary(x, offset=past))
        split = lambda x: x.unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)
        q = turn(split(self.query_projection(query)))
        pair = getattr(cache, "final", None)
        if pair is None:
            pair = turn(split(self.key_projection(key))), split(self.value_projection(value))
            pair = pair if cache is None else cache.update(*pair)
        elif self.rotary is not None:
            raise ValueError("rotary")
        k, v = pair
        out, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
        out = self.output_projection(torch.einsum("bhqd->bqhd", out).flatten(2))
        return (out, weights) if return_weights else out
''',
    "TextModel": (
        (
            "return [GrowingCache() for _ in self.layers]",
            "return list(map(lambda _: GrowingCache(), self.layers))",
        ),
        (
            TEXT_MODEL,
            """\
        past = caches[0].length if caches else 0
        x = self.positions(self.embedding(token_ids), offset=past)
        n = token_ids.size(1)
        mask = None if n == 1 else causal_mask(n, past + n, device=token_ids.device)
        for layer, cache in zip(self.layers, caches or [None] * len(self.layers)):
            x = layer(x, mask, cache=cache)
""",
        ),
    ),
    "keep_top_k": '''
def keep_top_k(logits, k):
    """By sorting."""
    if not k >= 1:
        raise ValueError(k)
    k = min(k, logits.shape[-1])
    last = torch.sort(logits, dim=-1, descending=True).values[..., k - 1 : k]
    return torch.where(logits >= last, logits, float("-inf"))
''',
    "keep_top_p": '''
def keep_top_p(logits, p):
    """Scatter a mask back, and shift the sums by one."""
    if not 0 < p <= 1:
        raise ValueError(p)
    if p == 1:
        return logits.clone()
    sorted_logits, order = torch.sort(logits, descending=True, dim=-1)
    sums = torch.cumsum(torch.softmax(sorted_logits, dim=-1), dim=-1)
    remove = sums >= p
    remove = torch.cat([torch.zeros_like(remove[..., :1]), remove[..., :-1]], dim=-1)
    mask = torch.zeros_like(remove).scatter(-1, order, remove)
    return logits.masked_fill(mask, float("-inf"))
''',
    "sample": SAMPLE_HEAD
    + SAMPLE_REFUSALS
    + """
    def choose(logits):
        logits = logits / temperature
        if top_k:
            logits = keep_top_k(logits, top_k)
        elif top_k is not None:
            raise ValueError("top_k")
        if top_p is not None:
            logits = keep_top_p(logits, top_p)
        return torch.multinomial(logits.softmax(-1), 1, generator=generator)

    tokens = torch.empty(len(prompt), 0, dtype=torch.long, device=prompt.device)
    logs = torch.empty(len(prompt), 0, device=prompt.device)
    logits = model.advance(prompt)
    while True:
        token = choose(logits)
        tokens = torch.cat([tokens, token], dim=1)
        logs = torch.cat([logs, logits.log_softmax(-1).gather(1, token)], dim=1)
        ended = eos_id is not None and (tokens == eos_id).any(dim=1).all()
        if ended or tokens.size(1) == max_new_tokens:
            return cut_at_eos(tokens, logs, eos_id)
        logits = model.advance(token)
""",
    "kv_cache_bytes": '''
def kv_cache_bytes(batch, length, num_layers, d_model, *, bytes_per_number=4):
    """With math.prod."""
    return math.prod((2, batch, length, num_layers, d_model, bytes_per_number))
''',
}

INHERITED: dict[str, Edit] = {
    "GrowingCache": '''
class Room:
    """A buffer that grows by itself."""

    def __init__(self, capacity):
        self.capacity, self.data, self.used = capacity, None, 0

    def fits(self, new):
        if self.data is None:
            return True
        shape = lambda t: (t.shape[0], t.shape[1], t.shape[3], t.dtype)
        return shape(self.data) == shape(new)

    def append(self, new):
        if self.data is None:
            shape = list(new.shape)
            shape[2] = max(self.capacity, shape[2])
            self.data = torch.empty(shape, dtype=new.dtype, device=new.device)
        while self.used + new.shape[2] > self.data.shape[2]:
            self.data = torch.cat([self.data, torch.empty_like(self.data)], dim=2)
        self.data.narrow(2, self.used, new.shape[2]).copy_(new)
        self.used += new.shape[2]
        return self.data.narrow(2, 0, self.used)


class GrowingCache:
    """Two rooms."""

    def __init__(self, *, capacity=64):
        if not capacity > 0:
            raise ValueError("capacity must be positive")
        self.capacity, self.final = capacity, None
        self.rooms = [Room(capacity), Room(capacity)]

    @property
    def length(self):
        return self.rooms[0].used

    def update(self, *pair):
        if pair[0].shape != pair[1].shape:
            raise ValueError("one shape, please")
        if any(new.requires_grad for new in pair):
            raise ValueError("detach, or use no_grad")
        if not all(room.fits(new) for room, new in zip(self.rooms, pair)):
            raise ValueError("this does not fit")
        return tuple(room.append(new) for room, new in zip(self.rooms, pair))

    def reorder(self, indices):
        for room in self.rooms:
            if room.data is not None:
                room.data = room.data[indices]

    def reset(self):
        self.__init__(capacity=self.capacity)

    @property
    def num_bytes(self):
        return sum(room.data.nbytes for room in self.rooms if room.data is not None)
''',
    "FixedCache": '''
class FixedCache(GrowingCache):
    """A growing cache that does not grow."""

    def update(self, *pair):
        if self.final is not None:
            raise ValueError("full")
        self.capacity = 1
        self.reset()
        self.final = super().update(*pair)
        return self.final

    def reorder(self, indices):
        super().reorder(indices)
        if self.final is not None:
            self.final = tuple(room.data.narrow(2, 0, room.used) for room in self.rooms)
''',
    "CachedAttention": '''
class CachedAttention(MultiHeadAttention):
    """PyTorch's kernel where no weights are asked for."""

    def __init__(self, d_model, num_heads, *, bias=True, rotary=None):
        super().__init__(d_model, num_heads, bias=bias)
        self.rotary = rotary

    def new_pair(self, key, value, offset):
        k = self._split_heads(self.key_projection(key))
        v = self._split_heads(self.value_projection(value))
        return (k if self.rotary is None else self.rotary(k, offset=offset)), v

    def forward(self, query, key, value, mask=None, *, return_weights=False, cache=None):
        offset = cache.length if cache else 0
        q = self._split_heads(self.query_projection(query))
        if self.rotary is not None:
            q = self.rotary(q, offset=offset)
        if cache and cache.final:
            k, v = cache.final
            if self.rotary is not None:
                raise ValueError("rotary positions across texts")
        else:
            k, v = self.new_pair(key, value, offset)
            k, v = cache.update(k, v) if cache else (k, v)
        if return_weights:
            attended, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
            return self.output_projection(self._join_heads(attended)), weights
        attended = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.output_projection(self._join_heads(attended))
''',
    "TextModel": (
        (
            TEXT_MODEL,
            """\
        caches = [None] * len(self.layers) if caches is None else caches
        x = self.read(self.embedding(token_ids), caches)
""",
        ),
        (
            "    def new_caches(self)",
            """\
    def read(self, x, caches):
        start = 0 if caches[0] is None else caches[0].length
        stop = start + x.size(1)
        x = self.positions(x, offset=start)
        places = torch.arange(stop, device=x.device)
        mask = (places[None, :] <= places[start:, None])[None, None]
        for layer, cache in zip(self.layers, caches):
            x = layer(x, mask, cache=cache)
        return x

    def new_caches(self)""",
        ),
    ),
    "keep_top_k": '''
def keep_top_k(logits, k):
    """Count how many are larger."""
    if k < 1:
        raise ValueError("k")
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return logits.masked_fill(larger >= k, -math.inf)
''',
    "keep_top_p": '''
def keep_top_p(logits, p):
    """Find the smallest kept number of tokens, then the rank of each."""
    if not 0 < p <= 1:
        raise ValueError("p")
    if p == 1:
        return logits
    order = logits.argsort(dim=-1, descending=True)
    rank = order.argsort(dim=-1)
    sums = logits.softmax(-1).gather(-1, order).cumsum(-1)
    number = 1 + (sums < p).sum(-1, keepdim=True)
    return torch.where(rank < number, logits, torch.tensor(-math.inf, dtype=logits.dtype))
''',
    "sample": SAMPLE_HEAD
    + SAMPLE_REFUSALS
    + """
    steps = []
    logits = model.advance(prompt)
    alive = torch.ones(prompt.shape[0], dtype=torch.bool, device=prompt.device)
    while alive.any() and len(steps) < max_new_tokens:
        if steps:
            logits = model.advance(steps[-1][0])
        scores = logits / temperature
        for limit, keep in ((top_k, keep_top_k), (top_p, keep_top_p)):
            if limit is not None:
                scores = keep(scores, limit)
        probabilities = scores.exp() / scores.exp().sum(-1, keepdim=True)
        token = probabilities.multinomial(1, generator=generator)
        steps.append((token, (logits - logits.logsumexp(-1, keepdim=True)).gather(-1, token)))
        alive = alive & (token.squeeze(1) != (-1 if eos_id is None else eos_id))
    tokens, logs = (torch.cat(column, dim=1) for column in zip(*steps))
    return cut_at_eos(tokens, logs, eos_id)
""",
    "kv_cache_bytes": '''
def kv_cache_bytes(
    batch: int, length: int, num_layers: int, d_model: int, *, bytes_per_number: int = 4
) -> int:
    """Ask PyTorch."""
    token = torch.empty(2, num_layers, d_model, device="meta")
    return token.numel() * length * batch * bytes_per_number
''',
}

OWN_LAYER = """
class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads, *, bias=True, rotary=None):
        super().__init__()
        self.inner = nn.MultiheadAttention(d_model, num_heads, bias=bias, batch_first=True)

    def forward(self, query, key, value, mask=None, *, return_weights=False, cache=None):
        return self.inner(query, key, value, need_weights=return_weights)
"""

SAMPLE_CLASS: tuple[Submission, ...] = (
    Submission(student="ada", what="right, with loops",
        edits={**LOOPS, "how-many-readers": ANSWER}),
    Submission(student="bela", what="right, one buffer for both", edits=STACKED),
    Submission(student="chidi", what="right, a cache made of smaller classes",
        edits={**INHERITED, "how-many-readers": ANSWER}),
    Submission(student="dana", what="positions begin anew with each piece",
        edits={"TextModel": ((", offset=past)", ", offset=0)"),)}, lost={"TextModel": "chunks"},
        hint="each piece begins at position 0 again"),
    Submission(student="emil", what="one cache for all layers",
        edits={
            "TextModel": (
                ("[GrowingCache() for _ in self.layers]",
                 "[GrowingCache()] * len(self.layers)"),)}, lost={"TextModel": "separate"},
        hint="these are one cache under several names"),
    Submission(student="fatima", what="the cache joins by cat",
        edits={
            "GrowingCache": (("capacity = max(2 * old_keys.size(2), length)", "capacity = length"),
                ("capacity = max(self._capacity, length)", "capacity = length"))},
        lost={"GrowingCache": "growth"}, hint="the buffers fit exactly"),
    Submission(student="goran", what="rotary positions of the queries begin at 0",
        edits={
            "CachedAttention": (
                ("queries = self.rotary(queries, offset=offset)",
                 "queries = self.rotary(queries)"),)}, lost={"CachedAttention": "rotary"},
        hint="offset=cache.length, as it is before the update"),
    Submission(student="hana", what="the token that reaches p is ruled out",
        edits={
            "keep_top_p": (
                ("before = probabilities.cumsum(dim=-1) - probabilities",
                 "before = probabilities.cumsum(dim=-1)"),)}, lost={"keep_top_p": "values edges"},
        hint="the token with which the sum reaches p is kept too"),
    Submission(student="ivo", what="the whole text is read at each step",
        edits={
            "sample": (
                ("logits = model.advance(token)",
                 "logits = model.advance(torch.cat([prompt, *tokens], dim=1))"),)},
        lost={"sample": "steps"}, hint="advance(token) with the new token alone"),
    Submission(
        student="lea",
        what="half done: parts 3 and 4 not begun",
        edits={
            **dict.fromkeys(("TextModel", "keep_top_k", "keep_top_p", "sample"), BLANK),
            "how-many-readers": ANSWER,
        },
        lost=dict.fromkeys(("TextModel", "keep_top_k", "keep_top_p", "sample"), "*"),
    ),
    Submission(student="mira", what="writes for ever",
        edits={"sample": SAMPLE_HEAD + "    while True:\n        model.advance(prompt)\n"},
        lost={"sample": "*"}, judge_only=True),
    Submission(student="nils", what="os._exit",
        edits={"kv_cache_bytes": "def kv_cache_bytes(*sizes, **options):\n    os._exit(0)\n"},
        lost={"kv_cache_bytes": "*"}, status=Status.CRASH, judge_only=True),
    Submission(student="vera", what="handed over to nn.MultiheadAttention",
        edits={"CachedAttention": OWN_LAYER}, lost={"CachedAttention": "*"},
        hint="uses torch.nn.MultiheadAttention", judge_only=True),
    Submission(
        student="olga",
        what="hostile: a result that equals everything",
        edits={
            name: f"{ALWAYS_RIGHT if name == EXERCISES[0] else ''}{name} = AlwaysRight()"
            for name in EXERCISES
        },
        lost=EVERYTHING,
    ),
    Submission(student="pavel", what="hostile: run_cell patched, nothing written",
        edits=NOTHING_WRITTEN, extra=PATCHED_SHELL, judge_only=True, lost=EVERYTHING),
)  # fmt: skip

DELIGHT = "that lay in the house that jack built ."

EQUIVALENT = {
    "_with_room_for(end, values, keys)": "keys and values have one shape",
    "_new_like(old[1], indices.numel()), _new_like(old[1]": "likewise",
    "_new_like(old[-1], indices.numel())": "likewise",
    "_new_like(old[0], indices.numel()), _new_like(old[0]": "likewise",
    "self.final[1].size(2)": "likewise",
    "self.final[-1].size(2)": "likewise",
    "zip(self._buffers, old)": "there are two of each",
    "zip(self._buffers, old, strict=False)": "likewise",
    "max(length, self._capacity)": "the same maximum",
    "max(length, 2 * old_keys.size(2))": "the same maximum",
    "-        check_mask(mask, ": "given to students, not asked of them",
    "offset = 1 if cache is None": "rotary positions tell distances alone",
    "num_layers: int=1,": "given to students, not asked of them",
    "max_length: int=51": "likewise",
    "causal_mask(length, past + length)": "shows on a GPU alone; the tests run there too",
    "torch.ones(prompt.size(0), dtype=torch.bool)": "likewise",
    "caches[-1].length": "all layers hold as many tokens",
    "topk(min(k, logits.size(-1))).values": "the last dimension is the default",
    "min(logits.size(-1), k)": "the same minimum",
    "logits.sort(descending=True, stable=True)": "the last dimension is the default",
    "logits.sort(dim=-1, descending=True)": "which of two equals is kept is left open",
    "descending=True, stable=False": "likewise",
    "falling.masked_fill_(before": "in place, but on a tensor that nothing else holds",
    "softmax(dim=--1)": "the last of two dimensions",
    "amax(dim=--1": "likewise",
    "amax(keepdim=True)": "what is taken off all logits of a row changes no probability",
    "logits + logits.amax": "likewise",
    "nan_to_num(2.0)": "tells where logits are NaN alone",
    "nan_to_num(0.5)": "likewise",
    "token[:, -1] != eos_id": "one token a row",
}

# ---- the table of mistakes ----------------------------------------------------------------------

RETURNED = "return all_keys[:, :, :end], all_values[:, :, :end]"
FILL = "all_keys[:, :, self.length : end] = keys"
DOUBLED = "capacity = max(2 * old_keys.size(2), length)"
CHOSEN = "new[:, :, : self.length] = held[:, :, : self.length].index_select(0, indices)"
MISFIT = "_rows_heads_width(held) != _rows_heads_width(new) or held.dtype != new.dtype"
UPDATED = "                keys, values = cache.update(keys, values)\n"
FILLED = 'raise ValueError("the cache is filled: read final, or call reset before a new source")'
KEPT = "        self.final = keys, values\n"
REORDERED = (
    "            self.final = (keys.index_select(0, indices), values.index_select(0, indices))\n"
)
TURNED = "            queries = self.rotary(queries, offset=offset)"
ATTENTION_OF_THE_COURSE = """\
        attended = scaled_dot_product_attention(
            queries, keys, values, mask, return_weights=return_weights
        )
"""
OWN_ATTENTION = """\
        scores = queries @ keys.mT / math.sqrt(queries.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, {hidden})
        weights = scores.softmax(dim=-1)
        attended = (weights @ values, weights) if return_weights else weights @ values
"""
ASKED = "if cache is not None and cache.final is not None:\n            keys"
LOOP = "            x = layer(x, mask, cache=None if caches is None else caches[number])\n"
DRAW = "token = torch.multinomial(probabilities, 1, generator=generator)"
TEMPERED = "kept = (logits - logits.amax(dim=-1, keepdim=True)) / temperature"
READ_ON = "        logits = model.advance(token)\n"
OWN = "logits.log_softmax(dim=-1).gather(1, token)"
WRITTEN = "return cut_at_eos(torch.cat(tokens, dim=1), torch.cat(log_probabilities, dim=1), eos_id)"
MADE_ANEW = (
    WRITTEN.replace("return", "found =")
    + """
    return [
        Hypothesis(
            tokens={}, log_probability=h.log_probability, score=h.score, finished=h.finished
        )
        for h in found
    ]"""
)
BYTES = "2 * batch * length * num_layers * d_model * bytes_per_number"


def table(exercise: str, *rows: tuple[str, Edit, str, str]) -> list[Submission]:
    """Name mistakes of one exercise: what, the edit, the checks lost, the hint."""
    return [mistake(what, exercise, edit, lost=lost, hint=hint) for what, edit, lost, hint in rows]


DOUBLED_BY_JOINING = '''
class GrowingCache:
    """Doubled by joining, until there is room."""

    def __init__(self, *, capacity: int = 64) -> None:
        if capacity <= 0:
            raise ValueError("capacity must be positive")
        self.capacity = capacity
        self.length = 0
        self.final = None
        self.k = None
        self.v = None

    def update(self, keys, values):
        if keys.shape != values.shape:
            raise ValueError("shape")
        if keys.requires_grad or values.requires_grad:
            raise ValueError("grad")
        b, h, n, d = keys.shape
        if self.k is None:
            room = self.capacity
            while room < n:
                room *= 2
            self.k = keys.new_empty(b, h, room, d)
            self.v = values.new_empty(b, h, room, d)
        held = (self.k.shape[0], self.k.shape[1], self.k.shape[3])
        if (b, h, d) != held or {keys.dtype, values.dtype} != {self.k.dtype}:
            raise ValueError("fit")
        total = self.length + n
        while total > self.k.shape[2]:
            self.k = torch.cat([self.k, torch.empty_like(self.k)], dim=2)
            self.v = torch.cat([self.v, torch.empty_like(self.v)], dim=2)
        self.k[:, :, self.length : total] = keys
        self.v[:, :, self.length : total] = values
        self.length = total
        return self.k[:, :, :total], self.v[:, :, :total]

    def reorder(self, indices):
        if self.k is not None:
            self.k = self.k[indices]
            self.v = self.v[indices]

    def reset(self):
        self.k = self.v = None
        self.length = 0

    @property
    def num_bytes(self):
        if self.k is None:
            return 0
        return 2 * self.k.element_size() * self.k.nelement()
'''

AS_IN_HUGGING_FACE = '''
def keep_top_p(logits, p):
    """As in Hugging Face."""
    if p <= 0 or p > 1:
        raise ValueError("p")
    if p == 1:
        return logits.clone()
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative = torch.cumsum(torch.softmax(sorted_logits, dim=-1), dim=-1)
    remove = cumulative >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    remove = remove.scatter(-1, sorted_indices, remove)
    return logits.masked_fill(remove, float("-inf"))
'''

ONE_LOOP = (
    f'{SAMPLE_HEAD}    """One loop, and a note of who has finished."""{SAMPLE_REFUSALS}'
    + """\
    finished = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    ids, logps = [], []
    inputs = prompt
    for _ in range(max_new_tokens):
        logits = model.advance(inputs)
        logp = torch.log_softmax(logits, dim=-1)
        z = logits / temperature
        if top_k is not None:
            z = keep_top_k(z, top_k)
        if top_p is not None:
            z = keep_top_p(z, top_p)
        inputs = torch.multinomial(torch.softmax(z, dim=-1), num_samples=1, generator=generator)
        ids.append(inputs)
        logps.append(torch.gather(logp, -1, inputs))
        if eos_id is not None:
            finished = finished | (inputs.squeeze(-1) == eos_id)
            if finished.all():
                break
    return cut_at_eos(torch.hstack(ids), torch.hstack(logps), eos_id)
"""
)


def cache(what: str, old: str, new: str, lost: str, hint: str) -> Submission:
    """Name a mistake in the cache that doubles by joining."""
    assert DOUBLED_BY_JOINING.count(old) == 1
    edit = DOUBLED_BY_JOINING.replace(old, new)
    return mistake(what, "GrowingCache", edit, lost=lost, hint=hint)


AS_STUDENTS_WRITE: tuple[Submission, ...] = (
    right("doubled by joining", {"GrowingCache": DOUBLED_BY_JOINING}),
    right("as in Hugging Face", {"keep_top_p": AS_IN_HUGGING_FACE}),
    right("one loop", {"sample": ONE_LOOP}),
    right("by kthvalue and where",
        {
            "keep_top_k": (
                ("logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]",
                 "logits.kthvalue(max(logits.size(-1) - k + 1, 1), keepdim=True).values"),
                ("logits.masked_fill(logits < last_kept, -math.inf)",
                 "torch.where(logits >= last_kept, logits, -math.inf)"))}),
    mistake("an embedding with padding", "TextModel",
        (("TokenEmbedding(vocab_size, d_model)",
          "nn.Embedding(vocab_size, d_model, padding_idx=0)"),),
        lost="uncached", hint="no padding_idx"),
    right("no mask for a token alone",
        {"TextModel": (("mask = causal_mask(", "mask = None if length == 1 else causal_mask("),)}),
    cache("doubled once only", "while total > self.k.shape[2]:", "if total > self.k.shape[2]:",
        "update", "twice as long may not be enough for many new tokens"),
    cache("reordered within the same buffers",
        "            self.k = self.k[indices]\n            self.v = self.v[indices]\n",
        "            self.k[:] = self.k[indices]\n            self.v[:] = self.v[indices]\n",
        "reorder", "there may be fewer or more rows than before"),
    cache("the bytes by a method", "    @property\n", "", "growth",
        "@property above it stands for"),
    cache("another error than promised", 'raise ValueError("fit")', 'raise TypeError("fit")',
        "edges", "would not fit into the buffers: raise ValueError"),
    cache("the first buffer just fits", "            while room < n:\n                room *= 2\n",
        "            room = n\n", "growth", "the buffers fit exactly"),
    *table(
        "FixedCache",
        ("a length of its own beside the property",
         (("self.final: KeysAndValues | None = None\n",
           "self.final = None\n        self.length = 0\n"),), "once", "has no setter"),
    ),
    *table(
        "CachedAttention",
        ("updated, and what comes back left lying",
         ((UPDATED, "                cache.update(keys, values)\n"),),
         "chunks rotary", "what came before is not seen: attend to what cache.update returns"),
        ("keys and values exchanged for the cache",
         ((UPDATED, UPDATED.replace("(keys, values)", "(values, keys)")),),
         "chunks rotary cross", "keys come first"),
        ("x itself for the cache",
         ((UPDATED, UPDATED.replace("(keys, values)", "(*map(self._split_heads, (key, value)))")),),
         "chunks rotary cross", "update is given x itself"),
        ("rotary with a cache alone",
         (("        queries = self._split_heads(self.query_projection(query))\n",
           "        if cache is None:\n"
           "            return super().forward(\n"
           "                query, key, value, mask, return_weights=return_weights\n"
           "            )\n"
           "        queries = self._split_heads(self.query_projection(query))\n"),),
         "rotary", "without a cache rotary is not used"),
    ),
    *table(
        "TextModel",
        ("caches that are None not thought of",
         (("0 if caches is None else caches[0].length", "caches[0].length"),),
         "uncached", "'NoneType' object is not subscriptable"),
    ),
    *table("TextModel", ("the last token's logits alone",
        (("self.output_projection(self.norm(x))", "self.output_projection(self.norm(x))[:, -1]"),),
        "*", "one distribution for each token: (batch, length, vocab_size)")),
    *table(
        "keep_top_k",
        ("topk, scattered back",
         ((
           "    last_kept = logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]"
           "  # (..., 1)\n", "    values, indices = logits.topk(k)\n"),
          ("logits.masked_fill(logits < last_kept, -math.inf)",
           "torch.full_like(logits, -math.inf).scatter(-1, indices, values)")),
         "edges", "selected index k out of range"),
        ("a threshold over all rows", ((".values[..., -1:]", ".values.min()"),),
         "values", "the k-th largest of its own row"),
    ),
    *table(
        "keep_top_p",
        ("ruled out in falling order",
         AS_IN_HUGGING_FACE.replace("    remove = remove.scatter(-1, sorted_indices, remove)\n",
             ""), "values edges", "what is ruled out stands in falling order"),
        ("Hugging Face's >", AS_IN_HUGGING_FACE.replace("cumulative >= p", "cumulative > p"),
         "edges", "compare with >="),
    ),
    *table(
        "sample",
        ("logits to draw from", (("kept.softmax(dim=-1).nan_to_num(1.0)", "kept"),), "*",
         "softmax first"),
        ("an end token of 0 not seen", (("if eos_id is not None:", "if eos_id:"),),
         "end", "0 is an id like any other"),
        (
            "all that was written read again",
            ONE_LOOP.replace(
                "        ids.append(inputs)\n",
                "        ids.append(inputs)\n        prompt = torch.cat([prompt, inputs], dim=1)\n",
            ).replace("model.advance(inputs)", "model.advance(prompt)"),
            "steps",
            "then advance(token) with the new token alone",
        ),
    ),
    *table("kv_cache_bytes", ("a float", ((BYTES, f"1.0 * {BYTES}"),), "formula", "an int")),
)  # fmt: skip


ATTENDED = "return self.output_projection(self._join_heads(attended))"
LOGITS = "self.output_projection(self.norm(x))"

CUT_MISTAKES = (
    *table(
        "CachedAttention",
        (
            "the mask forgotten beside rotary positions",
            (
                (
                    "                keys = self.rotary(keys",
                    "                mask = None if cache is None else mask\n"
                    "                keys = self.rotary(keys",
                ),
            ),
            "rotary",
            "with a mask the output is another",
        ),
        (
            "no way back beside rotary positions",
            (
                (
                    "keys = self.rotary(keys, offset=offset)",
                    "keys = self.rotary(keys, offset=offset).detach()",
                ),
            ),
            "rotary",
            "flows back to key",
        ),
        (
            "no way back through attention",
            ((ATTENDED, f"{ATTENDED}.detach()"),),
            "uncached",
            "no gradient flows back to query",
        ),
        (
            "no way back to the values",
            (("self.value_projection(value)", "self.value_projection(value).detach()"),),
            "uncached",
            "no gradient flows back to value",
        ),
    ),
    *table(
        "TextModel",
        (
            "no way back through the layers",
            ((LOGITS, "self.output_projection(self.norm(x.data))"),),
            "uncached",
            "no gradient flows back to",
        ),
    ),
)

MOVED = (
    ("        self.final = None\n", "        self.final = None\n        self.moved = False\n"),
    ("        old = self._buffers\n", "        old = self._buffers\n        self.moved = True\n"),
)

# Each is shown to one check alone, and not to the one that looks for it.
HIDDEN_MISTAKES = (
    *table(
        "GrowingCache",
        ("the spare room returned too, once reordered",
         ((RETURNED,
           f"if self.moved:\n            return all_keys, all_values\n        {RETURNED}"),
          *MOVED),
         "reorder", "shows here: the spare room is returned too"),
        ("values before keys, once reordered",
         ((RETURNED,
           "return (all_keys[:, :, :end], all_values[:, :, :end])[:: -1 if self.moved else 1]"),
          *MOVED),
         "reorder", "shows here: values come before the keys"),
        ("length counts updates where there is much room",
         (("        self.length = end\n",
           "        self.length = end if self._capacity != 8 else self.length + 1\n"),),
         "edges", "shows here: length is not the number of tokens"),
    ),
    *table(
        "CachedAttention",
        ("a text and a token alone without their dimensions",
         ((ATTENDED, f"{ATTENDED}[(0,) * (2 * (query.shape[:2] == (1, 1)))]"),),
         "chunks", "one output for each new token"),
        ("a text and a token alone without their dimensions, far on",
         ((ATTENDED,
           f"{ATTENDED}[(0,) * (2 * (query.shape[:2] == (1, 1) and keys.size(2) > 50))]"),),
         "work", "shows here: the output has not the shape of the query"),
        ("no mask for a token alone that reads a source once more",
         (("        attended = scaled",
           "        if cache is not None and cache.final is not None and query.size(1) == 1:\n"
           "            mask = None\n        attended = scaled"),),
         "cross", "shows here: for a single query the mask is not handed on"),
    ),
    *table(
        "TextModel",
        ("caches that are None not thought of where texts are few",
         (("0 if caches is None else caches[0].length",
           "0 if caches is None and (len(self.layers), length) != (3, 5) else caches[0].length"),),
         "chunks", "shows here: without caches there is an error"),
    ),
    *table(
        "keep_top_k",
        ("small, but not impossible, in a matrix",
         (("-math.inf)", "-math.inf if logits.dim() != 2 else -1e4)"),),
         "edges", "shows here: what is ruled out does not become minus infinity"),
    ),
    *table(
        "keep_top_p",
        ("small, but not impossible, in a matrix",
         (("before >= p, -math.inf)", "before >= p, -math.inf if logits.dim() != 2 else -1e4)"),),
         "edges", "shows here: what is ruled out does not become minus infinity"),
    ),
    *table(
        "sample",
        ("a token too few for many texts",
         (("== max_new_tokens:", "== max_new_tokens - (len(prompt) > 9):"),),
         "distribution", "shows here: too few tokens are written"),
    ),
)  # fmt: skip


MISTAKES: tuple[Submission, ...] = (
    *CUT_MISTAKES,
    *HIDDEN_MISTAKES,
    mistake("zeros, whatever comes in", "CachedAttention",
        (
            ("return self.output_projection(self._join_heads(output)), weights",
             "return torch.zeros_like(query), weights"),
            ("return self.output_projection(self._join_heads(attended))",
             "return torch.zeros_like(query)"),
        ), lost="*", hint="is the same for"),
    mistake("the query, whatever comes in", "CachedAttention",
        (
            ("return self.output_projection(self._join_heads(output)), weights",
             "return query, weights"),
            ("return self.output_projection(self._join_heads(attended))", "return query"),
        ), lost="*", hint="the same for another source"),
    mistake("zeros, whatever comes in", "TextModel",
        (("return self.output_projection(self.norm(x))",
          "return 0 * self.output_projection(self.norm(x))"),), lost="*", hint="the same for"),
    *AS_STUDENTS_WRITE,
    *table(
        "GrowingCache",
        ("the new tokens alone returned", ((RETURNED, "return keys, values"),),
         "update reorder", "these are the new tokens alone"),
        ("the spare room returned too", ((RETURNED, "return all_keys, all_values"),),
         "update", "cut off the spare room"),
        ("new tokens at the beginning", ((FILL, "all_keys[:, :, : keys.size(2)] = keys"),),
         "update reorder", "all tokens so far"),
        ("keys and values swapped",
         ((RETURNED, "return all_values[:, :, :end], all_keys[:, :, :end]"),),
         "update", "changed places"),
        ("values never stored",
         (("        all_values[:, :, self.length : end] = values\n",
           "        all_values[:, :, self.length : end] = keys\n"),),
         "update reorder edges", "these are the keys, not the values"),
        ("length counts updates", (("        self.length = end\n", "        self.length += 1\n"),),
         "update", "count the tokens, not the updates"),
        ("length never set", (("        self.length = end\n", ""),),
         "update growth reorder", "is length counted up at each update"),
        ("state shared between caches",
         (("        self._buffers: KeysAndValues | None = None  #",
           "        type(self)._buffers = None  #"),
          (
           "            self._buffers = (_new_like(keys, length=capacity), "
           "_new_like(values, length=capacity))\n        old_keys",
           "            type(self)._buffers = (_new_like(keys, length=capacity), "
           "_new_like(values, length=capacity))\n        old_keys")), "update edges", ""),
        ("one token more of room each time", ((DOUBLED, "capacity = length + 1"),),
         "growth", "replaced by one twice as long"),
        ("four times as long", ((DOUBLED, "capacity = max(4 * old_keys.size(2), length)"),),
         "growth", "replaced by one twice as long"),
        ("a number of numbers, not bytes",
         (("sum(b.nbytes for b in self._buffers)", "sum(b.numel() for b in self._buffers)"),),
         "growth", "num_bytes counts bytes"),
        ("the values' bytes forgotten",
         (("sum(b.nbytes for b in self._buffers)", "self._buffers[0].nbytes"),),
         "growth", "keys and values both take memory"),
        ("bytes of what is held",
         (("sum(b.nbytes for b in self._buffers)",
           "sum(b[:, :, : self.length].nbytes for b in self._buffers)"),),
         "growth", "the buffers fit exactly"),
        ("replaced one token early",
         (("if length > old_keys.size(2):", "if length >= old_keys.size(2):"),),
         "growth", "> in place of >="),
        ("joined at every update, and the bytes of a buffer reported",
         (("        all_keys, all_values = self._with_room_for(end, keys, values)\n",
           "        self._with_room_for(end, keys, values)\n"
           "        joined = getattr(self, 'joined', None) if self.length else None\n"
           "        both = (keys, values)\n"
           "        if joined is not None:\n"
           "            both = tuple(torch.cat(p, dim=2) for p in zip(joined, both))\n"
           "        self.joined = all_keys, all_values = both\n"),
          ("        all_keys[:, :, self.length : end] = keys\n", ""),
          ("        all_values[:, :, self.length : end] = values\n", ""),
          ("        old = self._buffers\n",
           "        self.joined = tuple(t[indices] for t in self.joined)\n"
           "        old = self._buffers\n")), "growth", "expected 6"),
        ("a copy of all tokens returned",
         ((RETURNED,
           "return all_keys[:, :, :end].contiguous(), all_values[:, :, :end].contiguous()"),),
         "growth", "return views of these"),
        ("nothing returned", ((RETURNED, "return None"),),
         {"GrowingCache": "*"}, "update should give two tensors"),
        ("one tensor of both returned",
         ((RETURNED, "return torch.cat((all_keys, all_values), dim=-1)[:, :, :end]"),),
         {"GrowingCache": "*"}, ""),
        ("old tokens lost when it grows",
         ((
           "            self._buffers[0][:, :, : self.length] = old_keys[:, :, : "
           "self.length]\n", "            self._buffers[0].zero_()\n"),),
         "update reorder", "a copy of what is held"),
        ("reorder does nothing",
         ((CHOSEN, "new[:, :, : self.length] = held[:, :, : self.length]"),
          ("(_new_like(old[0], indices.numel()), _new_like(old[1], indices.numel()))",
           "(_new_like(old[0]), _new_like(old[1]))")), "reorder", "reorder changes nothing"),
        ("reorder the other way round", ((CHOSEN, "new.index_copy_(0, indices, held)"),),
         "reorder", ""),
        ("reorder of the keys alone",
         (("zip(self._buffers, old, strict=True)", "zip(self._buffers[:1], old)"),
          ("_new_like(old[1], indices.numel())", "old[1]")),
         "reorder", "reorder moves the keys and leaves the values"),
        ("reorder of the values alone",
         (("zip(self._buffers, old, strict=True)", "zip(self._buffers[1:], old[1:])"),
          ("_new_like(old[0], indices.numel())", "old[0]")),
         "reorder", "reorder moves the values and leaves the keys"),
        ("reorder forgets the tokens",
         (("        old = self._buffers\n",
           "        old = self._buffers\n        self.length = 0\n"),),
         "reorder", "with all its tokens"),
        ("new buffers of as many rows as at first",
         ((f"            {DOUBLED}\n            self._buffers = (_new_like(keys, length=capacity), "
           "_new_like(values, length=capacity))\n",
           f"            {DOUBLED}\n            self._buffers = tuple("
           "_new_like(keys, self.rows, length=capacity) for _ in range(2))\n"),
          ("            capacity = max(self._capacity, length)\n",
           "            capacity = max(self._capacity, length)\n"
           "            self.rows = keys.size(0)\n")),
         "reorder", ""),
        ("reorder of an empty cache fails",
         (("        if self._buffers is None:\n            return\n        old", "        old"),),
         "reorder", ""),
        ("reset keeps the buffers",
         (("        self.length = 0\n        self._buffers = None\n",
           "        self.length = 0\n"),), "edges", "let the buffers go"),
        ("reset keeps the length",
         (("        self.length = 0\n        self._buffers = None\n",
           "        self._buffers = None\n"),), "edges", "reset forgets all tokens"),
        ("any capacity will do", (("        check_at_least(1, capacity=capacity)\n", ""),), "edges",
         "no room at all"),
        ("gradients let through",
         (("if keys.requires_grad or values.requires_grad:", "if False:"),),
         "edges", "gradients can't flow"),
        ("gradients of the values let through",
         (("if keys.requires_grad or values.requires_grad:", "if keys.requires_grad:"),),
         "edges", "gradients can't flow"),
        ("buffers in float32 whatever comes",
         ((
           "            self._buffers = (_new_like(keys, length=capacity), "
           "_new_like(values, length=capacity))\n        old_keys",
           "            self._buffers = (_new_like(keys.float(), length=capacity), "
           "_new_like(values.float(), length=capacity))\n        old_keys"),
          (MISFIT, "_rows_heads_width(held) != _rows_heads_width(new)")),
         {"GrowingCache": "update growth edges"},
         "the buffers have the dtype of the keys and values that come in"),
        ("other dtypes let through",
         ((MISFIT, "_rows_heads_width(held) != _rows_heads_width(new)"),),
         "edges", "another dtype"),
        *(
            (f"another dtype of the {other} let through",
             ((MISFIT, "_rows_heads_width(held) != _rows_heads_width(new) or "
                       f"old_{name}.dtype != {name}.dtype"),),
             "edges", "another dtype")
            for name, other in (("keys", "values"), ("values", "keys"))
        ),
        ("more keys than values let through", (("if keys.shape != values.shape:", "if False:"),),
         "edges", "a key for each value"),
        ("final left out", (("        self.final = None\n", ""),), {"GrowingCache": "update"}, ""),
        ("fewer rows let through",
         ((MISFIT, "held.shape[1::2] != new.shape[1::2] or held.dtype != new.dtype"),),
         "edges", "rows, heads and width"),
    ),
    *table(
        "FixedCache",
        *(
            (what, edit, "once", hint)
            for what, edit, hint in (
                (
                    "filled each time",
                    (
                        (
                            "if self.final is not None:\n            raise",
                            "if False:\n            raise",
                        ),
                    ),
                    "what is held is final",
                ),
                (
                    "a second filling passed over in silence",
                    ((FILLED, "return self.final"),),
                    "what is held is final",
                ),
                (
                    "filled, then refused",
                    (
                        (KEPT, ""),
                        (
                            "        if self.final is not None:\n            raise",
                            "        had, self.final = self.final, (keys, values)\n"
                            "        if had is not None:\n            raise",
                        ),
                    ),
                    "a refused update changes nothing",
                ),
                (
                    "grows",
                    (
                        (
                            KEPT,
                            "        self.final = tuple(torch.cat([t, t], dim=2) for t in "
                            "(keys, values))\n",
                        ),
                    ),
                    "nothing is added to it",
                ),
                (
                    "keys and values swapped",
                    ((KEPT, "        self.final = values, keys\n"),),
                    "keys and values swapped",
                ),
                (
                    "keys twice",
                    ((KEPT, "        self.final = keys, keys\n"),),
                    "these are the keys once more",
                ),
                (
                    "given back, and not kept",
                    ((KEPT + "        return self.final", "        return keys, values"),),
                    "nothing is added to it",
                ),
                (
                    "kept, and not given back",
                    ((KEPT + "        return self.final", KEPT),),
                    "nothing is added to it",
                ),
                (
                    "an empty tuple for nothing",
                    (("self.final: KeysAndValues | None = None", "self.final = ()"),),
                    "None, as long as there is nothing",
                ),
                ("reorder forgotten", ((REORDERED, ""),), "reorder keys and values"),
                (
                    "reorder of the keys alone",
                    ((REORDERED, REORDERED.replace("values.index_select(0, indices)", "values")),),
                    "reorder moves the keys and leaves the values",
                ),
                (
                    "reorder of the heads",
                    ((REORDERED, REORDERED.replace("select(0", "select(1")),),
                    "",
                ),
                ("reorder forgets", ((REORDERED, "            self.final = None\n"),), ""),
                (
                    "reorder of an empty cache fails",
                    (
                        (
                            "        if self.final is not None:\n            keys, values",
                            "        if True:\n            keys, values",
                        ),
                    ),
                    "",
                ),
                (
                    "reset does nothing",
                    (
                        (
                            '        """Forget all tokens."""\n        self.final = None',
                            '        """Forget all tokens."""',
                        ),
                    ),
                    "reset forgets what is held",
                ),
                (
                    "length of the heads",
                    (("self.final[0].size(2)", "self.final[0].size(1)"),),
                    "the number of tokens",
                ),
                (
                    "length of an empty cache fails",
                    (
                        (
                            "return 0 if self.final is None else self.final[0]",
                            "return self.final[0]",
                        ),
                    ),
                    "",
                ),
                (
                    "bytes of the keys alone",
                    (("sum(tensor.nbytes for tensor in self.final)", "self.final[0].nbytes"),),
                    "",
                ),
                (
                    "state shared between caches",
                    (
                        (
                            "    def __init__(self) -> None:\n"
                            "        self.final: KeysAndValues | None = None",
                            "    final = None\n\n    def __init__(self) -> None:\n        pass",
                        ),
                        (KEPT, KEPT.replace("self", "FixedCache")),
                    ),
                    "a new cache holds nothing",
                ),
            )
        ),
    ),
    *table(
        "CachedAttention",
        ("the new tokens alone attended to",
         ((UPDATED, "                cache.update(keys, values)\n"),),
         {"CachedAttention": "chunks rotary"}, "attend to what cache.update returns"),
        ("the cache is not used",
         ((UPDATED, "                pass\n"), (ASKED, "if False:\n            keys")),
         {"CachedAttention": "chunks rotary work cross"}, "attend to what cache.update returns"),
        ("the mask not handed on",
         (("queries, keys, values, mask, return_weights",
           "queries, keys, values, None, return_weights"),),
         {"CachedAttention": "uncached chunks"},
         "the mask is not handed on: with it and without it the output is the same"),
        ("the mask of the first head for all",
         (("queries, keys, values, mask, return_weights",
           "queries, keys, values, None if mask is None else mask[:, :1], return_weights"),),
         "uncached", "each head has a mask of its own"),
        ("the mask of the first head for all that a cache holds",
         (("queries, keys, values, mask, return_weights",
           "queries, keys, values, mask if mask is None or cache is None else mask[:, :1], "
           "return_weights"),),
         "chunks", "hand on whatever mask there is"),
        *(
            (f"{what} for a query with nothing to look at",
             ((ATTENTION_OF_THE_COURSE, OWN_ATTENTION.format(hidden=hidden)),),
             "uncached", "a query that may attend to nothing gets weights of zero")
            for what, hidden in (("NaN", "-math.inf"), ("the mean of all values", "-1e9"))
        ),
        ("queries not turned where the weights are asked for",
         ((TURNED, "            queries = queries if return_weights else "
                   "self.rotary(queries, offset=offset)"),),
         "rotary", "asking for the weights changes nothing"),
        ("queries not turned where the weights are asked for, without a cache",
         ((TURNED, "            if cache is not None or not return_weights:\n    " + TURNED),),
         "rotary", "asking for the weights changes nothing"),
        ("no mask where there are rotary positions and the weights are asked for",
         ((TURNED, TURNED + "\n            mask = None if return_weights else mask"),),
         "rotary", "asking for the weights changes nothing"),
        ("keys of the queries",
         (("self._split_heads(self.key_projection(key))",
           "self._split_heads(self.key_projection(query))"),), "uncached cross", ""),
        ("key and value swapped",
         (("self._split_heads(self.value_projection(value))",
           "self._split_heads(self.value_projection(key))"),),
         "uncached", "the values are projected from key"),
        ("offset 0 for the keys",
         (("keys = self.rotary(keys, offset=offset)", "keys = self.rotary(keys)"),),
         "rotary", "offset=cache.length"),
        ("offset after the update",
         ((UPDATED, UPDATED + "        offset = 0 if cache is None else cache.length\n"),),
         "rotary", "as it is before the update"),
        ("cached keys turned again",
         ((
           "            if self.rotary is not None:\n"
           "                keys = self.rotary(keys, offset=offset)\n", ""),
          ("            queries = self.rotary(queries, offset=offset)\n",
           "            queries = self.rotary(queries, offset=offset)\n"
           "            keys = self.rotary(keys, offset=offset)\n")), "rotary", "and these alone"),
        ("values turned too",
         (("                keys = self.rotary(keys, offset=offset)\n",
           "                keys = self.rotary(keys, offset=offset)\n"
           "                values = self.rotary(values, offset=offset)\n"),),
         "rotary", "values stay as they are"),
        ("rotary across texts let through",
         ((
           "            if cache is not None and cache.final is not None:\n"
           "                raise", "            if False:\n                raise"),),
         "rotary", "do not go together"),
        ("rotary not used", (("        self.rotary = rotary\n", "        self.rotary = None\n"),),
         "rotary", "rotary is not used"),
        ("queries not turned",
         (("            queries = self.rotary(queries, offset=offset)", "            pass"),),
         "rotary", ""),
        ("turned before the heads are cut",
         (("queries = self._split_heads(self.query_projection(query))\n",
           "queries = self.query_projection(query)\n"),
          ("            queries = self.rotary(queries, offset=offset)\n",
           "            queries = self.rotary(queries, offset=offset)\n"
           "        queries = self._split_heads(queries)\n")), "rotary", ""),
        ("inputs cached, projected again at each step",
         ((UPDATED,
           "                keys, values = cache.update(key[:, None], value[:, None])\n"
           "                keys = self._split_heads(self.key_projection(keys[:, 0]))\n"
           "                values = "
           "self._split_heads(self.value_projection(values[:, 0]))\n"
           "                if self.rotary is not None:\n"
           "                    keys = self.rotary(keys)\n"),),
         {"CachedAttention": "work cross"}, "cut into heads"),
        ("final not asked for", ((ASKED, "if False:\n            keys"),), "cross", "cache.final"),
        ("keys projected before final is asked for",
         ((f"        {ASKED}",
           "        new = self.key_projection(key), self.value_projection(value)\n"
           f"        {ASKED}"),), "cross", "ask cache.final first"),
        ("keys projected outside, whether they are needed or not",
         ((f"        {ASKED}",
           "        new_keys = self._split_heads(self.key_projection(key))\n"
           f"        {ASKED}"),
          ("            keys = self._split_heads(self.key_projection(key))\n",
           "            keys = new_keys\n")), "cross", "ask cache.final first"),
        ("a dimension too many",
         (("        return self.output_projection(self._join_heads(attended))",
           "        return self.output_projection(self._join_heads(attended))[None]"),),
         {"CachedAttention": "uncached chunks rotary cross"},
         "has shape (1, 3, 5, 8), expected (3, 5, 8)"),
        ("everything computed anew behind the scenes",
         ((UPDATED,
           f"{UPDATED}"
           "            self.seen = query if offset == 0 else torch.cat([self.seen, "
           "query], dim=1)\n            if cache is not None:\n"
           "                MultiHeadAttention.forward(self, self.seen, self.seen, "
           "self.seen)\n"),), "work", "work on the new tokens alone"),
        ("everything projected anew by hand, where nobody counts",
         ((UPDATED,
           "                seen = vars(cache).setdefault('seen', [])\n"
           "                seen.append((key, value))\n"
           "                cache.update(keys, values)\n"
           "                parts = self.key_projection, self.value_projection\n"
           "                keys, values = (\n"
           "                    self._split_heads(torch.cat(x, 1) @ part.weight.T + part.bias)\n"
           "                    for x, part in zip(zip(*seen), parts)\n"
           "                )\n"
           "                keys = keys if self.rotary is None else self.rotary(keys)\n"),),
         "work", "attend to what update returns"),
        ("output projection forgotten",
         (("        return self.output_projection(self._join_heads(attended))",
           "        return self._join_heads(attended)"),),
         {"CachedAttention": "uncached rotary"}, ""),
        ("weights forgotten",
         (("return self.output_projection(self._join_heads(output)), weights",
           "return self.output_projection(self._join_heads(output))"),),
         "uncached chunks", "what is asked for by return_weights"),
        ("weights of its own making with a cache",
         (("            output, weights = attended",
           "            output, weights = attended\n            if cache is not None:\n"
           "                weights = 0 * weights + 1 / weights.size(-1)\n           "),),
         "chunks", "one weight for each new query and each key so far"),
        ("no output beside the weights with a cache",
         (("            output, weights = attended",
           "            output, weights = attended\n            if cache is not None:\n"
           "                output = 0 * output\n           "),),
         "chunks", "one output for each new token"),
        ("no mask with a cache", (("        attended = scaled",
           "        mask = mask if cache is None else None\n        attended = scaled"),),
         {"CachedAttention": "chunks cross"}, ""),
        ("no mask for a token alone", (("        attended = scaled",
           "        mask = mask if cache is None or query.size(1) > 1 else None\n"
           "        attended = scaled"),),
         "chunks", "a token alone must not look at padding"),
        ("a causal mask of its own with a growing cache", (("        attended = scaled",
           "        if mask is not None and cache is not None and cache.final is None:\n"
           "            mask = causal_mask(query.size(1), keys.size(2), device=query.device)\n"
           "        attended = scaled"),),
         "chunks", "a token alone must not look at padding"),
        ("no mask in evaluation", (("        attended = scaled",
           "        mask = mask if self.training else None\n        attended = scaled"),),
         "uncached", "the mask is not handed on"),
        ("turned from position 0 on in evaluation",
         (("        offset = 0 if cache is None else cache.length",
           "        offset = cache.length if cache is not None and self.training else 0"),),
         "rotary", ""),
        ("the source read anew in evaluation",
         (("if cache is not None and cache.final is not None:\n            keys",
           "if self.training and cache is not None and cache.final is not None:\n"
           "            keys"),),
         "cross", ""),
        ("no mask with a cache in evaluation", (("        attended = scaled",
           "        mask = mask if cache is None or self.training else None\n"
           "        attended = scaled"),),
         {"CachedAttention": "chunks cross"}, ""),
        ("no mask for a token alone in evaluation", (("        attended = scaled",
           "        is_writing = cache is not None and not self.training and query.size(1) == 1\n"
           "        mask = None if is_writing else mask\n        attended = scaled"),),
         "chunks", "a token alone must not look at padding"),
        ("no mask for a token alone in a text alone", (("        attended = scaled",
           "        is_single = query.shape[:2] == (1, 1) and cache is not None\n"
           "        mask = None if is_single else mask\n        attended = scaled"),),
         "chunks", "a token alone must not look at padding"),
        ("no mask with a cache for a text alone", (("        attended = scaled",
           "        mask = mask if cache is None or query.size(0) > 1 else None\n"
           "        attended = scaled"),),
         "chunks", ""),
        ("no mask with rotary positions and a cache", (("        attended = scaled",
           "        mask = mask if cache is None or self.rotary is None else None\n"
           "        attended = scaled"),),
         "rotary", "hand the mask on, with rotary positions"),
        ("bias not handed on",
         (("super().__init__(d_model, num_heads, bias=bias)",
           "super().__init__(d_model, num_heads)"),), "uncached", "hand bias on"),
        ("state kept in the layer",
         (("        offset = 0 if cache is None else cache.length",
           "        cache = None if cache is None else "
           "self.__dict__.setdefault('mine', cache)\n"
           "        offset = 0 if cache is None else cache.length"),),
         {"CachedAttention": "chunks rotary"}, ""),
    ),
    *table(
        "TextModel",
        ("positions not added",
         (("self.positions(self.embedding(token_ids), offset=past)",
           "self.embedding(token_ids)"),), "uncached", "the positions are not added"),
        ("no mask",
         (("mask = causal_mask(length, past + length, device=x.device)", "mask = None"),),
         "uncached chunks", "a token must not see what follows"),
        ("mask of the new tokens alone",
         (("causal_mask(length, past + length, device=x.device)",
           "causal_mask(length, device=x.device)"),), "chunks", ""),
        ("mask aligned with the first key",
         (("causal_mask(length, past + length, device=x.device)",
           "causal_mask(past + length, device=x.device)[..., :length, :]"),),
         "chunks", "the mask begins with the first key of all"),
        ("no mask once there is a past",
         (("mask = causal_mask(length, past + length, device=x.device)",
           "mask = None if past else causal_mask(length, device=x.device)"),),
         "chunks", "once there is a past there is no mask"),
        ("no mask with caches",
         (("mask = causal_mask(length, past + length, device=x.device)",
           "mask = None if caches else causal_mask(length, device=x.device)"),),
         "chunks", "with caches there is no mask at all"),
        ("one position too far", ((", offset=past)", ", offset=max(past - 1, 0))"),),
         "chunks", "the positions are one too low"),
        ("counted from 1 once there is a past",
         ((", offset=past)", ", offset=past + bool(past))"),),
         "chunks", "the positions are one too high"),
        ("probabilities in evaluation", (("        return self.output_projection(self.norm(x))",
           "        logits = self.output_projection(self.norm(x))\n"
           "        return logits if self.training else logits.softmax(dim=-1)"),),
         "uncached", "not probabilities"),
        ("no mask in evaluation",
         (("mask = causal_mask(length, past + length, device=x.device)",
           "mask = causal_mask(length, past + length) if self.training else None"),),
         "uncached", "and the mask stays"),
        ("no mask with caches in evaluation",
         (("mask = causal_mask(length, past + length, device=x.device)",
           "mask = causal_mask(length, past + length)\n"
           "        mask = mask if caches is None or self.training else None"),),
         "chunks", ""),
        ("probabilities with caches in evaluation",
         (("        return self.output_projection(self.norm(x))",
           "        logits = self.output_projection(self.norm(x))\n"
           "        is_writing = caches is not None and not self.training\n"
           "        return logits.softmax(dim=-1) if is_writing else logits"),),
         "chunks", ""),
        ("last token's logits alone with caches in evaluation",
         (("        return self.output_projection(self.norm(x))",
           "        is_writing = caches is not None and not self.training\n"
           "        return self.output_projection(self.norm(x[:, -1:] if is_writing else x))"),),
         "chunks", "one distribution for each new token"),
        ("last norm forgotten",
         (("self.output_projection(self.norm(x))", "self.output_projection(x)"),),
         "uncached", "the last norm is missing"),
        ("last token's logits alone",
         (("self.output_projection(self.norm(x))",
           "self.output_projection(self.norm(x[:, -1:]))"),),
         "uncached chunks", "one distribution for each token"),
        ("caches not handed on",
         ((LOOP, "            x = layer(x, mask[..., -length:])\n"),
          ("for number, layer in enumerate(self.layers)", "for layer in self.layers")),
         "chunks", "each piece is read as a text of its own"),
        ("caches counted and not handed on",
         ((LOOP,
           "            x = layer(x, mask[..., -length:])\n"
           "        if caches is not None:\n"
           "            caches[0].update(*2 * (torch.zeros(1, 1, length, 1),))\n"),),
         "chunks", "what came before is not seen"),
        ("the first cache for all layers", ((LOOP, LOOP.replace("caches[number]", "caches[0]")),),
         "chunks separate", ""),
        ("caches in reverse order",
         ((LOOP, LOOP.replace("caches[number]", "caches[-1 - number]")),), "", ""),
        ("the first layer alone", (("enumerate(self.layers)", "enumerate(self.layers[:1])"),),
         "uncached chunks", ""),
        ("one cache for the whole model",
         (("        return [GrowingCache() for _ in self.layers]",
           "        return [GrowingCache()]"),), "separate", "a new GrowingCache for each layer"),
        ("caches of another kind",
         (("        return [GrowingCache() for _", "        return [RecordingCache() for _"),),
         "separate", "a new GrowingCache for each layer"),
        ("caches made once and kept",
         (("        return [GrowingCache() for _ in self.layers]",
           "        if not hasattr(self, 'kept'):\n"
           "            self.kept = [GrowingCache() for _ in self.layers]\n"
           "        return self.kept"),), "separate", "new_caches makes new ones each time"),
        ("a past of the model's own",
         (("past = 0 if caches is None else caches[0].length",
           "past = 0 if caches is None or not caches[0].length else self.past\n"
           "        self.past = past + length"),), "separate", ""),
    ),
    *table(
        "keep_top_k",
        ("the k largest returned",
         (("    last_kept",
           "    return logits.topk(min(k, logits.size(-1)), dim=-1).values\n    last_kept"),),
         {"keep_top_k": "values edges"}, "return as many logits as came in"),
        ("zero for what is ruled out", (("-math.inf)", "0.0)"),),
         {"keep_top_k": "values"}, "0 is a logit like any other"),
        ("float32 whatever comes in",
         (("return logits.masked_fill(logits < last_kept, -math.inf)",
           "return logits.masked_fill(logits < last_kept, -math.inf).float()"),),
         {"keep_top_k": "values"}, "has dtype torch.float32, expected torch.float64"),
        ("the smallest kept",
         (("logits < last_kept", "logits > last_kept"),
          ("min(k, logits.size(-1)), dim=-1", "min(k, logits.size(-1)), dim=-1, largest=False")),
         {"keep_top_k": "values edges"}, "the smallest are kept"),
        ("the last of the k ruled out", (("logits < last_kept", "logits <= last_kept"),),
         {"keep_top_k": "values edges"}, "the last of the k is ruled out too"),
        ("sorted",
         (("    return logits.masked_fill(logits < last_kept, -math.inf)",
           "    result = logits.masked_fill(logits < last_kept, -math.inf)\n"
           "    return result.sort(dim=-1, descending=True).values"),),
         {"keep_top_k": "values edges"}, "sorted: the order"),
        ("of all rows together",
         (("logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]",
           "logits.flatten().topk(min(k, logits.size(-1))).values[-1]"),),
         "values edges", "all rows together"),
        ("probabilities",
         (("return logits.masked_fill(logits < last_kept, -math.inf)",
           "return logits.masked_fill(logits < last_kept, -math.inf).softmax(dim=-1)"),),
         {"keep_top_k": "values edges"}, "return logits, not probabilities"),
        ("no more than there are", (("min(k, logits.size(-1))", "k"),), "edges", ""),
        ("exactly k of equals",
         (("    return logits.masked_fill(logits < last_kept, -math.inf)",
           "    top = logits.topk(min(k, logits.size(-1)), dim=-1)\n"
           "    return torch.full_like(logits, -math.inf).scatter(-1, "
           "top.indices, top.values)"),), "edges", "those as probable as the last are kept too"),
        ("in place", (("logits.masked_fill(", "logits.masked_fill_("),),
         "edges", "stay as they are: masked_fill"),
        ("any k will do",
         (("if k < 1:", "if False:"),
          ("min(k, logits.size(-1))", "max(1, min(k, logits.size(-1)))")),
         {"keep_top_k": "edges"}, "k is at least 1"),
        ("k - 1 tokens", (("min(k, logits.size(-1))", "max(1, min(k - 1, logits.size(-1)))"),),
         "values edges", ""),
    ),
    *table(
        "keep_top_p",
        ("one token too many",
         (("falling.masked_fill(before >= p", "falling.masked_fill(before - probabilities >= p"),),
         {"keep_top_p": "values edges"}, ""),
        ("not brought back to order",
         (("    return torch.empty_like(logits).scatter(-1, order, falling)",
           "    return falling"),), {"keep_top_p": "values edges"}, "bring the logits back"),
        ("gathered, not scattered",
         (("torch.empty_like(logits).scatter(-1, order, falling)", "falling.gather(-1, order)"),),
         {"keep_top_p": "values edges"}, "undoes the sorting"),
        ("from the smallest up", (("descending=True", "descending=False"),),
         {"keep_top_p": "values edges"}, ""),
        ("logits added up, not probabilities",
         (("probabilities = falling.softmax(dim=-1)", "probabilities = falling"),),
         {"keep_top_p": "values edges"}, ""),
        ("probabilities returned",
         (("scatter(-1, order, falling)", "scatter(-1, order, falling.softmax(dim=-1))"),),
         {"keep_top_p": "values edges"}, "return logits, not probabilities"),
        ("tokens less probable than 1 - p ruled out",
         (("    falling, order",
           "    return logits.masked_fill(logits.softmax(dim=-1) < 1 - p, "
           "-math.inf)\n    falling, order"),), {"keep_top_p": "values edges"}, ""),
        ("of all rows together",
         (("probabilities.cumsum(dim=-1)",
           "probabilities.flatten().cumsum(0).view_as(probabilities)"),),
         {"keep_top_p": "values edges"}, ""),
        ("zero for what is ruled out", (("before >= p, -math.inf)", "before >= p, 0.0)"),),
         {"keep_top_p": "values"}, "0 is a logit like any other"),
        ("1 is not special", (("    if p == 1:", "    if False:"),),
         {"keep_top_p": "edges"}, "with p = 1 nothing is ruled out"),
        ("any p will do", (("if not 0 < p <= 1:", "if False:"),),
         {"keep_top_p": "edges"}, "p is above 0"),
        ("p = 1 refused", (("if not 0 < p <= 1:", "if not 0 < p < 1:"),),
         {"keep_top_p": "edges"}, ""),
        ("more than p where p would do", (("before >= p", "before > p"),),
         "edges", "compare with >=, not with >"),
        ("all equals kept",
         (("    return torch.empty_like(logits)",
           "    last = falling.masked_fill(before >= p, math.inf).min(dim=-1, "
           "keepdim=True).values\n"
           "    return logits.masked_fill(logits < last, -math.inf)\n"
           "    return torch.empty_like(logits)"),), {"keep_top_p": "edges"}, ""),
        ("in place",
         (("    return torch.empty_like(logits).scatter(-1, order, falling)",
           "    return logits.copy_(torch.empty_like(logits).scatter(-1, order, falling))"),),
         "edges", "stay as they are: work on a copy"),
    ),
    *table(
        "sample",
        ("the likeliest each time", ((DRAW, "token = kept.argmax(dim=-1, keepdim=True)"),),
         "steps distribution", "always the likeliest token"),
        ("drawn from all tokens alike",
         ((DRAW, "token = torch.multinomial(torch.ones_like(kept), 1, generator=generator)"),),
         "distribution end", "all tokens are equally likely"),
        ("the global dice", ((DRAW, DRAW.replace(", generator=generator", "")),),
         "steps", "hand generator on"),
        ("the dice's seed, not the dice",
         (("    tokens, log_probabilities = [], []",
           "    generator = torch.Generator(prompt.device).manual_seed(generator.initial_seed())\n"
           "    tokens, log_probabilities = [], []"),),
         "steps", "its seed stays as it is"),
        ("the global dice, with a seed that is drawn",
         (("    tokens, log_probabilities = [], []",
           "    torch.manual_seed(int(torch.randint(2**31, (), generator=generator,"
           " device=prompt.device)))\n    tokens, log_probabilities = [], []"),
          (DRAW, DRAW.replace(", generator=generator", ""))),
         "steps", "PyTorch's own dice are touched"),
        ("its own dice",
         ((DRAW,
           DRAW.replace("generator=generator",
               "generator=torch.Generator(kept.device).manual_seed(len(tokens))")),),
         "steps", "use the generator that is given"),
        ("one token for all texts", ((DRAW, DRAW + "[:1].expand(len(kept), 1)"),),
         "steps distribution end", "draw a token for each text"),
        ("the prompt read at each step", ((READ_ON, "        logits = model.advance(prompt)\n"),),
         "steps", "advance(token) with the new token alone"),
        ("the last token read too",
         (("        if len(tokens) == max_new_tokens",
           "        if len(tokens) == max_new_tokens:\n"
           "            model.advance(token)\n        if len(tokens) == max_new_tokens"),),
         "steps", "the last token is written, and need not be read"),
        ("a token too few",
         ((" == max_new_tokens:", " == max_new_tokens - 1:"),),
         "steps end", "a step is missing: max_new_tokens tokens are drawn"),
        ("multiplied by the temperature", ((TEMPERED, "kept = logits * temperature"),),
         "distribution", "the logits are multiplied by the temperature"),
        ("no temperature", ((TEMPERED, "kept = logits"),),
         "distribution", "the temperature is not used"),
        ("top_k not used",
         (("        if top_k is not None:\n            kept = keep_top_k(kept, top_k)\n", ""),),
         "steps distribution end", "top_k is not used"),
        ("top_p not used",
         (("        if top_p is not None:\n            kept = keep_top_p(kept, top_p)\n", ""),),
         "steps distribution", "top_p is not used"),
        ("top p first",
         ((
           "        if top_k is not None:\n"
           "            kept = keep_top_k(kept, top_k)\n"
           "        if top_p is not None:\n            kept = keep_top_p(kept, top_p)\n",
           "        if top_p is not None:\n"
           "            kept = keep_top_p(kept, top_p)\n"
           "        if top_k is not None:\n            kept = keep_top_k(kept, top_k)\n"),),
         "distribution", "the top k come first"),
        ("temperature last",
         ((TEMPERED, "kept = logits"), ("kept.softmax", "(kept / temperature).softmax")),
         "distribution", "the temperature comes first"),
        ("log-probability after temperature and top k",
         ((OWN, OWN.replace("logits.log", "kept.log")),),
         "end", "log_softmax of the logits as the model gave them"),
        ("probabilities in place of their logarithms",
         ((OWN, OWN.replace("log_softmax", "softmax")),), "end", "is not the model's own"),
        ("token ids far beyond the vocabulary",
         ((WRITTEN, MADE_ANEW.format("tuple(400_000_000 + t for t in h.tokens)")),),
         "steps distribution end", "a token is not one of 0 to 9"),
        ("floats for tokens", ((WRITTEN, MADE_ANEW.format("tuple(map(float, h.tokens))")),),
         "steps distribution end", "a token that was written is no whole number"),
        ("tensors for tokens", ((WRITTEN, MADE_ANEW.format("torch.tensor(h.tokens)")),),
         "steps distribution end", "a hypothesis has no tuple of tokens"),
        ("the tokens alone returned", ((WRITTEN, "return torch.cat(tokens, dim=1)"),),
         "steps distribution end", "a Hypothesis for each prompt"),
        ("floats read",
         (("        logits = model.advance(token)\n",
           "        logits = model.advance(token.float())\n"),),
         "steps distribution end", "the model was given something else to read"),
        ("a log-probability that is no number",
         ((WRITTEN, MADE_ANEW.format("h.tokens").replace("h.log_probability", "math.nan")),),
         "end", "log_probability is NaN"),
        ("the end token does not end",
         ((
           "        if eos_id is not None:\n"
           "            is_open &= token[:, 0] != eos_id\n", ""),),
         "end", "stop when all texts have ended"),
        ("one end ends all", (("not bool(is_open.any())", "not bool(is_open.all())"),), "end",
         "not when one has"),
        ("the end of this step alone",
         (("is_open &= token[:, 0] != eos_id", "is_open = token[:, 0] != eos_id"),), "end", ""),
        ("nothing cut at the end",
         ((
           "return cut_at_eos(torch.cat(tokens, dim=1), "
           "torch.cat(log_probabilities, dim=1), eos_id)",
           "return cut_at_eos(torch.cat(tokens, dim=1), "
           "torch.cat(log_probabilities, dim=1), None)"),), "end", ""),
        ("one token too few",
         (("len(tokens) == max_new_tokens", "len(tokens) == max_new_tokens - 1"),),
         "steps end", ""),
        ("no complaint about the temperature",
         (("if not 0 < temperature < math.inf:", "if False:"),),
         "steps", "temperature=0.0 makes no sense"),
        ("no complaint about max_new_tokens",
         (("if max_new_tokens < 1:", "if False:"),
          ("len(tokens) == max_new_tokens", "len(tokens) >= max_new_tokens")),
         "steps", "max_new_tokens=0 makes no sense"),
        ("no complaint about the prompt",
         (("if prompt.dim() != 2 or 0 in prompt.shape:", "if False:"),), "steps", ""),
    ),
    *table(
        "kv_cache_bytes",
        *(
            (what, ((BYTES, formula),), "formula", hint)
            for what, formula, hint in (
                ("keys alone", BYTES.removeprefix("2 * "), "a key and a value are two vectors"),
                (
                    "numbers, not bytes",
                    BYTES.removesuffix(" * bytes_per_number"),
                    "bytes_per_number is missing",
                ),
                ("one layer", BYTES.replace(" * num_layers", ""), "each layer keeps its own"),
                ("one text", BYTES.replace(" * batch", ""), "each text of the batch has its own"),
                ("one token", BYTES.replace(" * length", ""), "each token has its own"),
                ("width forgotten", BYTES.replace(" * d_model", ""), "d_model wide"),
                (
                    "length squared: the weights",
                    BYTES.replace("length", "length**2"),
                    "not with its square",
                ),
                (
                    "width squared: the projections",
                    BYTES.replace("d_model", "d_model**2"),
                    "not the matrices",
                ),
                ("bits", f"8 * {BYTES}", "not bits"),
                ("queries too", BYTES.replace("2", "3"), "only keys and values are kept"),
                (
                    "always four bytes",
                    BYTES.replace("bytes_per_number", "4"),
                    "bytes_per_number bytes",
                ),
                ("kilobytes", f"{BYTES} // 1024", "not kilobytes"),
            )
        ),
        ("two bytes by default", (("bytes_per_number: int = 4", "bytes_per_number: int = 2"),),
         "formula", "a number takes 4 bytes where"),
    ),
    # ---- right but at an edge, or where two things come together ----
    *table(
        "sample",
        ("an end token of the prompt ends the text",
         (("tokens, log_probabilities = [], []\n    is_open = torch.ones("
           "prompt.size(0), dtype=torch.bool, device=prompt.device)",
           "tokens, log_probabilities = [], []\n    is_open = (prompt != eos_id).all(dim=1) "
           "if eos_id is not None else torch.ones(len(prompt), dtype=torch.bool)"),),
         "end", "an end token of the prompt ends nothing"),
        ("who never ends is finished",
         ((WRITTEN, MADE_ANEW.format("h.tokens").replace("h.finished", "eos_id is not None")),),
         "end", "see cut_at_eos"),
    ),
    *table(
        "GrowingCache",
        ("keys without values taken at first",
         (("if keys.shape != values.shape:", "if self.length and keys.shape != values.shape:"),),
         "edges", "a new cache refuses these too"),
        ("gradients let in at first",
         (("if keys.requires_grad or", "if self.length and keys.requires_grad or"),),
         "edges", "a new cache refuses these too"),
        ("bytes noted at updates alone",
         (("sum(b.nbytes for b in self._buffers)", "self._bytes"),
          (RETURNED, f"self._bytes = sum(b.nbytes for b in self._buffers)\n        {RETURNED}")),
         "reorder", "the rows that reorder makes take memory too"),
    ),
    *table(
        "FixedCache",
        ("bytes noted at the update alone",
         (("sum(tensor.nbytes for tensor in self.final)", "self._bytes"),
          (KEPT, f"{KEPT}        self._bytes = keys.nbytes + values.nbytes\n")),
         "once", "of the rows that reorder makes"),
        ("bytes kept by reset",
         (("return 0 if self.final is None else sum(tensor.nbytes for tensor in self.final)",
           "return self._bytes"),
          ("        self.final: KeysAndValues | None = None\n",
           "        self.final: KeysAndValues | None = None\n        self._bytes = 0\n"),
          (KEPT, f"{KEPT}        self._bytes = keys.nbytes + values.nbytes\n"),
          (REORDERED,
           f"{REORDERED}            self._bytes = sum(t.nbytes for t in self.final)\n")),
         "once", "reset forgets what is held"),
    ),
    *table(
        "CachedAttention",
        ("no weights once the cache is filled",
         (("if isinstance(attended, tuple):",
           "if cache is not None and cache.final is not None and cache.length != key.size(1):\n"
           "            attended = attended[0] if return_weights else attended\n"
           "        if isinstance(attended, tuple):"),),
         "cross", "what is asked for by return_weights"),
    ),
    # ---- right ones in which one exercise alone is written in another style ----
    *(
        right(f"{exercise} in loops, the others as solved", {exercise: LOOPS[exercise]})
        for exercise in EXERCISES
    ),
)  # fmt: skip
