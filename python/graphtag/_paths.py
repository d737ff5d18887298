"""What names a file."""
import os
from typing import Union

# Names that are not UTF-8 too: as bytes, or as os.fsdecode() makes a str of them.
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
