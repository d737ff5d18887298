"""tools/check_includes must see each kind of wrong arrow."""
import subprocess

import pytest


def check(source_dir, root, files):
    for name, text in files.items():
        path = root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([source_dir / "tools/check_includes", root], capture_output=True, text=True)


@pytest.mark.parametrize(
    "files, complaint",
    [
        ({"base/a.h": '#include "model/ids.h"\n'}, "base must not include model"),
        ({"model/a.h": '#include "trace/event.h"\n'}, "model must not include trace"),
        ({"capture/a.h": '#include "trace/event.h"\n'}, "capture must not include trace"),
        ({"trace/nsys/a.cpp": '#include "trace/kineto/kineto_reader.h"\n'}, "format nsys must not include format kineto"),
        ({"attic/a.h": ""}, "not in the tree"),
        ({"join/a.cpp": '#include "annotate.h"\n'}, "not named from src/"),
        ({"join/a.cpp": '  #  include "cli/main.h"\n'}, "join must not include cli"),
    ],
)
def test_wrong_arrows_are_named(source_dir, tmp_path, files, complaint):
    done = check(source_dir, tmp_path, files)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_right_arrows_pass(source_dir, tmp_path):
    done = check(
        source_dir,
        tmp_path,
        {
            "join/a.cpp": '#include <vector>\n#include "base/error.h"\n#include "join/a.h"\n#include "trace/kineto/kineto_reader.h"\n',
            "capi/a.cpp": '#include "graphtag/graphtag.h"\n#include "topology/numbering.h"\n',
        },
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_tree_itself_is_right(source_dir):
    assert subprocess.run([source_dir / "tools/check_includes"]).returncode == 0
