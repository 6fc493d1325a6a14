"""A fixture for the tests of corpora."""

import pytest

from course_lib.data.corpora import catalog
from course_lib.data.corpora.download import DownloadError


@pytest.fixture
def no_network(monkeypatch):
    """Make downloads fail, so that no test uses the network by mistake."""

    def refuse(remote, path):
        raise DownloadError(f"asked for {remote.address}")

    monkeypatch.setattr(catalog, "download", refuse)
