"""A file from the network: the right one and all of it, or none.

What has arrived is kept beside the file until the rest is there too, so that a download goes on
where it broke off. Only when its length and its SHA-256 are right does it get its name.
"""

import contextlib
import errno
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]

try:
    import fcntl
except ImportError:  # on Windows; two downloads of one file at once are found by the checksum
    fcntl = None  # type: ignore[assignment]

_CHUNK = 1 << 16  # bytes
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MAY_PASS = (408, 429, 500, 502, 503, 504)  # HTTP's: too busy, too slow, broken just now


class DownloadError(OSError):
    """A file that could not be had; the message says which, why, and what to do."""


class WrongFileError(DownloadError):
    """What came, or lies in the folder, is not the file that was expected."""


class _BrokenConnectionError(Exception):
    """The network failed while an answer was awaited or read; the cause says how."""


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """A file that can be downloaded, and how to know it.

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
        """Refuse what urllib would also open, files of this machine among it."""
        if not self.address.startswith(("https://", "http://")):
            raise ValueError(f"address must begin with https:// or http://, got {self.address!r}")


def download(
    remote: RemoteFile,
    path: Path,
    *,
    attempts: int = 4,
    pause: float = 0.5,
    timeout: float = 30.0,
    progress: bool | None = None,
) -> None:
    """Fetch a file, going on where an earlier call broke off.

    What has arrived when the last attempt fails stays in ``<name>.part`` for the next call. Several
    processes may ask for one file: one fetches it, the others wait.

    Args:
        remote: What to fetch.
        path: The file to write. Its folder is made if it is not there; one that is there stays.
        attempts: How often to connect before giving up, at least 1.
        pause: Seconds before the second attempt; twice as many before each further one.
        timeout: Seconds without an answer after which a connection counts as broken.
        progress: Show a progress bar; None shows it where a person is watching, on a terminal.

    Raises:
        DownloadError: There is no such file, no network, no room on the disk, no right to write.
            There is no file at ``path`` then.
        WrongFileError: The bytes are not those that were expected; they are thrown away.
        ValueError: ``attempts`` is not positive.
    """
    if attempts < 1:
        raise ValueError(f"attempts must be at least 1, got {attempts}")
    part = path.with_name(f"{path.name}.part")
    hide_bar = None if progress is None else not progress
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _opened_alone(part) as file, _useless_removed(file, part):
            if path.exists():  # another process was first
                _let_go(file)
                part.unlink()
                return
            with tqdm(
                total=remote.size, unit="B", unit_scale=True, desc=path.name, disable=hide_bar
            ) as bar:
                _fetch(remote, file, attempts, pause, timeout, bar)
            check_file(part, remote)
            os.fsync(file.fileno())
            _let_go(file)
            part.replace(path)
    except DownloadError:
        raise
    except OSError as error:
        advice = "name a folder that can be written to in COURSE_DATA"
        if error.errno in _NO_ROOM:
            advice = "make room on the disk, or " + advice
        raise DownloadError(f"{path} can't be written: {error.strerror}; {advice}") from error


def check_file(path: Path, remote: RemoteFile) -> None:
    """Hold a file on the disk to what it should be.

    Args:
        path: The file.
        remote: What it should be.

    Raises:
        WrongFileError: Its bytes are others.
        OSError: It can't be read.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != remote.sha256:
        raise WrongFileError(
            f"{path} is not the file that {remote.address} should be: its SHA-256 is {found}, "
            f"not {remote.sha256}"
        )


@contextlib.contextmanager
def _opened_alone(part: Path) -> Iterator[FileIO]:
    """Open the unfinished file to append to it, waiting for other processes that do."""
    while True:
        with FileIO(part, "a") as file:
            if _locked(file, part):
                yield file
                return


def _locked(file: FileIO, part: Path) -> bool:
    """Wait for the lock, and say whether the file is still the unfinished one."""
    if fcntl is None:
        return True
    fcntl.flock(file, fcntl.LOCK_EX)
    # Whoever held the lock may have given this file its name, or removed it.
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), part.stat())
    return False


@contextlib.contextmanager
def _useless_removed(file: FileIO, part: Path) -> Iterator[None]:
    """After a failure, remove what no call can go on from.

    The lock must be held: without it, the file may be one that another process is filling.
    """
    try:
        yield
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            wrong = isinstance(error, WrongFileError)
            if wrong or error.errno in _NO_ROOM or part.stat().st_size == 0:
                _let_go(file)
                part.unlink()
        raise


def _let_go(file: FileIO) -> None:
    """Close what is to be renamed or removed, where only closed files can be: on Windows.

    Elsewhere the lock must be held until that is done.
    """
    if fcntl is None:
        file.close()


def _fetch(
    remote: RemoteFile, file: FileIO, attempts: int, pause: float, timeout: float, bar: Any
) -> None:
    """Append what is missing, connecting as often as is allowed."""
    reason = ""
    for attempt in range(attempts):
        if attempt > 0:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _append(remote, file, timeout, bar)
        except urllib.error.HTTPError as error:
            reason = f"the server answers {error.code} {error.reason}"
            if error.code not in _MAY_PASS:
                break
        except urllib.error.URLError as error:
            reason = f"no connection ({error.reason})"
        except _BrokenConnectionError as error:
            reason = f"the connection broke ({error.__cause__!r})"
        else:
            reason = "the connection ended early"
        if file.tell() == remote.size:
            return
    raise DownloadError(
        f"{remote.address} could not be fetched: {reason}. {file.tell():,} of {remote.size:,} "
        "bytes are here, and the next call goes on from there. Without a network, put the file "
        "into the folder that COURSE_DATA names"
    )


def _append(remote: RemoteFile, file: FileIO, timeout: float, bar: Any) -> None:
    """Ask once for what is missing, and write down what comes."""
    done = file.seek(0, os.SEEK_END)
    if done > remote.size:
        file.truncate(0)
        done = file.seek(0)
    bar.update(done - bar.n)
    if done == remote.size:
        return
    headers = {"User-Agent": "course_lib", **({"Range": f"bytes={done}-"} if done else {})}
    request = urllib.request.Request(remote.address, headers=headers)  # noqa: S310 -- RemoteFile
    with _over_network(urllib.request.urlopen, request, timeout=timeout) as answer:
        if not answer.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            file.truncate(0)  # the server does not know ranges, and begins at the beginning
            file.seek(0)
            bar.update(-bar.n)
        # A byte more than there should be is enough to tell that this is another file.
        while chunk := _over_network(answer.read, min(_CHUNK, remote.size + 1 - file.tell())):
            _write(file, chunk)
            bar.update(len(chunk))
            if file.tell() > remote.size:
                raise WrongFileError(
                    f"{remote.address} is longer than {remote.size:,} bytes: it is another file"
                )


def _over_network(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call, telling the network's errors from the disk's: both are OSErrors of any number."""
    try:
        return call(*args, **options)
    except urllib.error.URLError:  # says more: the server's answer, or that there was none
        raise
    except (http.client.HTTPException, OSError) as error:
        raise _BrokenConnectionError from error


def _write(file: FileIO, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]
