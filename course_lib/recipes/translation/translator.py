"""A trained model that translates sentences."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import torch
from torch import nn

from course_lib.generation.beam_search import beam_search
from course_lib.generation.length_penalty import PowerPenalty
from course_lib.recipes.run_record import RunError
from course_lib.recipes.translation.averaging import best_steps
from course_lib.recipes.translation.run_folder import RunFolder
from course_lib.recipes.translation.subwords import BOS_ID, EOS_ID, Subwords
from course_lib.recipes.translation.translation_models import begin, build_model
from course_lib.recipes.weights import load_weights, read_weights

_MAX_TOKENS = 1500  # of a batch of sources
_LONGEST = 400  # tokens of a source; far more than any caption has


class Translator:
    """A model with its vocabulary.

    Args:
        model: As ``build_model`` made it, trained; put into evaluation mode.
        subwords: Its vocabulary.
        device: Where the model is.

    Attributes:
        model: As given.
        subwords: As given.
    """

    def __init__(
        self, model: nn.Module, subwords: Subwords, device: torch.device | str = "cpu"
    ) -> None:
        self.model = model.eval()
        self.subwords = subwords
        self._device = device

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int,
        length_alpha: float,
        on_done: Callable[[int], object] = lambda count: None,
    ) -> list[str]:
        """Translate sentences, those of equal length together: none depends on its neighbours.

        Args:
            sentences: One sentence each; an empty one has an empty translation.
            beam_size: Of the search; 1 is greedy.
            length_alpha: Of its length penalty, ``length ** alpha``.
            on_done: Called with the number of sentences after each batch.

        Returns:
            Their translations, in the same order.

        Raises:
            ValueError: A sentence is longer than 400 tokens.
        """
        sources = [[*ids, EOS_ID] for ids in self.subwords.encode(sentences)]
        translations = [""] * len(sentences)
        filled = [number for number, sentence in enumerate(sentences) if sentence.strip()]
        longest = max((len(sources[number]) for number in filled), default=0)
        if longest > _LONGEST:
            raise ValueError(f"a sentence has {longest} tokens, more than {_LONGEST}: split it")
        for chosen in _groups(filled, lambda number: len(sources[number])):
            src = torch.tensor([sources[number] for number in chosen], device=self._device)
            with torch.no_grad():
                found = beam_search(
                    begin(self.model, src),
                    torch.full((len(chosen), 1), BOS_ID, device=self._device),
                    beam_size=beam_size,
                    eos_id=EOS_ID,
                    max_new_tokens=2 * src.size(1) + 10,
                    length_penalty=PowerPenalty(length_alpha),
                )
            for number, hypotheses in zip(chosen, found, strict=True):
                translations[number] = self.subwords.decode(hypotheses[0].tokens)
            on_done(len(chosen))
        return translations


def _groups(numbers: list[int], length_of: Callable[[int], int]) -> Iterator[list[int]]:
    """Divide sentences into groups of one length, none of more tokens than a batch may have."""
    for length, group in groupby(sorted(numbers, key=length_of), key=length_of):
        same = list(group)
        size = max(1, _MAX_TOKENS // length)
        yield from (same[start : start + size] for start in range(0, len(same), size))


def load_translator(
    folder: RunFolder, device: torch.device | str = "cpu", *, step: int | None = None
) -> Translator:
    """Load what a run has come to: averaged weights at its end, the best ones before.

    Args:
        folder: The run.
        device: Where to put the model.
        step: Load the weights that were kept after so many updates instead.

    Returns:
        The translator.

    Raises:
        RunError: There is no run, no weights yet, or they are of another model.
    """
    recipe = folder.recipe()
    try:
        subwords = Subwords.load(folder.subwords)
    except (OSError, ValueError) as error:
        raise RunError(f"{folder.path} has no vocabulary: {error}") from error
    model = build_model(recipe, len(subwords))
    if step is not None:
        weights = folder.read_weights(step)
    elif folder.model.exists():
        weights = read_weights(folder.model)
    else:
        evaluations = folder.progress()["evaluations"]
        if not evaluations:
            raise RunError(f"{folder.path} has no weights yet: train further")
        (best,) = best_steps(evaluations, 1)  # a mean would hold back weights that still go far
        weights = folder.read_weights(best)
    load_weights(model, weights)
    return Translator(model.to(device), subwords, device)
