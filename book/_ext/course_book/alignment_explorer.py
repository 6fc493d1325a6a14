"""The data of the figure ``alignment-explorer``, checked, and its table."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class AlignmentExplorer:
    """Pairs of sequences, where a model looked, and where it should have.

    Attributes:
        examples: Objects with ``name``; ``src`` and ``tgt``, lists of words; ``weights``, for each
            target word a number for each source word, 0 to 1, that sum to 1; ``truth``, pairs of a
            source and a target position.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    examples: list[dict[str, Any]]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "AlignmentExplorer":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong shape.
        """
        if not isinstance(data, dict) or set(data) != {"examples", "note"} or not data["examples"]:
            raise ValueError("expected an object with examples, at least one, and note")
        for example in data["examples"]:
            if set(example) != {"name", "src", "tgt", "weights", "truth"}:
                raise ValueError(f"an example has name, src, tgt, weights, truth; got {example!r}")
            shape = [len(row) for row in example["weights"]]
            if shape != [len(example["src"])] * len(example["tgt"]):
                raise ValueError(f"{example['name']}: weights must have a row for each target word")
            if not all(abs(sum(row) - 1) < 0.02 for row in example["weights"]):
                raise ValueError(f"{example['name']}: the weights of a row must sum to 1")
            for i, j in example["truth"]:
                if not (0 <= i < len(example["src"]) and 0 <= j < len(example["tgt"])):
                    raise ValueError(f"{example['name']}: truth names places that are not there")
        return cls(**data)

    def table(self) -> str:
        """Return each target word's heaviest source word and its true ones as an HTML table."""
        rows = []
        for example in self.examples:
            for j, (word, row) in enumerate(zip(example["tgt"], example["weights"], strict=True)):
                heaviest = max(range(len(row)), key=row.__getitem__)
                true = [example["src"][i] for i, target in example["truth"] if target == j]
                rows.append(
                    [
                        word,
                        example["name"],
                        f"{example['src'][heaviest]} ({row[heaviest]:.2f})",
                        ", ".join(true) or "none",
                    ]
                )
        return html_table(
            "For each target word the source word that it looks at most, and the true ones.",
            ["target", "example", "looks at", "truth"],
            rows,
        )
