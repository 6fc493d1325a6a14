"""Does a download end with the right file or with none, whatever the network and the disk do?"""

import errno
import hashlib
import http.client
import os
import re
import ssl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import course_lib.data.download as download_module
from course_lib.data.download import DownloadError, RemoteFile, WrongFileError, check_file, download

ROOT = Path(__file__).parents[3]
CONTENT = bytes(range(256)) * 1200  # more than a chunk


class Server(ThreadingHTTPServer):
    """Serves CONTENT; each entry of ``answers`` says how to treat one request, the last stays."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = ["whole"]
        self.ranges = []  # of each request
        self.sent = 0
        self.ends = threading.Event()

    def remote(self, **changes):
        known = {
            "address": f"http://127.0.0.1:{self.server_address[1]}/folder/file.bin",
            "size": len(CONTENT),
            "sha256": hashlib.sha256(CONTENT).hexdigest(),
        }
        return RemoteFile(**known | changes)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.ranges.append(asked)
        answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
        if isinstance(answer, int):
            self.send_error(answer)
            return
        content = CONTENT[::-1] if answer == "wrong" else CONTENT
        content = content + b"more" if answer == "longer" else content
        first = 0
        if asked and answer != "ignores ranges":
            first = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[first:]
        if answer != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if answer == "slow":
            time.sleep(0.3)
        if answer == "silent":
            server.ends.wait()
        body = body[: len(body) // 2] if answer == "breaks" else body
        self.wfile.write(body)
        server.sent += len(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.ends.set()
        server.shutdown()


def get(server, path, **options):
    options = {"attempts": 1, "pause": 0.0, "progress": False} | options
    download(options.pop("remote", server.remote()), path, **options)


def assert_nothing_at(path):
    assert not list(path.parent.glob("*")), list(path.parent.glob("*"))


def test_fetches_a_file_into_a_folder_that_it_makes(server, tmp_path):
    path = tmp_path / "some" / "folder" / "file.bin"
    get(server, path)
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    get(server, path)  # it is there: nothing is asked for
    assert server.ranges == [None]


def test_a_broken_download_keeps_what_came_and_the_next_call_goes_on(server, tmp_path):
    path = tmp_path / "file.bin"
    server.answers = ["breaks", "whole"]
    with pytest.raises(DownloadError, match=r"ended early\. 153,600 of 307,200 bytes are here"):
        get(server, path)
    assert not path.exists()
    get(server, path)
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=153600-"]
    assert server.sent == len(CONTENT)  # nothing came twice
    assert list(tmp_path.iterdir()) == [path]


def test_one_call_takes_a_broken_connection_up_again(server, tmp_path):
    path = tmp_path / "file.bin"
    server.answers = ["breaks", 503, "breaks", "whole"]
    get(server, path, attempts=4)
    assert path.read_bytes() == CONTENT
    assert server.sent == len(CONTENT)


@pytest.fixture
def like_windows(monkeypatch):
    """No locks, and a file that is open is neither renamed nor removed."""
    monkeypatch.setattr(download_module, "fcntl", None)

    def refusing(method):
        def call(path, *args, **options):
            opened = {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
            if str(path.resolve()) in opened:
                raise PermissionError(errno.EACCES, "it is in use", str(path))
            return method(path, *args, **options)

        return call

    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, refusing(getattr(Path, name)))


@pytest.mark.usefixtures("like_windows")
def test_what_is_renamed_or_removed_is_closed_before(server, tmp_path):
    path = tmp_path / "file.bin"
    server.answers = ["wrong", "breaks", "whole"]
    with pytest.raises(WrongFileError, match="its SHA-256 is"):
        get(server, path)
    assert_nothing_at(path)
    get(server, path, attempts=2)
    assert path.read_bytes() == CONTENT
    get(server, path)  # it is there
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("answer", ["ignores ranges", "no length"])
def test_a_server_without_ranges_or_length_is_good_enough(server, tmp_path, answer):
    path = tmp_path / "file.bin"
    server.answers = ["breaks", answer]
    get(server, path, attempts=2)
    assert path.read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_begun_anew(server, tmp_path):
    path = tmp_path / "file.bin"
    (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
    get(server, path)
    assert path.read_bytes() == CONTENT


def test_a_whole_part_is_taken_without_asking(server, tmp_path):
    path = tmp_path / "file.bin"
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    get(server, path)
    assert path.read_bytes() == CONTENT
    assert server.ranges == []


@pytest.mark.parametrize("answer", ["wrong", "longer"])
def test_another_file_is_refused_and_thrown_away(server, tmp_path, answer):
    path = tmp_path / "file.bin"
    server.answers = [answer]
    with pytest.raises(WrongFileError, match=r"SHA-256|is longer than 307,200 bytes"):
        get(server, path)
    assert_nothing_at(path)


def test_a_spoilt_part_costs_one_failure(server, tmp_path):
    path = tmp_path / "file.bin"
    (tmp_path / "file.bin.part").write_bytes(b"another file")
    with pytest.raises(WrongFileError, match="SHA-256"):
        get(server, path)
    get(server, path)
    assert path.read_bytes() == CONTENT


def test_a_missing_file_is_told_at_once(server, tmp_path):
    server.answers = [404]
    with pytest.raises(DownloadError, match="the server answers 404"):
        get(server, tmp_path / "file.bin", attempts=4, pause=60.0)
    assert_nothing_at(tmp_path / "file.bin")


def test_no_network_is_told_with_the_way_out(tmp_path):
    with Server() as closed:
        remote = closed.remote()
    with pytest.raises(DownloadError, match=r"no connection.*COURSE_DATA"):
        download(remote, tmp_path / "file.bin", attempts=2, pause=0.0, progress=False)
    assert_nothing_at(tmp_path / "file.bin")


def test_an_answer_that_does_not_come_counts_as_broken(server, tmp_path):
    server.answers = ["silent"]
    with pytest.raises(DownloadError, match=r"the connection broke \(TimeoutError"):
        get(server, tmp_path / "file.bin", timeout=0.05)


def failing(method, failures):
    """The method of http.client, which raises each failure in turn; None lets a call through."""
    failures = iter(failures)

    def call(*args, **options):
        if failure := next(failures, None):
            raise failure
        return method(*args, **options)

    return call


# All are OSErrors, and neither ConnectionErrors nor TimeoutErrors.
network_errors = pytest.mark.parametrize(
    "error",
    [
        ssl.SSLError(ssl.SSL_ERROR_SSL, "decryption failed or bad record mac"),
        OSError(errno.EHOSTUNREACH, "No route to host"),
        OSError(errno.ENETDOWN, "Network is down"),
    ],
    ids=["SSL", "no route", "network down"],
)


@network_errors
def test_a_network_that_fails_midway_counts_as_broken(server, tmp_path, monkeypatch, error):
    path = tmp_path / "file.bin"
    read = failing(http.client.HTTPResponse.read, [None, error, error])
    monkeypatch.setattr(http.client.HTTPResponse, "read", read)
    with pytest.raises(DownloadError, match=re.escape(f"the connection broke ({error!r})")):
        get(server, path, attempts=2)
    assert server.ranges == [None, "bytes=65536-"]
    get(server, path)
    assert path.read_bytes() == CONTENT


@network_errors
def test_a_network_that_fails_before_the_answer_counts_as_broken(
    server, tmp_path, monkeypatch, error
):
    path = tmp_path / "file.bin"
    answer = failing(http.client.HTTPConnection.getresponse, [error, error])
    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", answer)
    with pytest.raises(DownloadError, match=re.escape(f"the connection broke ({error!r})")):
        get(server, path)
    get(server, path, attempts=2)
    assert path.read_bytes() == CONTENT


def test_a_folder_that_can_not_be_made_is_told(server, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(DownloadError, match=r"can't be written: .*; name a folder"):
        get(server, tmp_path / "file" / "file.bin")


def test_two_at_a_time_end_with_one_whole_file(server, tmp_path):
    path = tmp_path / "file.bin"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: get(server, path), range(8)))
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None]
    assert list(tmp_path.iterdir()) == [path]


def test_one_that_fails_takes_nothing_from_the_next(server, tmp_path, monkeypatch):
    path = tmp_path / "file.bin"
    server.answers = [404, "slow"]
    unlink = Path.unlink

    def unlink_late(*args, **options):
        time.sleep(0.1)  # time for the other to begin, were it let
        unlink(*args, **options)

    monkeypatch.setattr(Path, "unlink", unlink_late)
    with ThreadPoolExecutor(2) as pool:
        errors = [done.exception() for done in [pool.submit(get, server, path) for _ in range(2)]]
    (error,) = filter(None, errors)
    assert "the server answers 404" in str(error)
    assert path.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [path]


def test_a_part_that_someone_removes_meanwhile_is_told(server, tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.data.download.check_file", lambda part, _: part.unlink())
    with pytest.raises(DownloadError, match="can't be written: No such file"):
        get(server, tmp_path / "file.bin")
    assert_nothing_at(tmp_path / "file.bin")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("mount", "message"),
    [
        (["--size", "65536", "--tmpfs"], "No space left on device; make room"),
        (["--remount-ro"], "Read-only file system; name a folder"),
    ],
)
def test_a_full_disk_and_a_read_only_folder_are_told(server, tmp_path, mount, message):
    remote = server.remote()
    program = (
        "import sys, pathlib\n"
        "from course_lib.data.download import DownloadError, RemoteFile, download\n"
        f"remote = {remote!r}\nfolder = pathlib.Path({str(tmp_path)!r})\n"
        "try:\n    download(remote, folder / 'file.bin', progress=False)\n"
        "except DownloadError as error:\n    print(error)\n"
        "print('left:', list(folder.iterdir()))"
    )
    if mount[0] == "--remount-ro":
        mount = ["--bind", str(tmp_path), str(tmp_path), *mount]
    command = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", *mount, str(tmp_path)]
    command += ["--chdir", str(ROOT), sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert message in ran.stdout, ran.stderr
    assert "left: []" in ran.stdout


def test_a_file_on_the_disk_is_held_to_its_checksum(server, tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(CONTENT)
    check_file(path, server.remote())
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(WrongFileError, match="is not the file that http"):
        check_file(path, server.remote())


def test_shows_a_bar_when_asked(server, tmp_path, capsys):
    get(server, tmp_path / "file.bin", progress=True)
    assert "file.bin: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/file"])
def test_opens_addresses_of_the_web_alone(address):
    with pytest.raises(ValueError, match="address must begin with https"):
        RemoteFile(address=address, size=1, sha256="0" * 64)


def test_asks_at_least_once(server, tmp_path):
    with pytest.raises(ValueError, match="attempts must be at least 1, got 0"):
        get(server, tmp_path / "file.bin", attempts=0)
