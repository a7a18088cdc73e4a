"""A hook of the site: links from the documentation to other files of the repository become text.

The site has the documentation alone, so a link to source code would lead nowhere.
"""

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")


def leaves_the_site(target: str, page: str) -> bool:
    """Whether a link of a page leads out of the documentation."""
    path = target.partition("#")[0]
    if not path or "://" in path:
        return False
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)).startswith("..")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page."""

    def replaced(link: re.Match[str]) -> str:
        return link[1] if leaves_the_site(link[2], page.file.src_uri) else link[0]

    return LINK.sub(replaced, markdown)
