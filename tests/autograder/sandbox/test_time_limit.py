"""A time limit counts the processor, with a clock and a processor that the tests set."""

import pytest

from autograder.sandbox import time_limit
from autograder.sandbox.time_limit import TimeLimit, by_the_clock


class Machine:
    """A fake of the clock and of the code's processor time (seconds), which a test advances.

    ``asked`` counts how often the processor time was read.
    """

    def __init__(self):
        self.clock = 100.0
        self.processor = 7.0
        self.asked = 0

    def monotonic(self):
        return self.clock

    def used(self):
        self.asked += 1
        return self.processor

    def run(self, clock, processor):
        self.clock += clock
        self.processor += processor


@pytest.fixture
def machine(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(time_limit, "time", machine)
    return machine


@pytest.mark.parametrize(
    ("steps", "left", "is_used_up"),
    [
        ([(9.5, 9.5)], 0.5, False),
        ([(9.5, 9.5), (0.5, 0.5)], 0.0, True),
        ([(20.0, 9.5)], 0.5, False),  # a busy machine
        ([(20.0, 9.5), (0.5, 0.5)], 0.0, True),
        ([(1.0, 16.0)], 0.0, True),  # many processes at once
        ([(39.0, 1.0)], 0.9, False),
        ([(39.0, 1.0), (1.0, 1.0)], -0.1, False),  # four times its seconds, by the clock
    ],
)
def test_limit_of_ten_seconds(machine, steps, left, is_used_up):
    machine.run(clock=50.0, processor=50.0)  # before it began
    limit = TimeLimit(10.0, machine.used, end=1000.0)
    machine.run(clock=limit.left(), processor=0.0)
    assert limit.left() == 1.0
    for clock, processor in steps:
        machine.run(clock, processor)
        found = limit.left()
    assert found == pytest.approx(left)
    assert limit.is_used_up == is_used_up


def test_limit_never_lasts_beyond_the_end(machine):
    limit = TimeLimit(10.0, machine.used, end=103.0)
    machine.run(clock=2.5, processor=0.0)
    assert limit.left() == 0.5
    left = by_the_clock(5.0)
    machine.run(clock=2.0, processor=9.0)
    assert left() == 3.0


def test_processor_is_measured_only_when_it_can_matter(machine):
    limit = TimeLimit(10.0, machine.used, end=1000.0)
    limit.left()
    assert machine.asked == 0  # most checks end at once
    machine.run(clock=1.0, processor=0.0)
    for _ in range(80):
        assert limit.left() > 0
        machine.run(clock=0.125, processor=0.1249)
    assert machine.asked == 10  # once a second
    assert limit.left() == pytest.approx(0.05)  # not at once again, however little is unused
    assert machine.asked == 11
