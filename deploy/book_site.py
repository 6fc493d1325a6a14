"""Serves the built book as a service of JupyterHub: ``python -m deploy.book_site FOLDER``."""

import asyncio
import os
import sys
from urllib.parse import urlsplit

from tornado.web import Application, StaticFileHandler


async def main(folder: str) -> None:
    """Serve a folder below the prefix that the hub assigns to the service, until terminated.

    Args:
        folder: The built book.
    """
    prefix, address = (os.environ[f"JUPYTERHUB_SERVICE_{name}"] for name in ("PREFIX", "URL"))
    files = {"path": folder, "default_filename": "index.html"}
    site = Application([(f"{prefix}(.*)", StaticFileHandler, files)])
    site.listen(urlsplit(address).port or 0, address="127.0.0.1")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
