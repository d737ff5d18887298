"""`python -m graphtag`: the command graphtag."""
from __future__ import annotations

import os
import sys


def main() -> None:
    """Becomes the command, with this process's arguments."""
    from ._command import command_path

    path = command_path()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
