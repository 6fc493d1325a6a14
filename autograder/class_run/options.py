"""How submissions are graded: made once, and handed down from the command line to the workers."""

from dataclasses import dataclass, field

from autograder.class_run.cluster import Cluster
from autograder.judging.check_limits import TimeLimits
from autograder.sandbox.worker.isolation import Limits


@dataclass(frozen=True, kw_only=True)
class GradingOptions:
    """How submissions are graded.

    Attributes:
        limits: How long students' code may run.
        worker_limits: What a student's process may use.
        isolated: False runs students' code without protection.
        device: Where the layers run: ``cpu`` or ``cuda``.
        cluster: Where a class is graded.
        seed: Draws the hidden inputs; if None, a fresh one for each submission, or the one that it
            was graded with before another version of the tests.
        force: Grade again also what an earlier run has graded.
    """

    limits: TimeLimits = field(default_factory=TimeLimits)
    worker_limits: Limits = field(default_factory=Limits)
    isolated: bool = True
    device: str = "cpu"
    cluster: Cluster = field(default_factory=Cluster)
    seed: int | None = None
    force: bool = False
