"""Packs a student edition of course_lib as a wheel: pip installs it where a notebook is alone."""

import base64
import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from autograder.releasing.student_edition import PACKAGE

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format's own beginning
_WHEEL = "Wheel-Version: 1.0\nGenerator: autograder\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel_name(homework_id: str) -> str:
    """Return the file name of a homework's wheel; its number is the version."""
    return f"{PACKAGE}-{int(homework_id[2:4])}-py3-none-any.whl"


def write_wheel(edition: Path, homework_id: str, needs: Iterable[str], wheel: Path) -> None:
    """Write a wheel; the same files give the same bytes."""
    name, version = wheel_name(homework_id).split("-")[:2]
    about = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {package}\n" for package in needs)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}"
    paths = sorted(path for path in (edition / PACKAGE).rglob("*") if path.is_file())
    files = {path.relative_to(edition).as_posix(): path.read_bytes() for path in paths}
    files |= {f"{about}/METADATA": metadata.encode(), f"{about}/WHEEL": _WHEEL.encode()}
    record = [f"{file},sha256={_digest(data)},{len(data)}\n" for file, data in files.items()]
    files[f"{about}/RECORD"] = "".join([*record, f"{about}/RECORD,,\n"]).encode()
    # Stored as it is: how well a Python packs it would change the checksum in the notebook.
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as out:
        for file, data in files.items():
            entry = zipfile.ZipInfo(file, _EPOCH)
            entry.external_attr = 0o644 << 16
            out.writestr(entry, data)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
