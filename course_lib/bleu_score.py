"""What a BLEU score is made of, and the ways to smooth it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from course_lib.bleu_statistics import BLEUStatistics

Smoothing: TypeAlias = Literal["none", "floor", "add-k", "exp"]
"""What to do about precisions of zero; ``bleu.smoothed_precisions`` says what each means."""


@dataclass(frozen=True, kw_only=True)
class BLEUScore:
    """A BLEU score and what it is made of.

    Attributes:
        score: BLEU, 0 to 100.
        precisions: For each order n = 1, 2, ...: the precision p_n that entered the score, 0 to 1,
            after smoothing.
        brevity_penalty: The factor for short candidates, 0 to 1.
        statistics: The counts, before smoothing.
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    statistics: BLEUStatistics

    def __str__(self) -> str:
        """Show the score as sacreBLEU does: precisions in per cent, then the lengths."""
        counted = self.statistics
        reference_length = counted.reference_length
        ratio = counted.candidate_length / reference_length if reference_length else 0.0
        precisions = "/".join(f"{100 * precision:.1f}" for precision in self.precisions)
        return (
            f"BLEU = {self.score:.2f} {precisions} (BP = {self.brevity_penalty:.3f} "
            f"ratio = {ratio:.3f} hyp_len = {counted.candidate_length} "
            f"ref_len = {reference_length})"
        )
