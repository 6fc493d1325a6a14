"""Are the corpora found, whole, and of known terms?"""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.data.corpora.catalog import CORPORA, Corpus, data_folder, fetch
from course_lib.data.corpora.download import DownloadError, RemoteFile, WrongFileError

ROOT = Path(__file__).parents[4]


CHECKSUM = hashlib.sha256(b"text").hexdigest()
REMOTE = RemoteFile(address="https://example.org/file.txt", size=4, sha256=CHECKSUM)
TINY = Corpus(
    name="tiny", title="t", page="p", licence="l", citation="c", files={"file.txt": REMOTE}
)


def test_every_file_is_pinned_to_a_commit_and_a_checksum():
    for corpus in CORPORA.values():
        assert corpus.licence
        assert corpus.citation
        for name, remote in corpus.files.items():
            assert remote.address.endswith(name)
            assert len(remote.sha256) == 64
            commit = remote.address.split("/")[5]
            assert len(commit) == 40, remote.address


def test_data_folder_is_the_named_one_or_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("COURSE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "seq2seq-to-bert"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "seq2seq-to-bert"


def test_local_file_is_used_checked_and_never_removed(monkeypatch, tmp_path, no_network):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    with pytest.raises(DownloadError, match=r"asked for https://example.org/file.txt"):
        fetch(TINY, "file.txt")
    file = tmp_path / "tiny" / "file.txt"
    file.parent.mkdir()
    file.write_bytes(b"text")
    assert fetch(TINY, "file.txt") == file
    file.write_bytes(b"other")
    with pytest.raises(WrongFileError, match="Remove it, and it is fetched again"):
        fetch(TINY, "file.txt")
    assert file.read_bytes() == b"other"
    file.unlink()
    file.mkdir()
    with pytest.raises(DownloadError, match="can't be read: Is a directory"):
        fetch(TINY, "file.txt")
    with pytest.raises(KeyError, match="file_name must be one of"):
        fetch(TINY, "other.txt")


@pytest.mark.parametrize("arguments", [[], ["tinyshakespeare"], ["nothing"]])
def test_the_command_lists_and_fetches(arguments, course_data, tmp_path):
    environment = {"COURSE_DATA": str(course_data), "PATH": ""}
    command = [sys.executable, "-m", "course_lib.data.corpora", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if arguments == ["nothing"]:
        assert ran.returncode == 2
        assert "no corpus 'nothing'; there are multi30k" in ran.stderr
    else:
        assert ran.returncode == 0, ran.stderr
        expected = "licence: CC BY 4.0" if not arguments else "tinyshakespeare/input.txt"
        assert expected in ran.stdout.replace("\\", "/")
