"""The Python in README and docs: it compiles, and all that it takes from graphtag is there."""
import ast
import re

import fake_cuda
import pytest

import graphtag
import graphtag.auto
import graphtag.torch

PAGES = [fake_cuda.SOURCE_DIR / "README.md", *sorted((fake_cuda.SOURCE_DIR / "docs").glob("*.md"))]
EXAMPLES = sorted((fake_cuda.SOURCE_DIR / "examples").glob("*.py"))
SNIPPETS = [(page.name, number, text) for page in PAGES for number, text in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))]
SNIPPETS += [(example.name, 0, example.read_text()) for example in EXAMPLES]
MODULES = {"graphtag": graphtag, "gat": graphtag.torch}


def found_at(node):
    """What an expression such as graphtag.auto.start stands for; None where it begins with neither of graphtag's names."""
    if isinstance(node, ast.Name):
        return MODULES.get(node.id)
    owner = found_at(node.value) if isinstance(node, ast.Attribute) else None
    return None if owner is None else getattr(owner, node.attr)


@pytest.mark.parametrize(("page", "number", "text"), SNIPPETS, ids=[f"{page}-{number}" for page, number, _ in SNIPPETS])
def test_python_in_docs_takes_what_there_is(page, number, text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            found_at(node)  # AttributeError if it is not there
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("graphtag"):
            assert all(hasattr(graphtag.torch if node.module == "graphtag.torch" else graphtag, name.name) for name in node.names)


def test_pages_have_snippets_and_the_quick_start_is_the_example():
    assert {"README.md", "pytorch.md"} <= {page for page, _, _ in SNIPPETS}
    example = (fake_cuda.SOURCE_DIR / "examples/torch_quick_start.py").read_text().split("\n", 1)[1]
    assert f"```python\n{example}```" in PAGES[0].read_text()
