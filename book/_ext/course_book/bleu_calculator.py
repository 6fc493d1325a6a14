"""The data of the figure ``bleu-calculator``, checked, and its table."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class BLEUCalculator:
    """Examples to begin with; the reader writes others.

    Attributes:
        examples: Objects with ``name``, ``candidate`` and ``references``, a list of texts.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    examples: list[dict[str, Any]]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "BLEUCalculator":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing or surplus.
        """
        if not isinstance(data, dict) or set(data) != {"examples", "note"} or not data["examples"]:
            raise ValueError("expected an object with examples, at least one, and note")
        for example in data["examples"]:
            if set(example) != {"name", "candidate", "references"} or not example["references"]:
                raise ValueError(f"an example has name, candidate, references; got {example!r}")
        return cls(**data)

    def table(self) -> str:
        """Return each example's counts and score as an HTML table."""
        from course_lib.bleu import sentence_bleu

        rows = []
        for example in self.examples:
            score = sentence_bleu(example["candidate"], example["references"])
            counts = zip(score.statistics.matches, score.statistics.totals, strict=True)
            rows.append(
                [
                    example["candidate"],
                    " / ".join(example["references"]),
                    *(f"{matches} of {total}" for matches, total in counts),
                    f"{score.brevity_penalty:.2f}",
                    f"{score.score:.1f}",
                ]
            )
        heads = ["candidate", "references", "words", "pairs", "triples", "fours", "BP", "BLEU"]
        return html_table("Matching n-grams and BLEU of some candidates.", heads, rows)
