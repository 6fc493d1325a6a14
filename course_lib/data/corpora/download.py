"""Downloading: a file gets its name only once it is complete and has the right checksum."""

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
    """A file could not be downloaded or read; the message has the reason, and what to do."""


class WrongFileError(DownloadError):
    """A file has another checksum than expected."""


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """A file that can be downloaded, with its size and checksum.

    >>> RemoteFile(address="https://example.org/words.txt", size=5, sha256="ab" * 32).size
    5

    Attributes:
        address: Its address, which begins with ``https://`` or ``http://``.
        size: Its size (bytes).
        sha256: Its checksum, 64 hexadecimal digits.
    """

    address: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        """Check that the address is HTTP or HTTPS; urllib would also open files of this machine."""
        if not self.address.startswith(("https://", "http://")):
            raise ValueError(f"address must begin with https:// or http://, got {self.address!r}")


def download(remote: RemoteFile, path: Path, *, timeout: float = 30.0) -> None:
    """Download a file to ``path`` through memory, with a progress bar on a terminal.

    A failure, or ``timeout`` seconds without data, raises a ``DownloadError``.
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
    """Raise a ``WrongFileError`` if a file has another checksum than ``remote``."""
    _check(path.read_bytes(), remote, str(path))


def _receive(remote: RemoteFile, timeout: float) -> bytes:
    """Return the bytes of a remote file, complete but unchecked."""
    request = urllib.request.Request(  # noqa: S310 -- RemoteFile checks the address
        remote.address, headers={"User-Agent": "course_lib"}
    )
    name = remote.address.rpartition("/")[2]
    content = bytearray()
    try:
        with (
            urllib.request.urlopen(request, timeout=timeout) as answer,  # noqa: S310
            tqdm(total=remote.size, unit="B", unit_scale=True, desc=name, disable=None) as bar,
        ):
            # One byte more than the expected size is enough to reject a larger file.
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
    """Raise a ``WrongFileError``, which names ``origin``, if bytes have another checksum."""
    found = hashlib.sha256(content).hexdigest()
    if found != remote.sha256:
        raise WrongFileError(
            f"{origin} is not the file that {remote.address} should be: its SHA-256 is {found}, "
            f"not {remote.sha256}"
        )
