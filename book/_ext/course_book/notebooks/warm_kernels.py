"""Kernels that begin with the imports done which many chapters share.

To import PyTorch and the rest takes five seconds of a processor. One process does it, and each
kernel is a fork of that one (``kernel_zygote.py``).
"""

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import psutil
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from course_book.notebooks.used_files import LIBRARY, imports_of

NAME = "course-warm"
ZYGOTE = Path(__file__).with_name("kernel_zygote.py")


class Zygote:
    """The process that kernels are forked from.

    Args:
        modules: What it imports.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 -- our own program
            [sys.executable, str(ZYGOTE), *modules],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,  # Ctrl-C is the builder's matter, as with other kernels
        )  # fmt: skip

    def fork(self, command: list[str], environment: dict[str, str], folder: str) -> "Forked":
        """Start a kernel.

        Args:
            command: Of a kernel that would start by itself: ``python -m ipykernel_launcher ...``.
            environment: All variables.
            folder: Where it runs.
        """
        wanted = {"arguments": command[3:], "environment": environment, "folder": folder}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            print(json.dumps(wanted), file=self._process.stdin, flush=True)
            return Forked(int(self._process.stdout.readline()))

    def end(self) -> None:
        """End it, and with it the kernels that are left."""
        self._process.communicate()


class Forked(psutil.Process):
    """A kernel's process, with what ``subprocess.Popen`` has and a provisioner needs."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        """Return None while it runs; what it ended with is not known."""
        return None if self.is_running() else 0

    def send_signal(self, sig: int) -> None:
        """Send a signal, to nobody where the kernel has ended since it was last looked at.

        Args:
            sig: Its number.
        """
        with suppress(psutil.NoSuchProcess):
            super().send_signal(sig)


class WarmProvisioner(LocalProvisioner):
    """Starts kernels as forks of the zygote."""

    zygote: ClassVar[Zygote]

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start a kernel.

        Args:
            cmd: The command that would start it by itself.
            kwargs: What ``subprocess.Popen`` would be told.
        """
        self.cwd = kwargs.get("cwd", Path.cwd())
        self.process = self.zygote.fork(cmd, dict(kwargs["env"]), str(self.cwd))
        self.pid = self.pgid = self.process.pid  # it leads a group of its own
        return self.connection_info


def shared_imports(chapters: Iterable[Iterable[str]]) -> list[str]:
    """Return what at least two chapters import, other than the course's library.

    Args:
        chapters: Of each the sources of its code cells.
    """
    counts = Counter(
        name
        for cells in chapters
        for name in {name for cell in cells for name in imports_of(cell)}
        if name.partition(".")[0] != LIBRARY
    )
    return sorted(name for name, count in counts.items() if count > 1)


@contextmanager
def warm_kernels(modules: Iterable[str]) -> Iterator[None]:
    """Within the block, kernels start with these modules imported.

    Args:
        modules: Their names.
    """
    WarmProvisioner.zygote = Zygote(modules)
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(
        NAME, f"{__name__}:{WarmProvisioner.__name__}", factory.GROUP_NAME
    )
    before, factory.default_provisioner_name = factory.default_provisioner_name, NAME
    try:
        yield
    finally:
        factory.default_provisioner_name = before
        WarmProvisioner.zygote.end()
