"""`python -m graphtag.torch build`: compiles what names backward work for this PyTorch ahead of time, and says where it is."""
from __future__ import annotations

import sys


def main() -> int:
    """The exit code: 0 done, 1 it cannot be built (standard error says why), 2 wrong use."""
    if sys.argv[1:] != ["build"]:
        print("usage: python -m graphtag.torch build", file=sys.stderr)
        return 2
    from . import _backward_build

    try:
        print(_backward_build.build())
    except (OSError, _backward_build.BuildError) as error:
        print(f"graphtag: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
