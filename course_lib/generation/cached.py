"""Models with a KV cache, ready for the searches: each a ``StepModel`` that keeps keys and values.

Dimensions: batch (rows); new_len (tokens of this step); src_len; d_model; vocab_size.
"""

import torch
from torch import Tensor

from course_lib.generation.step_model import check_evaluation_mode, in_full_precision
from course_lib.layers.kv_cache import KVCache
from course_lib.layers.masks import left_padding
from course_lib.models.gpt import DecoderLM
from course_lib.models.transformer import Transformer


class CachedDecoder:
    """A decoder language model that remembers what it has read: a ``StepModel``.

    >>> from course_lib.models.gpt import DecoderLMConfig
    >>> sizes = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 1}
    >>> steps = CachedDecoder(DecoderLM(DecoderLMConfig(**sizes)).eval())
    >>> steps.advance(torch.tensor([[1, 5, 3]])).shape, steps.cache.length
    (torch.Size([1, 9]), 3)
    >>> steps.advance(torch.tensor([[7]])).shape, steps.cache.length  # reads one token
    (torch.Size([1, 9]), 4)

    Args:
        model: The model, in evaluation mode.
        capacity: Room for this many tokens to begin with.
        pad_id: The token id with which short prompts are filled up on the left; None if all are
            of one length.

    Attributes:
        model: As given.
        cache: What it has read so far.
        padding: Int64 ``(batch,)``: with how many tokens of padding each row begins; None without
            ``pad_id``, or where no row does.

    Raises:
        ValueError: The model's dropout is at work.

    Source: chapter "Caching keys and values".
    """

    def __init__(self, model: DecoderLM, *, capacity: int = 64, pad_id: int | None = None) -> None:
        check_evaluation_mode(model)
        self.model = model
        self.cache = KVCache(model.config.num_layers, capacity=capacity)
        self.padding: Tensor | None = None
        self._pad_id = pad_id

    @torch.no_grad()
    def advance(self, tokens: Tensor) -> Tensor:
        """Read further tokens, and say what may follow the last of them; see ``StepModel``."""
        if self.cache.length == 0 and self._pad_id is not None:
            padding = left_padding(tokens, self._pad_id)
            self.padding = padding if bool(padding.any()) else None  # no mask without padding
        hidden = self.model.hidden(tokens, padding=self.padding, cache=self.cache)
        # hidden: (batch, new_len, d_model)
        return in_full_precision(self.model.output_projection(hidden[:, -1]))

    def reorder(self, indices: Tensor) -> None:
        """Go on with chosen sequences; see ``StepModel``."""
        self.cache.reorder(indices)
        if self.padding is not None:
            self.padding = self.padding.index_select(0, indices)


class CachedTransformer:
    """A Transformer that remembers source and translation so far: a ``StepModel``.

    >>> from course_lib.models.transformer import TransformerConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "d_ff": 16}
    >>> config = TransformerConfig(src_vocab_size=9, tgt_vocab_size=7, **sizes)
    >>> model = Transformer(config).eval()
    >>> steps = CachedTransformer(model, *model.encode(torch.tensor([[4, 8, 2], [5, 2, 0]])))
    >>> steps.advance(torch.tensor([[1], [1]])).shape
    torch.Size([2, 7])

    Args:
        model: The model, in evaluation mode.
        memory: ``(batch, src_len, d_model)``, what ``model.encode`` made of the source.
        memory_mask: Boolean ``(batch, 1, 1, src_len)``, True where the source is no padding; None
            if it has none.
        capacity: Room for this many target tokens to begin with.

    Attributes:
        model: As given.
        memory: One row for each row of tokens.
        memory_mask: Likewise.
        cache: What it has read so far.

    Raises:
        ValueError: The model's dropout is at work.

    Source: chapter "Caching keys and values".
    """

    def __init__(
        self,
        model: Transformer,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        *,
        capacity: int = 64,
    ) -> None:
        check_evaluation_mode(model)
        self.model = model
        self.memory = memory
        self.memory_mask = memory_mask
        self.cache = KVCache(model.config.num_decoder_layers, capacity=capacity)

    @torch.no_grad()
    def advance(self, tokens: Tensor) -> Tensor:
        """Read further tokens, and say what may follow the last of them; see ``StepModel``."""
        hidden = self.model.hidden(tokens, self.memory, self.memory_mask, cache=self.cache)
        # hidden: (batch, new_len, d_model)
        return in_full_precision(self.model.output_projection(hidden[:, -1]))

    def reorder(self, indices: Tensor) -> None:
        """Go on with chosen sequences, and their sources; see ``StepModel``."""
        self.cache.reorder(indices)
        self.memory = self.memory.index_select(0, indices)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, indices)
