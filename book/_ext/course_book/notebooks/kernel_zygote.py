"""The process that kernels are forked from: it has imported what chapters share, and has no thread.

    python kernel_zygote.py MODULE ...

Each line that it reads asks for a kernel, and is answered by the number of its process. When it has
no more to read it ends, and its kernels with it.
"""

import json
import os
import pkgutil
import signal
import sys
from contextlib import suppress
from typing import NoReturn

NULL = os.open(os.devnull, os.O_RDWR)


def import_all(names: list[str]) -> None:
    """Import what each kernel would import by itself.

    Args:
        names: Modules, or what stands in them. What can't be imported is left to the chapters,
            who say so.
    """
    os.environ.setdefault(
        "MPLBACKEND", "module://matplotlib_inline.backend_inline"
    )  # as kernels do
    for name in ("ipykernel.kernelapp", *names):
        with suppress(ImportError, AttributeError):
            pkgutil.resolve_name(name)
    if "torch" in sys.modules:
        import torch._dynamo  # noqa: F401  # the first optimizer imports it, for two seconds


def become_kernel(arguments: list[str], environment: dict[str, str], folder: str) -> NoReturn:
    """Be the kernel that was asked for, until it is shut down.

    Args:
        arguments: Of IPython's command line.
        environment: All variables.
        folder: Where it runs.
    """
    os.setsid()  # a group of processes that can be killed as one
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in (0, 1):  # the zygote's own
        os.dup2(NULL, stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    from ipykernel.kernelapp import IPKernelApp

    app = IPKernelApp.instance(parent_handle=os.getppid())  # it ends when that ends
    app.initialize(arguments)
    app.start()
    sys.exit()


def main() -> None:
    """Fork a kernel for each line of JSON, a dictionary of what ``become_kernel`` takes."""
    del sys.path[0]  # this file's folder
    import_all(sys.argv[1:])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for kernels
    while line := sys.stdin.readline():
        if (kernel := os.fork()) == 0:
            become_kernel(**json.loads(line))
        print(kernel, flush=True)


if __name__ == "__main__":
    main()
