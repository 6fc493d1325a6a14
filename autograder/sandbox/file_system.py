"""The files of the machine that a worker sees: those that Python and its packages need to run.

Submissions (nbgrader's exchange is usually in /usr/local/share), settings with passwords, packages
of other Pythons and the course are hidden, even if the course is among Python's files.
"""

import os
import sys
from pathlib import Path

from autograder.sandbox.zygote import SandboxError

_COURSE_PACKAGES = ("course_lib", "autograder")
_OF_A_ROOT = ("bin", "sbin", "lib", "lib32", "lib64")
_OF_A_SYSTEM = (*_OF_A_ROOT, "include", "libexec", "share")
_OF_LOCAL = ("bin", "lib", "lib64", "share/fonts")
_OF_A_PYTHON = ("bin", "lib", "lib32", "lib64", "include", "share/terminfo", "share/zoneinfo")
_FROM_SYS = (
    "/sys/devices/system/cpu",  # read by PyTorch's quantised kernels
    "/sys/kernel/mm/transparent_hugepage/enabled",  # read by the C library
    "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
)
_FROM_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "localtime", "alternatives")
# Processes could map /dev/zero as shared memory, without a file; /dev/null can't be mapped.
_NO_SHARED_ZEROS = ["--dev-bind", "/dev/null", "/dev/zero"]
_MOST_LINKS = 40  # the kernel's own limit
_NETWORKS = ("/sys/class/net", "/sys/class/infiniband")
_NOT_FOR_CUDA = ("/sys/fs", "/sys/firmware", *_NETWORKS)


def machine_mounts() -> list[str]:
    """Return bubblewrap's arguments that mount the system and Python, and hide the course in them.

    Raises:
        SandboxError: Python is installed among the course's files.
    """
    return [*_system_mounts(), *_folder_mounts(), *_course_covers(), *_covers(*_other_packages())]


def device_mounts(device: str) -> list[str]:
    """Return bubblewrap's further arguments for a device, ``cpu`` or ``cuda``."""
    if device != "cuda":
        return _NO_SHARED_ZEROS
    devices = sorted(str(path) for path in Path("/dev").glob("nvidia*"))
    mounts = [argument for path in devices for argument in ("--dev-bind", path, path)]
    for path in ("/proc/driver/nvidia", "/sys", "/usr/local/nvidia", "/usr/local/cuda"):
        mounts += ["--ro-bind-try", path, path]
    cards = {card.resolve().parent for name in _NETWORKS for card in Path(name).glob("*")}
    return [*mounts, *_covers(*map(Path, _NOT_FOR_CUDA), *cards)]


def readable_mount(source: str, target: str) -> list[str]:
    """Return bubblewrap's arguments that mount ``source`` read-only at ``target``.

    All users may enter the parents of ``target``.
    """
    return [*_parents(Path(target)), "--ro-bind", source, target]


def package_folders() -> list[str]:
    """Return the folders of packages that this Python imports, in its order.

    Other places that it imports from, such as the current folder, are hidden from workers.
    """
    places = [Path(place).resolve() for place in sys.path]
    return [str(place) for place in places if any(place.glob("*.dist-info"))]


def import_path(first: str) -> str:
    """Return a worker's $PYTHONPATH: ``first``, then package folders outside of Python's own."""
    prefixes = _prefixes()
    outside = [p for p in package_folders() if not any(map(Path(p).is_relative_to, prefixes))]
    return os.pathsep.join([first, *outside])


def _system_mounts() -> list[str]:
    mounts = ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108
    for name in _FROM_SYS:
        mounts += [*_parents(Path(name)), "--ro-bind-try", name, name]
    for name in _FROM_ETC:
        mounts += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return mounts


def _folder_mounts() -> list[str]:
    folders = _all_folders()
    shown = {folder for folder in folders if folders.isdisjoint(folder.parents)}
    mounts = [arg for folder in sorted(shown) for arg in readable_mount(str(folder), str(folder))]
    for prefix in sorted(_prefixes()):
        mounts += _settings(prefix)
    # A symlink is mounted as a symlink, so that hiding its target hides it everywhere.
    for place in dict.fromkeys((*_places(), Path(sys.base_prefix), *_links_to_python())):
        target = place.resolve()
        if place != target and target.exists() and not any(map(place.is_relative_to, shown)):
            mounts += [*_parents(place), "--symlink", str(target), str(place)]
            shown.add(place)
    return mounts


def _settings(prefix: Path) -> list[str]:
    settings = str(prefix / "pyvenv.cfg")
    return ["--ro-bind-try", settings, settings]


def _all_folders() -> set[Path]:
    """Return the folders of the system, Python and packages that a worker may read, resolved."""
    return {place.resolve() for place in _places() if os.path.isdir(place)}  # noqa: PTH112


def _places() -> list[Path]:
    parts = [
        *((Path("/"), name) for name in _OF_A_ROOT),
        *((Path("/usr"), name) for name in _OF_A_SYSTEM),
        *((Path("/usr/local"), name) for name in _OF_LOCAL),
        *((prefix, name) for prefix in sorted(_prefixes()) for name in _OF_A_PYTHON),
    ]
    return [*(folder / name for folder, name in parts), *map(Path, package_folders())]


def _links_to_python() -> list[Path]:
    """Return the symlinks between ``sys.executable`` and the program that it leads to."""
    links: list[Path] = []
    program = Path(sys.executable)
    while program.is_symlink() and len(links) < _MOST_LINKS:
        # Without "..", so that it can be compared with the mounted folders.
        program = Path(os.path.normpath(program.parent.resolve() / program.readlink()))
        links.append(program)
    return links[:-1]


def _prefixes() -> set[Path]:
    return {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}


def _other_packages() -> list[Path]:
    """Return the folders of packages that only other Pythons of this machine import."""
    roots = {*_prefixes(), Path("/usr"), Path("/usr/local")}
    found = {place.resolve() for root in roots for place in root.glob("lib*/python3*/*-packages")}
    return sorted(found - {Path(place) for place in package_folders()})


def _course_covers() -> list[str]:
    """Return bubblewrap's arguments that hide the course inside the mounted folders.

    ``pip install`` puts ``course_lib``, with every solution, into the same folder as torch.

    Raises:
        SandboxError: Python is installed among the course's files.
    """
    shown = _all_folders()
    covered: set[Path] = set()
    mounts = []
    for folder in sorted(_course_folders()):  # parents first
        if folder in shown:
            raise SandboxError(
                f"Python is installed in {folder}, among the course's files, where students' code "
                "could read them; make its virtual environment in a folder of its own"
            )
        around = [place for place in shown | covered if folder.is_relative_to(place)]
        if not around or max(around, key=lambda place: len(place.parts)) in covered:
            continue
        covered.add(folder)
        mounts += ["--perms", "0755", "--tmpfs", str(folder)]
        inside = {place for place in shown if place.is_relative_to(folder)}
        for python in sorted(place for place in inside if inside.isdisjoint(place.parents)):
            mounts += readable_mount(str(python), str(python))
        for prefix in sorted(_prefixes()):
            if prefix.is_relative_to(folder):
                mounts += _settings(prefix)
        mounts += ["--remount-ro", str(folder)]
    return mounts


def _course_folders() -> set[Path]:
    """Return the course's packages that this Python can import, and the course's projects."""
    places = {p.resolve() for p in (*map(Path, sys.path), Path(__file__).parents[2])}
    packages = {(place / name).resolve() for place in places for name in _COURSE_PACKAGES}
    projects = {
        p for p in places if (p / "pyproject.toml").is_file() and (p / "solutions").is_dir()
    }
    return {package for package in packages if package.is_dir()} | projects


def _covers(*folders: Path) -> list[str]:
    """Return bubblewrap's arguments that hide the contents of those folders that exist."""
    there = [str(folder) for folder in folders if folder.is_dir()]
    return [arg for name in there for arg in ("--tmpfs", name, "--remount-ro", name)]


def _parents(target: Path) -> list[str]:
    on_the_way = [str(folder) for folder in reversed(target.parents)][1:]
    return [arg for folder in on_the_way for arg in ("--perms", "0755", "--dir", folder)]
