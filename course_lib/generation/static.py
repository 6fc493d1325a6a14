"""Static cache: a decoder whose steps all look alike, so that one is compiled and replayed.

A ``GrowingCache`` gives longer keys at every step, and a compiler would have to start again for
each length. Here the buffers have their full length from the start, every query attends to all of
it, and a mask hides what is not written yet. That is more to compute for each token, and yet much
faster on a GPU, where a step of a small model is over before the CPU has said what comes next: as
a graph of the GPU's (a CUDA graph) the whole step is said at once.

Dimensions: batch; num_heads; new_len (tokens of this step); capacity (tokens at most); head_dim.
"""

import torch
from torch import Tensor

from course_lib.generation.step_model import check_evaluation_mode
from course_lib.layers.kv_cache import KeysAndValues
from course_lib.layers.masks import left_padding, left_padding_mask
from course_lib.models.gpt import DecoderLM


class StaticCache:
    """The keys and values of one self-attention, in buffers that never move or grow.

    >>> cache = StaticCache((1, 2, 8, 4), like=torch.zeros(1))
    >>> keys, values = cache.update(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
    >>> keys.shape, keys[0, 0, :, 0]
    (torch.Size([1, 2, 8, 4]), tensor([1., 0., 0., 0., 0., 0., 0., 0.]))

    Args:
        shape: ``(batch, num_heads, capacity, head_dim)``.
        like: Gives dtype and device.

    Attributes:
        keys: ``(batch, num_heads, capacity, head_dim)``.
        values: Likewise.
        length: Number of tokens held. The user of the cache counts them, since a step that counts
            would not look like the one before.
        places: ``(new_len,)``, int64: where the next tokens are written.
        final: None, as in ``GrowingCache``.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, shape: tuple[int, int, int, int], like: Tensor) -> None:
        self.keys = torch.zeros(shape, dtype=like.dtype, device=like.device)
        self.values = torch.zeros_like(self.keys)
        self.length = 0
        self.places = torch.zeros(1, dtype=torch.int64, device=like.device)
        self.final = None

    def update(self, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Write the keys and values of new tokens.

        Args:
            keys: ``(batch, num_heads, new_len, head_dim)``.
            values: ``(batch, num_heads, new_len, head_dim)``.

        Returns:
            All there is room for, ``(batch, num_heads, capacity, head_dim)`` each.
        """
        self.keys.index_copy_(2, self.places, keys)
        self.values.index_copy_(2, self.places, values)
        return self.keys, self.values


class StaticDecoder:
    """A decoder language model that remembers what it has read, in fixed memory: a ``StepModel``.

    >>> from course_lib.models.gpt import DecoderLMConfig
    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 1}
    >>> model = DecoderLM(DecoderLMConfig(**sizes)).eval()
    >>> steps = StaticDecoder(model, batch=1, capacity=16)
    >>> steps.advance(torch.tensor([[1, 5, 3]])).shape, steps.length
    (torch.Size([1, 9]), 3)

    Args:
        model: The model, in evaluation mode, with learned positions.
        batch: Number of sequences, the same throughout: for greedy search and for sampling.
        capacity: Most tokens of a sequence, prompt and its padding included.
        pad_id: The token id with which short prompts are filled up on the left; None if all are
            of one length.
        compiled: Compile the step for one new token; the first takes a minute. On a GPU it becomes
            a CUDA graph.

    Attributes:
        model: As given.
        length: Number of tokens read; set it to 0 to begin again.

    Raises:
        ValueError: The model has no learned positions, or not ``capacity`` of them, or its dropout
            is at work.

    Source: ``torch.compile``'s mode ``reduce-overhead``; chapter "Caching keys and values".
    """

    def __init__(
        self,
        model: DecoderLM,
        *,
        batch: int,
        capacity: int,
        pad_id: int | None = None,
        compiled: bool = False,
    ) -> None:
        config = model.config
        if model.positions is None or capacity > config.max_length:
            raise ValueError(
                f"model must have {capacity} learned positions, got {config.positions} ones "
                f"and max_length={config.max_length}"
            )
        check_evaluation_mode(model)
        self.model = model
        self.length = 0
        self._batch, self._capacity, self._pad_id = batch, capacity, pad_id
        weight = model.embedding.weight
        head_dim = config.d_model // config.num_heads
        shape = (batch, config.num_heads, capacity, head_dim)
        self._caches = [StaticCache(shape, weight) for _ in range(config.num_layers)]
        self._padding: Tensor | None = None  # (batch,) where there is a pad_id
        self._columns = torch.arange(capacity, device=weight.device)
        self._step = self._read
        if compiled:
            for buffer in (b for cache in self._caches for b in (cache.keys, cache.values)):
                # A CUDA graph writes into memory only if it is promised that it stays where it is.
                torch._dynamo.mark_static_address(buffer)
            self._step = torch.compile(self._read, mode="reduce-overhead", fullgraph=True)

    @torch.no_grad()
    def advance(self, tokens: Tensor) -> Tensor:
        """Read more tokens and say what may come next.

        Args:
            tokens: ``(batch, new_len)``, token ids: the prompt at first, then what was chosen.

        Returns:
            Logits of the token after the last, ``(batch, vocab_size)``, float32 or float64.

        Raises:
            ValueError: There is no room for them, they are not of ``batch`` sequences, or a prompt
                is nothing but padding.
        """
        new_len = tokens.size(1)
        self._check_rows("tokens", tokens)
        if self.length + new_len > self._capacity:
            raise ValueError(
                f"there is room for {self._capacity} tokens, got {self.length + new_len}"
            )
        if self.length == 0 and self._pad_id is not None:
            self._padding = left_padding(tokens, self._pad_id)
        places = torch.arange(self.length, self.length + new_len, device=tokens.device)
        for cache in self._caches:
            cache.length, cache.places = self.length, places
        self.length += new_len
        # Only steps of one token look alike; a prompt is read once.
        read = self._step if new_len == 1 else self._read
        logits = read(tokens, places, self._padding)  # (batch, vocab_size)
        # A replayed graph writes its results over those of the step before.
        return logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)

    def reorder(self, indices: Tensor) -> None:
        """Make row i go on from what was row ``indices[i]``.

        Args:
            indices: ``(batch,)``, int64; a row may be taken more than once or not at all.

        Raises:
            ValueError: They are more or fewer than ``batch``.
        """
        self._check_rows("indices", indices)
        for cache in self._caches:
            cache.keys.copy_(cache.keys.index_select(0, indices))
            cache.values.copy_(cache.values.index_select(0, indices))
        if self._padding is not None:
            self._padding = self._padding.index_select(0, indices)

    def _check_rows(self, name: str, given: Tensor) -> None:
        if given.size(0) != self._batch:
            raise ValueError(
                f"{name} must have {self._batch} rows, as the memory has, got {given.size(0)}; "
                "CachedDecoder's memory grows"
            )

    def _read(self, tokens: Tensor, places: Tensor, padding: Tensor | None) -> Tensor:
        mask = (self._columns <= places[:, None])[None, None]  # (1, 1, new_len, capacity)
        if padding is not None:
            mask = mask & left_padding_mask(padding, self._capacity)
        hidden = self.model.read(
            tokens, mask, offset=places[:1], padding=padding, caches=self._caches
        )  # (batch, new_len, d_model)
        return self.model.output_projection(hidden[:, -1])
