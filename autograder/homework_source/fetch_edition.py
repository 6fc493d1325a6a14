"""A notebook's first code cell: it fetches the homework's course_lib where the notebook is alone.

Colab and Kaggle open a notebook without what lies beside it. The text of ``fetch_edition`` is that
of the cell, so it uses nothing of this module. What it downloads is used only if it has the
checksum that the notebook bears; packages come from pip, as wheels, and what is installed stays.
"""

import inspect
import json
from collections.abc import Mapping

from autograder.homework_source.homework import Cell, CellKind

GRADE_ID = "fetch-edition"
MARKER = "EDITION"
"""A file in a student edition that names its homework; the whole library has none."""

FOLDED = """**Run everything from the top.** The folded cell comes first: where this notebook is
alone, as on Colab, it fetches the course's library; beside that it does nothing."""
"""What the text above it says of the cell."""

_TITLE = "# @title The course's library, where it is not beside this notebook: else nothing happens"


def fetch_edition(homework: str, address: str, sha256: str, needs: dict[str, str]) -> None:
    """Have this homework's course_lib and what it needs, on Colab, Kaggle and the like."""
    import hashlib
    import http.client
    import importlib.util
    import io
    import re
    import subprocess
    import sys
    import tempfile
    import urllib.error
    import urllib.request
    import zipfile
    from importlib import metadata
    from pathlib import Path

    number = homework.partition("-")[0]
    upload = f"upload {number}.zip, as you got it from your course, beside this notebook"

    class FetchError(Exception):
        def _render_traceback_(self) -> list[str]:
            return [str(self)]

    def installed(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return ""

    def begin_of(version: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", version)[:2]]

    def download() -> bytes:
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                data: bytes = answer.read()
        except urllib.error.HTTPError as error:
            reason = f"is not at {address} (error {error.code}): perhaps this notebook is too old"
            raise FetchError(f"The library {reason}. Get it again, or {upload}.") from None
        except (OSError, http.client.HTTPException) as error:
            where = f"The library can't be fetched from {address} ({error})"
            hint = "Is there a network? On Kaggle it is switched on in the notebook's settings"
            raise FetchError(f"{where}. {hint}. Run this cell again, or {upload}.") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            what = f"What came from {address} is half of the library, or another version"
            raise FetchError(f"{what}: it was not used. Run this cell again, or {upload}.")
        return data

    def unpack(data: bytes, name: str, place: Path) -> None:
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            inside = [n for n in archive.namelist() if n.startswith(f"{homework}/course_lib/")]
            if not inside:
                raise FetchError(f"{name} is not that of this homework, {homework}: {upload}.")
            with tempfile.TemporaryDirectory(dir=".") as half:
                archive.extractall(half, inside)
                Path(half, homework).rename(place)
        except zipfile.BadZipFile:
            raise FetchError(f"{name} is not whole: {upload}, and run this cell again.") from None

    def install(packages: list[str]) -> None:
        print("Installing", ", ".join(packages))
        kept = [f"{name}=={installed(name)}\n" for name in needs if installed(name)]
        with tempfile.TemporaryDirectory() as folder:
            constraints = Path(folder, "constraints.txt")
            constraints.write_text("".join(kept))
            asked = [f"{name}>={needs[name]}" for name in packages]
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
            done = subprocess.run(
                [*command, "--constraint", str(constraints), *asked], capture_output=True, text=True
            )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise FetchError(f"pip could not install {' '.join(asked)}: {last}")

    spec = importlib.util.find_spec("course_lib")
    if spec and spec.origin:
        marker = Path(spec.origin).with_name("EDITION")
        found = marker.read_text().strip() if marker.is_file() else homework
        if found == homework:
            return
        if "course_lib" in sys.modules:
            raise FetchError(
                f"The library of {found} is in use here: restart the kernel, and run this."
            )

    uploads = sorted(Path().glob(f"{number}*.zip"), key=lambda path: path.stat().st_mtime)
    if not uploads and not address:
        raise FetchError(f"This homework's library is not here: {upload}, and run this cell again.")
    sent = uploads[-1].read_bytes() if uploads else b""
    place = Path(f"{homework}-{(hashlib.sha256(sent).hexdigest() if sent else sha256)[:8]}")
    if not place.is_dir():
        unpack(sent or download(), uploads[-1].name if uploads else address, place)
    sys.path.insert(0, str(place.resolve()))
    importlib.invalidate_caches()

    if missing := [name for name in needs if not installed(name)]:
        install(missing)
    for name, least in needs.items():
        if begin_of(installed(name)) < begin_of(least):
            print(f"{name} {installed(name)} stays, but this homework was tried from {least} on.")
    print(f"The library of {homework} is in {place}.")


def fetch_cell(
    homework_id: str, *, address: str = "", sha256: str = "", needs: Mapping[str, str] | None = None
) -> Cell:
    """Return the cell, which is no part of what is graded.

    Args:
        homework_id: Whose library it fetches.
        address: Of a zip with ``<homework_id>/course_lib`` in it, https; empty: students upload
            what they were given.
        sha256: The zip's checksum.
        needs: The packages that the notebook needs, and the least version of each.
    """
    call = "\n".join(
        [
            "fetch_edition(",
            f'    "{homework_id}",',
            f'    address="{address}",',
            f'    sha256="{sha256}",',
            f"    needs={json.dumps(dict(needs or {}))},",
            ")",
            "del fetch_edition",
        ]
    )
    source = f"{_TITLE}\n{inspect.getsource(fetch_edition)}\n\n{call}"
    return Cell(kind=CellKind.FETCH, grade_id=GRADE_ID, source=source, where="the release")
