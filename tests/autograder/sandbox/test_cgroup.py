"""Control groups: used where they are delegated; a worker without one is watched instead."""

import contextlib
import os
import types
from pathlib import Path

import pytest

from autograder.sandbox import cgroup
from autograder.sandbox.cgroup import WorkerGroup, claim, delegated_group
from autograder.sandbox.worker.isolation import Limits
from tests.autograder.conftest import peer_of

LIMITS = Limits(memory_mb=100, scratch_mb=10, processes=7)


@pytest.fixture
def mount(tmp_path, monkeypatch):
    """Return a folder with the files of a root control group, of which this process seems part."""
    text = {
        "cgroup.controllers": "cpu memory pids\n",
        "cgroup.procs": "12\n34\n",
        "cgroup.subtree_control": "",
        "memory.swap.max": "max\n",
    }
    for name, content in text.items():
        (tmp_path / name).write_text(content)
    is_in(monkeypatch, "/")
    return tmp_path


def is_in(monkeypatch, group: str) -> None:
    """Make /proc/self/cgroup read as if this process were in ``group``, a path from the mount."""

    def read_text(path, *rest, **options):
        return f"3:memory:/x\n0::{group}\n" if str(path) == "/proc/self/cgroup" else read(path)

    read = lambda path: path.read_bytes().decode()
    monkeypatch.setattr(Path, "read_text", read_text)


@pytest.mark.parametrize("group", ["/", "/judges"])
def test_group_of_a_container_is_found_again(mount, monkeypatch, group):
    is_in(monkeypatch, group)
    assert delegated_group(mount) == mount


@pytest.mark.parametrize(
    "lacking", ["cgroup.controllers", "memory.swap.max", "cgroup.subtree_control", "memory"]
)
def test_group_without_a_file_or_controller_is_not_used(mount, lacking):
    if lacking == "memory":
        (mount / "cgroup.controllers").write_text("cpu pids")
    else:
        (mount / lacking).unlink()
    assert delegated_group(mount) is None


def test_group_below_is_used_if_it_was_delegated(mount, monkeypatch):
    below = mount / "user.slice" / "run.scope"
    below.mkdir(parents=True)
    for file in list(mount.glob("*.*")):
        if file.is_file():
            (below / file.name).write_bytes(file.read_bytes())
    is_in(monkeypatch, "/user.slice/run.scope")
    assert delegated_group(mount) is None  # a login, say
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"1" if path == below else b"")
    assert delegated_group(mount) == below


def test_claim_moves_processes_and_enables_controllers(mount):
    (mount / "judges").mkdir()
    moved = mount / "judges" / "cgroup.procs"
    moved.write_text("")
    (mount / "worker-1-0").mkdir()  # of a killed run
    claim(mount)
    assert moved.read_text() == "34"  # the last; a real file takes them one by one
    assert (mount / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert not (mount / "worker-1-0").exists()


def test_group_has_the_limits_of_a_worker(mount, monkeypatch):
    made = []

    def mkdir(path, *rest, **options):
        os.mkdir(path)
        made.append(path)
        (path / "cgroup.procs").touch()  # the kernel does

    monkeypatch.setattr(Path, "mkdir", mkdir)
    group = WorkerGroup(mount, LIMITS)
    (folder,) = made
    told = {file.name: file.read_text() for file in folder.iterdir()}
    assert told == {
        "cgroup.procs": "",
        "memory.max": str(120 << 20),
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "pids.max": "14",
    }
    os.write(group.entrance, b"0")
    assert (folder / "cgroup.procs").read_text() == "0"
    for file in folder.iterdir():  # the kernel's files are no hindrance
        file.unlink()
    group.remove()
    assert not folder.exists()


@pytest.fixture
def real_groups():
    """Yield a new control group of the real file system; skip the test if none can be made."""
    for mount in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        group = mount / f"test-{os.getpid()}"
        if not (mount / "cgroup.controllers").exists():
            continue
        with contextlib.suppress(OSError):
            group.mkdir()
            yield group
            group.rmdir()
            return
    pytest.skip("no cgroup2 that may be written")


@pytest.mark.sandbox
def test_worker_is_in_its_group_from_the_start_and_removes_it(sandbox, real_groups, monkeypatch):
    monkeypatch.setattr(cgroup, "_settings", lambda limits: {})  # what controllers there are
    monkeypatch.setattr(sandbox, "groups", real_groups)
    worker = sandbox.start()
    (group,) = (path for path in real_groups.iterdir() if path.is_dir())
    try:
        peer_of(worker).call(
            "course_worker.shell:run_cell", ("cell", "import os\npid = os.fork()\n")
        )
        assert len((group / "cgroup.procs").read_text().split()) >= 3  # outside, inside, its child
        assert "worker" not in (real_groups / "cgroup.procs").read_text()
    finally:
        sandbox.stop(worker)
    assert not group.exists()


@pytest.mark.sandbox
def test_worker_runs_without_a_group_that_is_refused(sandbox, monkeypatch):
    full = os.open("/dev/full", os.O_WRONLY)  # whoever writes there is refused
    group = types.SimpleNamespace(entrance=full, remove=lambda: os.close(full))
    monkeypatch.setattr(sandbox, "_make_group", lambda: group)
    worker = sandbox.start()
    peer_of(worker).call("course_worker.shell:lookup", ("In",))
    sandbox.stop(worker)
