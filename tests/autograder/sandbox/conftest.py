"""Workers of the real sandbox, and code for them."""

import pytest

from tests.autograder.conftest import peer_of


@pytest.fixture
def worker(sandbox):
    """Yield a function that starts a worker and returns a pair: a connection, and the worker.

    All workers are stopped after the test.
    """
    started = []

    def start():
        worker = sandbox.start()
        started.append(worker)
        return peer_of(worker), worker

    yield start
    for worker in started:
        sandbox.stop(worker)


def run(peer, source):
    """Run Python statements in the worker at a connection; return their variable ``found``."""
    peer.call("course_worker.shell:run_cell", ("probe", source))
    return peer.call("course_worker.shell:lookup", ("found",))
