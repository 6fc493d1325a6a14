"""Does a download end with the right file or with none, whatever the network and the disk do?"""

import errno
import hashlib
import http.client
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from course_lib.data.corpora.download import (
    DownloadError,
    RemoteFile,
    WrongFileError,
    check_file,
    download,
)

ROOT = Path(__file__).parents[4]
CONTENT = bytes(range(256)) * 1200  # more than a chunk


class Server(ThreadingHTTPServer):
    """A local server of CONTENT; ``answer`` says whether and how its responses are damaged."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = "whole"
        self.ends = threading.Event()

    def remote(self):
        return RemoteFile(
            address=f"http://127.0.0.1:{self.server_address[1]}/folder/file.bin",
            size=len(CONTENT),
            sha256=hashlib.sha256(CONTENT).hexdigest(),
        )


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = self.server.answer
        if isinstance(answer, int):
            self.send_error(answer)
            return
        content = {"wrong": CONTENT[::-1], "longer": CONTENT + b"more"}.get(answer, CONTENT)
        self.send_response(200)
        if answer != "no length":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer == "silent":
            self.server.ends.wait()
        self.wfile.write(content[: len(content) // 2] if answer == "breaks" else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.ends.set()
        server.shutdown()


@pytest.mark.parametrize("answer", ["whole", "no length"])
def test_fetches_a_file_into_a_folder_that_it_makes(server, tmp_path, answer):
    path = tmp_path / "some" / "folder" / "file.bin"
    server.answer = answer
    download(server.remote(), path)
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("breaks", r"fetched: it ended after 153,600 of 307,200 bytes\. Try again"),
        (404, "fetched: HTTP Error 404"),
        ("wrong", "the download is not the file that http.* its SHA-256 is"),
        ("longer", "the download is not the file that http.* its SHA-256 is"),
        ("silent", "fetched: timed out"),
    ],
)
def test_incomplete_download_leaves_nothing(server, tmp_path, answer, message):
    path = tmp_path / "file.bin"
    server.answer = answer
    error = WrongFileError if answer in ("wrong", "longer") else DownloadError
    with pytest.raises(error, match=message):
        download(server.remote(), path, timeout=0.2)
    assert not list(tmp_path.iterdir())
    server.answer = "whole"
    download(server.remote(), path)
    assert path.read_bytes() == CONTENT


def test_closed_server_is_reported_with_a_way_out(tmp_path):
    with Server() as closed:
        remote = closed.remote()
    with pytest.raises(DownloadError, match=r"Connection refused.*COURSE_DATA"):
        download(remote, tmp_path / "file.bin")


# All but the last are OSErrors, and neither ConnectionErrors nor TimeoutErrors.
@pytest.mark.parametrize(
    "error",
    [
        ssl.SSLError(ssl.SSL_ERROR_SSL, "decryption failed or bad record mac"),
        OSError(errno.EHOSTUNREACH, "No route to host"),
        http.client.IncompleteRead(b""),
    ],
    ids=["SSL", "no route", "incomplete"],
)
@pytest.mark.parametrize("place", ["HTTPResponse.read", "HTTPConnection.getresponse"])
def test_network_error_is_not_reported_as_a_disk_error(server, tmp_path, monkeypatch, place, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(f"http.client.{place}", fail)
    with pytest.raises(DownloadError, match="could not be fetched: .*" + re.escape(str(error))):
        download(server.remote(), tmp_path / "file.bin")


def test_concurrent_downloads_end_with_one_complete_file(server, tmp_path):
    path = tmp_path / "file.bin"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: download(server.remote(), path), range(8)))
    assert path.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["answer.read(", "part.replace("])
def test_killed_download_leaves_no_file(server, tmp_path, place):
    source = (ROOT / "course_lib" / "data" / "corpora" / "download.py").read_text("utf-8")
    assert source.count(place) == 1
    program = source.replace(place, f"die() or {place}") + (
        f"\nimport os\ndef die(): os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
        f"download({server.remote()!r}, Path({str(tmp_path / 'file.bin')!r}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=600)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert not (tmp_path / "file.bin").exists()
    download(server.remote(), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, "can't be written: No space left on device; make room"),
        (errno.EROFS, "can't be written: Read-only file system; name a folder"),
    ],
)
def test_full_disk_and_read_only_folder_are_reported(server, tmp_path, monkeypatch, code, message):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(DownloadError, match=message):
        download(server.remote(), tmp_path / "file.bin")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_downloaded_file_has_default_mode(server, tmp_path):
    before = os.umask(0o022)
    try:
        download(server.remote(), tmp_path / "file.bin")
    finally:
        os.umask(before)
    assert (tmp_path / "file.bin").stat().st_mode & 0o777 == 0o644


def test_file_on_the_disk_is_compared_with_its_checksum(server, tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(CONTENT)
    check_file(path, server.remote())
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(WrongFileError, match="is not the file that http"):
        check_file(path, server.remote())


def test_address_that_is_not_http_is_rejected():
    with pytest.raises(ValueError, match="address must begin with https"):
        RemoteFile(address="file:///etc/passwd", size=1, sha256="0" * 64)
