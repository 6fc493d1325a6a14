"""Beam search trees: the hypotheses that a beam search kept, and the candidates that it dropped.

Dimensions: rows (hypotheses in the beam); vocab_size.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from course_lib.generation.beam_search import beam_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.generation.step_models import StepModel


@dataclass(frozen=True, kw_only=True)
class BeamNode:
    """A hypothesis that the search considered: the prompt and the tokens on the path to this node.

    >>> BeamNode(parent=0, token=5, length=1, log_probability=-0.7, fate="kept").rank is None
    True

    Attributes:
        parent: Index in the tree of the node that it extends by one token; None for the prompt.
        token: Id of its last token; None for the prompt.
        length: Number of tokens after the prompt.
        log_probability: Sum of the log-probabilities of these tokens (nats).
        fate: ``kept`` in the beam, ``dropped`` from it, or ``result`` if the search returned it.
        rank: Rank among the results, 0 for the best; None if it is no result.
    """

    parent: int | None
    token: int | None
    length: int
    log_probability: float
    fate: Literal["kept", "dropped", "result"]
    rank: int | None = None


def beam_tree(
    model: StepModel,
    prompt: Tensor,
    *,
    beam_size: int,
    eos_id: int | None,
    max_new_tokens: int,
    length_penalty: Callable[[int], float] = PowerPenalty(alpha=1.0),
    candidates: int = 3,
) -> list[BeamNode]:
    """Run ``beam_search`` for one prompt ``(1, prompt_len)``; return all hypotheses as a tree.

    The first node is the prompt; a parent comes before its children. Each hypothesis in the beam
    has at least ``candidates`` children. The other arguments are those of ``beam_search``.

    Source: chapter "Decoding".
    """
    if prompt.dim() != 2 or prompt.size(0) != 1:
        raise ValueError(f"prompt must be (1, prompt_len), got {tuple(prompt.shape)}")
    recorder = _Recorder(model, candidates)
    found = beam_search(
        recorder,
        prompt,
        beam_size=beam_size,
        eos_id=eos_id,
        max_new_tokens=max_new_tokens,
        length_penalty=length_penalty,
        num_results=beam_size,
    )[0]
    for rank, hypothesis in enumerate(found):
        node = 0
        for token in hypothesis.tokens:
            node = recorder.child(node, token)
        recorder.tree[node] = replace(recorder.tree[node], fate="result", rank=rank)
    return recorder.tree


class _Recorder:
    """A step model that records in ``tree`` the hypotheses that a search extends.

    The tree, a list of ``BeamNode``, also gets the best ``candidates`` extensions of each.
    """

    def __init__(self, model: StepModel, candidates: int) -> None:
        self.tree = [BeamNode(parent=None, token=None, length=0, log_probability=0.0, fate="kept")]
        self._model = model
        self._candidates = candidates
        self._rows: list[int] = []  # the node of each hypothesis in the beam
        # For each extended node the log-probabilities of the next token, (vocab_size,).
        self._steps: dict[int, Tensor] = {}
        self._children: dict[tuple[int, int], int] = {}  # (parent, token): child

    def advance(self, tokens: Tensor) -> Tensor:
        """Return the model's logits; add the hypotheses and their best extensions to the tree."""
        if not self._rows:
            self._rows = [0]
        else:
            self._rows = [
                self.child(row, token)
                for row, token in zip(self._rows, tokens[:, -1].tolist(), strict=True)
            ]
            for row in self._rows:
                self.tree[row] = replace(self.tree[row], fate="kept")
        logits = self._model.advance(tokens)  # (rows, vocab_size)
        for row, step in zip(self._rows, logits.log_softmax(dim=-1), strict=True):
            if math.isfinite(self.tree[row].log_probability):
                self._steps[row] = step
                for token in step.topk(min(self._candidates, len(step))).indices.tolist():
                    self.child(row, token)
        return logits

    def reorder(self, indices: Tensor) -> None:
        """Continue with the hypotheses of these rows; see ``StepModel``."""
        self._rows = [self._rows[index] for index in indices.tolist()]
        self._model.reorder(indices)

    def child(self, parent: int, token: int) -> int:
        """Return the index of the node that extends ``parent`` by ``token``.

        A new node counts as dropped until the search asks to extend it.
        """
        if (parent, token) not in self._children:
            above = self.tree[parent]
            step = self._steps.get(parent)
            gained = -math.inf if step is None else float(step[token])
            self._children[parent, token] = len(self.tree)
            self.tree.append(
                BeamNode(
                    parent=parent,
                    token=token,
                    length=above.length + 1,
                    log_probability=above.log_probability + gained,
                    fate="dropped",
                )
            )
        return self._children[parent, token]
