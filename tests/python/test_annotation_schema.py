"""docs/annotation-file.schema.json holds for what graphtag reads and writes, and for nothing else.

That graphtag writes serving.json byte for byte is tested in C++ (annotation_file_schema_test.cpp), so validating it here validates the writer.
"""

import copy
import json
import pathlib

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/annotation-file.schema.json").read_text())
EXAMPLES = sorted((ROOT / "examples/annotations").glob("*.json"))
SERVING = json.loads((ROOT / "examples/annotations/serving.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_there_are_examples():
    assert {"by_hand.json", "serving.json"} <= {path.name for path in EXAMPLES}


def test_the_example_in_the_documentation_is_the_file():
    text = (ROOT / "docs/annotation-file.md").read_text()
    example = text.split("```json\n")[1].split("```")[0]
    assert example == (ROOT / "examples/annotations/by_hand.json").read_text()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_valid(path):
    VALIDATOR.validate(json.loads(path.read_text()))


def test_the_schema_describes_every_member_of_the_example():
    """serving.json shows all members, so each must have a description's place in the schema."""

    def undescribed(value, schema, where):
        while "$ref" in schema:
            schema = {**SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], **{k: v for k, v in schema.items() if k != "$ref"}}
        if isinstance(value, list) and "items" in schema:
            return [name for i, item in enumerate(value) for name in undescribed(item, schema["items"], f"{where}/{i}")]
        if not isinstance(value, dict) or "properties" not in schema:
            return []
        free = where.endswith(("/object", "/counts"))
        missing = [] if free else [f"{where}/{key}" for key in value if key not in schema["properties"]]
        known = [key for key in value if key in schema["properties"]]
        return missing + [name for key in known for name in undescribed(value[key], schema["properties"][key], f"{where}/{key}")]

    assert undescribed(SERVING, SCHEMA, "") == []


def changed(*path, value):
    """serving.json with the part at `path` replaced, or left out where `value` is ..."""
    file = copy.deepcopy(SERVING)
    part = file
    for step in path[:-1]:
        part = part[step]
    if value is ...:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return file


@pytest.mark.parametrize(
    "path, value",
    [
        (["schema"], ...),
        (["schema"], "graphtag.annotations/2"),
        (["producer", "pid"], "4242"),
        (["producer", "device_uuids"], "GPU-1"),
        (["producer", "counts", "dropped_graphs"], -1),
        (["annotations", 0], {"path": ["a"]}),
        (["annotations", 0], {"object": {}}),
        (["annotations", 0, "object"], []),
        (["annotations", 0, "path"], ["a", 1]),
        (["graphs", 0, "id"], ...),
        (["graphs", 0, "id"], 2**32),
        (["graphs", 0, "runs"], ...),
        (["graphs", 0, "runs", 0], [0]),
        (["graphs", 0, "runs", 0], [0, 1, "callback", 0]),
        (["graphs", 0, "runs", 0], [0, 1, "outside-scope"]),
        (["graphs", 0, "runs", 0], [0, 0, "callback"]),
        (["graphs", 0, "runs", 0], [-1, 1]),
        (["graphs", 0, "nodes", "kernels"], -1),
        (["graphs", 0, "created_ns"], "2026"),
        (["execs", 0, "template"], ...),
        (["execs", 0, "template_ids"], 2**32),
        (["execs", 0, "placement", 0, 1], "mlp"),
    ],
    ids=str,
)
def test_what_graphtag_refuses_is_invalid(path, value):
    assert not VALIDATOR.is_valid(changed(*path, value=value))


@pytest.mark.parametrize(
    "path, value",
    [
        (["a_later_member"], {"free": True}),
        (["graphs", 0, "a_later_member"], 1),
        (["graphs", 0, "label"], None),
        (["annotations", 0], {"object": {}, "path": ["a"]}),
        (["producer"], ...),
        (["execs"], ...),
        (["execs", 0, "placement", 0], [10, 0]),
    ],
    ids=str,
)
def test_what_graphtag_reads_is_valid(path, value):
    VALIDATOR.validate(changed(*path, value=value))
