"""What is left of a time limit, with a clock and a processor that the tests set."""

import pytest

from autograder.sandbox import time_limit
from autograder.sandbox.time_limit import TimeLimit, by_the_clock


class Machine:
    """The clock, and what the code has used of the processor."""

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


@pytest.fixture
def limit(machine):
    """A limit of 10 s that has begun, with its free moment over."""
    limit = TimeLimit(10.0, machine.used, end=1000.0)
    machine.run(clock=limit.left(), processor=0.0)
    assert limit.left() == 1.0
    return limit


def test_it_is_up_when_the_processor_was_used_for_its_seconds(limit, machine):
    machine.run(clock=9.5, processor=9.5)
    assert limit.left() == pytest.approx(0.5)
    assert not limit.is_used_up
    machine.run(clock=0.5, processor=0.5)
    assert limit.left() <= 0
    assert limit.is_used_up


def test_on_a_busy_machine_it_lasts_longer(limit, machine):
    machine.run(clock=20.0, processor=9.5)
    assert limit.left() == 0.5
    machine.run(clock=0.5, processor=0.5)
    assert limit.left() <= 0
    assert limit.is_used_up


def test_many_processes_at_once_end_it_early(limit, machine):
    machine.run(clock=limit.left(), processor=16.0)
    assert limit.left() <= 0
    assert limit.is_used_up


def test_the_clock_ends_it_at_four_times_its_seconds(limit, machine):
    machine.run(clock=39.0, processor=1.0)
    assert 0 < limit.left() <= 1.0
    machine.run(clock=1.0, processor=1.0)
    assert limit.left() <= 0
    assert not limit.is_used_up


def test_it_never_lasts_beyond_the_end(machine):
    limit = TimeLimit(10.0, machine.used, end=103.0)
    machine.run(clock=2.5, processor=0.0)
    assert limit.left() == 0.5


def test_what_was_used_before_it_began_does_not_count(machine):
    machine.run(clock=50.0, processor=50.0)
    limit = TimeLimit(10.0, machine.used, end=1000.0)
    machine.run(clock=1.0, processor=0.0)
    limit.left()
    machine.run(clock=9.0, processor=9.0)
    assert limit.left() == 1.0


def test_the_processor_is_looked_at_when_it_can_matter(machine):
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


def test_by_the_clock(machine):
    left = by_the_clock(5.0)
    machine.run(clock=2.0, processor=9.0)
    assert left() == 3.0
