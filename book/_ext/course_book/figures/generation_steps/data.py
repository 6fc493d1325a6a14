"""The data of the figure ``generation-steps``, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_book.figures.figure_data import FigureData
from course_book.figures.html_table import html_table
from course_book.figures.json_checks import require_texts, require_whole

if TYPE_CHECKING:
    from course_lib.models.gpt import DecoderLM

_LIKELIEST = 3


@dataclass(frozen=True, kw_only=True)
class GenerationSteps(FigureData):
    """A small language model, whole, that the page runs.

    Attributes:
        words: The vocabulary.
        start: Id of the token that begins a text.
        end: Id of the token that ends one.
        num_heads: Number of attention heads.
        weights: The parameters of a ``DecoderLM`` with learned positions, by their names.
    """

    words: tuple[str, ...]
    start: int
    end: int
    num_heads: int
    weights: dict[str, Any]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        words = require_texts("words", data["words"])
        for name in ("start", "end"):
            require_whole(name, data[name], 0, len(words) - 1)
        cls(**data | {"words": words}).model()
        return {"words": words}

    def model(self) -> "DecoderLM":
        """Build the language model from its weights.

        Returns:
            The model, in evaluation mode and double precision.

        Raises:
            ValueError: The weights are not those of a ``DecoderLM`` over ``words``.
        """
        import torch

        from course_lib.models.gpt import DecoderLM, DecoderLMConfig

        try:
            tensors = {
                name: torch.tensor(values, dtype=torch.float64)
                for name, values in self.weights.items()
            }
            config = DecoderLMConfig(
                vocab_size=len(self.words),
                max_length=tensors["positions.weight"].size(0),
                d_model=tensors["embedding.weight"].size(1),
                num_heads=self.num_heads,
                d_ff=tensors["layers.0.feed_forward.up_projection.weight"].size(0),
                num_layers=sum(
                    name.endswith("feed_forward.up_projection.bias") for name in tensors
                ),
                dropout=0.0,
            )
            model = DecoderLM(config).double().eval()
            tensors["output_projection.weight"] = tensors["embedding.weight"]
            model.load_state_dict(tensors)
        except (KeyError, IndexError, TypeError, RuntimeError) as error:
            raise ValueError(f"weights must be those of a DecoderLM: {error}") from error
        return model

    def table(self) -> str:
        """Return what the model writes by itself, the likeliest token at each step, as HTML."""
        import torch

        model, tokens, rows = self.model(), [self.start], []
        while tokens[-1] != self.end and len(tokens) < model.config.max_length:
            with torch.no_grad():
                next_token = model(torch.tensor([tokens]))[0, -1].softmax(-1)
            best = next_token.topk(_LIKELIEST)
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            listed = ", ".join(f"{self.words[token]} {p:.2f}" for token, p in pairs)
            rows.append([str(len(tokens)), " ".join(self.words[t] for t in tokens), listed])
            tokens.append(int(best.indices[0]))
        return html_table(
            "The text as the model writes it by itself, always the likeliest token.",
            ["tokens read", "the text so far", "likeliest next tokens"],
            rows,
        )
