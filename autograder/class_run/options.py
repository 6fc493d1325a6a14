"""How submissions are graded: made once, then passed from the command line to the workers."""

from dataclasses import dataclass, field

from autograder.judging.check_limits import TimeLimits
from autograder.sandbox.worker.isolation import Limits


@dataclass(frozen=True, kw_only=True)
class GradingOptions:
    """How submissions are graded.

    Attributes:
        limits: Time limits of students' code.
        worker_limits: Resource limits of a student's process.
        isolated: False runs students' code without a sandbox.
        device: Device of the layers: ``cpu`` or ``cuda``.
        workers: Submissions at a time on this machine; as many as cores, or GPUs, if None.
        seed: Draws the hidden inputs; if None, one for the whole run, or the seed that the same
            notebook was graded with before.
        force: Grade again, also notebooks with a stored result.
    """

    limits: TimeLimits = field(default_factory=TimeLimits)
    worker_limits: Limits = field(default_factory=Limits)
    isolated: bool = True
    device: str = "cpu"
    workers: int | None = None
    seed: int | None = None
    force: bool = False
