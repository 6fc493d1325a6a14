"""What of the machine's files a worker sees: as much as Python and its packages need to run.

Whatever lies beside that stays hidden: what students hand in (nbgrader's exchange usually lies in
/usr/local/share), settings with passwords in them, packages that another Python imports. Also
hidden is the course, where it lies among Python's files.
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
_NO_SHARED_ZEROS = ["--dev-bind", "/dev/null", "/dev/zero"]  # mapped, it is memory without a file
_MOST_LINKS = 40  # as the kernel follows
_NETWORKS = ("/sys/class/net", "/sys/class/infiniband")
_NO_BUSINESS_OF_CUDA = ("/sys/fs", "/sys/firmware", *_NETWORKS)


def machine_mounts() -> list[str]:
    """Show the system and Python, and cover what lies among their files and is not theirs."""
    return [*_system_mounts(), *_folder_mounts(), *_course_covers(), *_covers(*_other_packages())]


def device_mounts(device: str) -> list[str]:
    """Show the devices of the GPU, if that is what tensors are on."""
    if device != "cuda":
        return _NO_SHARED_ZEROS
    devices = sorted(str(path) for path in Path("/dev").glob("nvidia*"))
    mounts = [argument for path in devices for argument in ("--dev-bind", path, path)]
    for path in ("/proc/driver/nvidia", "/sys", "/usr/local/nvidia", "/usr/local/cuda"):
        mounts += ["--ro-bind-try", path, path]
    cards = {card.resolve().parent for name in _NETWORKS for card in Path(name).glob("*")}
    return [*mounts, *_covers(*map(Path, _NO_BUSINESS_OF_CUDA), *cards)]


def readable_mount(source: str, target: str) -> list[str]:
    """Mount a folder read-only; everyone may pass through the folders on the way to it."""
    return [*_folders_above(Path(target)), "--ro-bind", source, target]


def package_folders() -> list[str]:
    """Return where packages are installed that this Python imports, first looked at first.

    Other places that it imports from, such as the folder it was started in, are not for workers.
    """
    places = [Path(place).resolve() for place in sys.path]
    return [str(place) for place in places if any(place.glob("*.dist-info"))]


def import_path(first: str) -> str:
    """Return a worker's $PYTHONPATH: what its Python would not find by itself comes last.

    That is packages of the user's own and those that $PYTHONPATH leads to here.
    """
    joined = [
        place
        for place in package_folders()
        if not any(Path(place).is_relative_to(prefix) for prefix in _prefixes())
    ]
    return os.pathsep.join([first, *joined])


def _system_mounts() -> list[str]:
    mounts = ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108
    # What the processor can do, asked by PyTorch's quantised kernels.
    shown = ["/sys/devices/system/cpu"]
    # What huge pages there are, asked by the C library.
    shown += [
        f"/sys/kernel/mm/transparent_hugepage/{name}" for name in ("enabled", "hpage_pmd_size")
    ]
    for name in shown:
        mounts += [*_folders_above(Path(name)), "--ro-bind-try", name, name]
    for name in ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "localtime", "alternatives"):
        mounts += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return mounts


def _folder_mounts() -> list[str]:
    shown = _shown_folders()
    mounts = [arg for folder in sorted(shown) for arg in readable_mount(str(folder), str(folder))]
    for prefix in sorted(_prefixes()):
        mounts += _settings(prefix)
    # A link stays one: what it leads to is there once, to be covered once. The last is the name by
    # which an environment's program finds its Python.
    for place in dict.fromkeys((*_places(), Path(sys.base_prefix), *_programs_links())):
        target = place.resolve()
        if place != target and target.exists() and not any(map(place.is_relative_to, shown)):
            mounts += [*_folders_above(place), "--symlink", str(target), str(place)]
            shown.add(place)
    return mounts


def _settings(prefix: Path) -> list[str]:
    settings = str(prefix / "pyvenv.cfg")
    return ["--ro-bind-try", settings, settings]


def _shown_folders() -> set[Path]:
    """Return the folders that workers see, but for those that lie in others."""
    folders = _all_folders()
    return {folder for folder in folders if folders.isdisjoint(folder.parents)}


def _all_folders() -> set[Path]:
    """Return the folders that are to be seen, without links; not what nobody may look into."""
    return {place.resolve() for place in _places() if os.path.isdir(place)}  # noqa: PTH112


def _places() -> list[Path]:
    parts = [
        *((Path("/"), name) for name in _OF_A_ROOT),
        *((Path("/usr"), name) for name in _OF_A_SYSTEM),
        *((Path("/usr/local"), name) for name in _OF_LOCAL),
        *((prefix, name) for prefix in sorted(_prefixes()) for name in _OF_A_PYTHON),
    ]
    return [*(folder / name for folder, name in parts), *map(Path, package_folders())]


def _programs_links() -> list[Path]:
    """Return the links by which an environment's program leads to its Python's own."""
    links: list[Path] = []
    program = Path(sys.executable)
    while program.is_symlink() and len(links) < _MOST_LINKS:
        # Without "..": a folder on the way may be one that is shown.
        program = Path(os.path.normpath(program.parent.resolve() / program.readlink()))
        links.append(program)
    return links[:-1]


def _prefixes() -> set[Path]:
    return {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}


def _other_packages() -> list[Path]:
    """Return where packages are installed that this Python does not import, and others may."""
    roots = {*_prefixes(), Path("/usr"), Path("/usr/local")}
    found = {place.resolve() for root in roots for place in root.glob("lib*/python3*/*-packages")}
    return sorted(found - {Path(place) for place in package_folders()})


def _course_covers() -> list[str]:
    """Cover the course where it lies among the system's or Python's files.

    ``pip install`` puts ``course_lib``, with every solution, beside torch.
    """
    shown = _all_folders()
    covered: set[Path] = set()
    mounts = []
    for folder in sorted(_course_folders()):  # a folder before what lies in it
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
        back = {place for place in shown if place.is_relative_to(folder)}
        for python in sorted(place for place in back if back.isdisjoint(place.parents)):
            mounts += readable_mount(str(python), str(python))
        for prefix in sorted(_prefixes()):
            if prefix.is_relative_to(folder):
                mounts += _settings(prefix)
        mounts += ["--remount-ro", str(folder)]
    return mounts


def _course_folders() -> set[Path]:
    """Return every copy of the course that this Python can import, and the projects around them."""
    places = {p.resolve() for p in (*map(Path, sys.path), Path(__file__).parents[2])}
    packages = {(place / name).resolve() for place in places for name in _COURSE_PACKAGES}
    projects = {
        p for p in places if (p / "pyproject.toml").is_file() and (p / "solutions").is_dir()
    }
    return {package for package in packages if package.is_dir()} | projects


def _covers(*folders: Path) -> list[str]:
    """Put empty folders in the place of those that are there."""
    there = [str(folder) for folder in folders if folder.is_dir()]
    return [arg for name in there for arg in ("--tmpfs", name, "--remount-ro", name)]


def _folders_above(target: Path) -> list[str]:
    on_the_way = [str(folder) for folder in reversed(target.parents)][1:]
    return [arg for folder in on_the_way for arg in ("--perms", "0755", "--dir", folder)]
