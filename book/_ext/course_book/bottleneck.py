"""The data of the figure ``bottleneck``, checked, and its table for readers without scripts."""

from dataclasses import dataclass
from typing import Any

from course_book.html_table import html_table


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """Sequences of growing length, the one vector that each became, and what was written from it.

    Attributes:
        examples: For each length, from 1 on, a list of objects with ``source`` and ``written``,
            texts of one letter a token, and ``context``, numbers between -1 and 1.
        right: For each length the share of sequences that are written without a mistake.
        note: Where the numbers come from, in a sentence; may be empty.
    """

    examples: list[list[dict[str, Any]]]
    right: list[float]
    note: str

    @classmethod
    def from_json(cls, data: Any) -> "Bottleneck":
        """Read and check the data that a chapter put into its page.

        Args:
            data: What ``json.loads`` returned.

        Returns:
            The checked data.

        Raises:
            ValueError: Something is missing, surplus, or of the wrong shape.
        """
        if not isinstance(data, dict) or set(data) != {"examples", "right", "note"}:
            raise ValueError("expected an object with examples, right and note")
        if len(data["right"]) != len(data["examples"]):
            raise ValueError("right must hold a share for each length")
        widths = set()
        for length, group in enumerate(data["examples"], start=1):
            for example in group:
                if set(example) != {"source", "context", "written"}:
                    raise ValueError(f"an example has source, context, written; got {example!r}")
                if len(example["source"]) != length:
                    raise ValueError(f"sources must have {length} tokens, got {example['source']}")
                if not all(-1 <= number <= 1 for number in example["context"]):
                    raise ValueError("a context must hold numbers between -1 and 1")
                widths.add(len(example["context"]))
        if len(widths) != 1:
            raise ValueError(f"all contexts must be equally wide, got {sorted(widths)}")
        return cls(**data)

    def table(self) -> str:
        """Return an example for each length as an HTML table."""
        rows = [
            [str(length), group[0]["source"], group[0]["written"], f"{share:.0%}"]
            for length, (group, share) in enumerate(
                zip(self.examples, self.right, strict=True), start=1
            )
        ]
        return html_table(
            "A source of each length, what was written from its context (it should be the source "
            "backwards), and the share of all sources of that length written without a mistake.",
            ["length", "source", "written", "without a mistake"],
            rows,
        )
