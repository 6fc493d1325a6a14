"""Downloading: a file from the network, complete and with the right checksum, or none.

A download gets the file's name only once it is complete and its SHA-256 is right.
"""

import errno
import hashlib
import http.client
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

_CHUNK = 1 << 16  # bytes


class DownloadError(OSError):
    """A file could not be downloaded; the message says which, why, and what to do."""


class WrongFileError(DownloadError):
    """A file, downloaded or in the folder, has another checksum than expected."""


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """A file that can be downloaded, with its size and checksum.

    >>> RemoteFile(address="https://example.org/words.txt", size=5, sha256="ab" * 32).size
    5

    Attributes:
        address: Where it is, ``https://`` or ``http://``.
        size: Its length in bytes.
        sha256: Its checksum, 64 hexadecimal digits.

    Raises:
        ValueError: ``address`` is of another kind.
    """

    address: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        """Check that the address is HTTP or HTTPS; urllib would also open files of this machine."""
        if not self.address.startswith(("https://", "http://")):
            raise ValueError(f"address must begin with https:// or http://, got {self.address!r}")


def download(remote: RemoteFile, path: Path, *, timeout: float = 30.0) -> None:
    """Fetch a file that fits into memory, with a progress bar on a terminal.

    A failure is a ``DownloadError``; ``timeout`` is in seconds without an answer.
    """
    content = _receive(remote, timeout)
    _check(content, remote, "the download")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
            part = Path(folder) / path.name
            part.write_bytes(content)
            part.replace(path)
    except OSError as error:
        room = "make room on the disk, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DownloadError(
            f"{path} can't be written: {error.strerror}; {room}name a folder that can be written "
            "to in COURSE_DATA"
        ) from error


def check_file(path: Path, remote: RemoteFile) -> None:
    """Compare a file with its checksum; other bytes are a ``WrongFileError``."""
    _check(path.read_bytes(), remote, str(path))


def _receive(remote: RemoteFile, timeout: float) -> bytes:
    request = urllib.request.Request(  # noqa: S310 -- of the web alone, see RemoteFile
        remote.address, headers={"User-Agent": "course_lib"}
    )
    name = remote.address.rpartition("/")[2]
    content = bytearray()
    try:
        with (
            urllib.request.urlopen(request, timeout=timeout) as answer,  # noqa: S310
            tqdm(total=remote.size, unit="B", unit_scale=True, desc=name, disable=None) as bar,
        ):
            # A byte more than there should be is enough to tell that this is another file.
            while chunk := answer.read(min(_CHUNK, remote.size + 1 - len(content))):
                content += chunk
                bar.update(len(chunk))
        if len(content) < remote.size:
            raise ConnectionError(f"it ended after {len(content):,} of {remote.size:,} bytes")
    except (http.client.HTTPException, OSError) as error:
        raise DownloadError(
            f"{remote.address} could not be fetched: {error}. Try again; without a network, put "
            "the file into the folder that COURSE_DATA names"
        ) from error
    return bytes(content)


def _check(content: bytes, remote: RemoteFile, origin: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != remote.sha256:
        raise WrongFileError(
            f"{origin} is not the file that {remote.address} should be: its SHA-256 is {found}, "
            f"not {remote.sha256}"
        )
