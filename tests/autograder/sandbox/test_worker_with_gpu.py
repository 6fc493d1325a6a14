"""A worker for a GPU gets devices that other workers do not, with or without a GPU."""

import contextlib
import sys
from pathlib import Path

import pytest

from autograder.sandbox.sandbox import Sandbox
from autograder.sandbox.worker.isolation import Limits
from tests.autograder.conftest import peer_of
from tests.autograder.sandbox.conftest import run


@pytest.fixture
def worker(library, sandbox):
    """Yield a connection to a worker for a GPU."""
    limits = Limits(memory_mb=512, scratch_mb=16)
    with contextlib.closing(Sandbox(library, limits=limits, device="cuda")) as sandbox:
        started = sandbox.start()
        yield peer_of(started)
        sandbox.stop(started)


def test_proc_has_only_the_files_that_cuda_needs(worker):
    source = """
import os, threading
names = [os.listdir("/proc"), sorted(os.listdir("/proc/self")), os.listdir("/tmp")]
def tell_name():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write("cuda-EvtHandlr")
thread = threading.Thread(target=tell_name)
thread.start()
thread.join()
def is_refused(path):
    try:
        open(path, "w")
    except OSError:
        return True
refused = [is_refused(f"/proc/{name}") for name in ("x", "self/x", "self/task/x", "self/maps")]
found = [names, "python" in open("/proc/self/maps").read(), refused]
"""
    (proc, own, temporary), has_maps, refused = run(worker, source)
    assert (proc, own) == (["self"], ["maps", "task"])
    assert (has_maps, refused) == (True, [True] * 4)
    python = {Path(sys.prefix), Path(sys.base_prefix)}  # one may lie there, with the clone
    ways = {path.relative_to("/tmp").parts[0] for path in python if path.is_relative_to("/tmp")}
    assert set(temporary) == ways


def test_network_and_control_groups_are_hidden(worker):
    source = """
import os
places = ["/sys/fs", "/sys/class/net", "/sys/devices/virtual/net", "/sys/firmware"]
for folder, names, _ in os.walk("/sys/devices"):
    if "net" in names:
        places.append(folder + "/net")
there = bool(os.listdir("/sys/devices/system/cpu"))
found = [there, [os.listdir(place) for place in places if os.path.isdir(place)]]
"""
    there, empty = run(worker, source)
    assert there
    assert not any(empty)


def test_unix_sockets_may_be_sequenced(worker):
    """CUDA binds a Unix socket of type SOCK_SEQPACKET and listens on it when it starts."""
    source = """
import socket
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as asked:
    asked.bind("\\0cuda-uvmfd-4026531836-1")
    asked.listen(16)
def is_refused(family, kind):
    try:
        socket.socket(family, kind)
    except OSError:
        return True
found = [is_refused(1, 1), is_refused(2, 5)]
"""
    assert run(worker, source) == [None, True]
