"""Writes the pickles in tests/golden/pickles, and what they must be read as.

    python3 tests/golden/make_pickles.py

good/SHAPE.P.pkl        one shape of torch.cuda.graph_annotations in pickle protocol P
good/SHAPE.json         node id -> annotation, as the reader must see it
refused/NAME.pkl        a pickle that must be refused
refused/expected.json   NAME -> the opcode that it must be refused for, and that opcode's offset (found by Python's pickletools)
h200/NAME.json          node id -> annotation of the recorded pickles in ../h200 and examples/decode, read by Python's own pickle
"""

import collections
import json
import math
import pathlib
import pickle
import pickletools

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "pickles"
GRAPH = 7 << 32

Ordered = collections.OrderedDict


def shapes():
    """name -> annotations as torch keeps them."""
    shared = {"name": "shared", "bs": 8}
    by_default = collections.defaultdict(list)
    by_default[GRAPH].append({"name": "default"})
    by_default[GRAPH + 1].append(collections.defaultdict(int, {"n": 3}))
    return {
        "list_of_dicts": {GRAPH: [{"name": "a", "bs": 8}], GRAPH + 1: [{"name": "b"}], (9 << 32) + 5: [{"name": "a", "bs": 8}]},
        "dicts": {GRAPH: {"name": "a"}, GRAPH + 1: {"name": "b", "bs": 1}},
        "list_of_strings": {GRAPH: ["a.b"], GRAPH + 1: ["c", "d"]},
        "bare_strings": {GRAPH: "a.b", GRAPH + 1: "ü"},
        "old_key": {GRAPH: [{"str": "a"}], GRAPH + 1: [{"bs": 1, "str": "b"}], GRAPH + 2: [{"name": "c", "str": "d"}], GRAPH + 3: [{"str": 5}]},
        "several_dicts": {GRAPH: [{"name": "a", "x": 1}, {"x": 2, "y": 3}, {"name": "b"}], GRAPH + 1: [{"name": "a"}, "b", {"str": "c"}]},
        "empty": {GRAPH: [], GRAPH + 1: [{}], GRAPH + 2: {}, GRAPH + 3: [{"name": "a"}]},
        "nothing": {},
        "tuples": {GRAPH: ({"name": "a", "t": (1, (2, 3), ())},), GRAPH + 1: [{"t": (1,), "u": (1, 2), "v": (1, 2, 3, 4)}]},
        "shared": {GRAPH + i: [shared] for i in range(5)},
        "list_of_files": [{GRAPH: [{"name": "a"}], GRAPH + 1: [{"name": "b"}]}, {GRAPH + 1: [{"name": "c"}]}],
        "ordered_and_default": Ordered([(GRAPH + 2, [Ordered([("name", "o"), ("in", Ordered(z=1, a=2))])])] + list(by_default.items())),
        "default": by_default,
        "ids": {0: "zero", 1: "one", (1 << 32) - 1: "a", 1 << 32: "b", (1 << 63) - 1: "c", 1 << 63: "d", (1 << 64) - 1: "e"},
        "numbers": {
            GRAPH: {
                "ints": [0, 1, -1, 127, 128, 255, 256, -128, -129, 65535, 65536, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1],
                "wide": [2**63 - 1, 2**63, 2**64 - 1, -(2**63), 2**32, -(2**32)],
                "floats": [0.0, -0.0, 0.1, -1e300, 5e-324, 1.0, 123456789.123456789],
                "others": [None, True, False],
                "lost": [math.nan, math.inf, -math.inf],
            }
        },
        "integer_keys": {GRAPH: {"by_rank": {0: "a", -1: "b", 2**63: "c"}, 5: "five"}},
        "texts": {
            GRAPH: {
                "name": "é😀\u2028 \\ \\u0041 \\\\u0041 \n \r \t \0 \x1a \x7f ' \"",
                "long": "x" * 300,
                "ключ": "значение",
                "": "",
            }
        },
        "long": {GRAPH + i: [{"name": f"layer.{i // 10}", "i": i}] for i in range(1100)},
    }


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def one_annotation(value):
    """A dict, a string, or a list of them, as one dict: the later wins a key."""
    merged = {}
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, str):
            item = {"name": item}
        if isinstance(item.get("str"), str) and "name" not in item:
            item = {("name" if k == "str" else k): v for k, v in item.items()}
        merged.update(item)
    return plain(merged)


def expected(annotations):
    result = {}
    for file in annotations if isinstance(annotations, list) else [annotations]:
        for node, value in file.items():
            result[str(node)] = one_annotation(value)
    return result


class Reduced:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


class Persistent(pickle.Pickler):
    def persistent_id(self, value):
        return "id" if value == "persistent" else None


def refused():
    """name -> (pickle, the opcode it must be refused for)."""
    import io
    import os

    def dump(value, protocol):
        return pickle.dumps(value, protocol)

    def persistent(protocol):
        out = io.BytesIO()
        Persistent(out, protocol).dump({GRAPH: "persistent"})
        return out.getvalue()

    head = b"\x80\x02}\x8a\x05" + GRAPH.to_bytes(5, "little")  # a dict, and the key of its first item
    evil = {GRAPH: Reduced(os.system, "true")}
    result = {
        "system_0": (dump(evil, 0), "GLOBAL"),
        "system_2": (dump(evil, 2), "GLOBAL"),
        "system_4": (dump(evil, 4), "STACK_GLOBAL"),
        "eval": (dump({GRAPH: Reduced(eval, "1")}, 4), "STACK_GLOBAL"),
        "getattr": (dump({GRAPH: Reduced(getattr, "a", "b")}, 2), "GLOBAL"),
        "list_call": (dump({GRAPH: Reduced(list)}, 2), "REDUCE"),
        "dict_call": (dump({GRAPH: Reduced(dict, [("a", 1)])}, 2), "REDUCE"),
        "ordered_dict_with_items": (dump({GRAPH: Reduced(Ordered, [("a", 1)])}, 2), "REDUCE"),
        "default_dict_of_call": (dump({GRAPH: Reduced(collections.defaultdict, print)}, 2), "GLOBAL"),
        "default_dict_of_class": (dump({GRAPH: Reduced(collections.defaultdict, Ordered)}, 2), "REDUCE"),
        "default_dict_with_items": (dump({GRAPH: Reduced(collections.defaultdict, int, {"a": 1})}, 2), "REDUCE"),
        "default_dict_without_factory": (dump(collections.defaultdict(), 4), "REDUCE"),
        "counter": (dump(collections.Counter("a"), 4), "STACK_GLOBAL"),
        "class_as_value": (dump({GRAPH: {"type": list}}, 2), "GLOBAL"),
        "call_of_string": (head + b"X\x01\0\0\0a)Rs.", "REDUCE"),
        "set_2": (dump({GRAPH: {"s": {1}}}, 2), "GLOBAL"),
        "set_4": (dump({GRAPH: {"s": {1}}}, 4), "EMPTY_SET"),
        "additems": (head + b"](K\x01\x90s.", "ADDITEMS"),
        "frozenset_4": (dump({GRAPH: {"s": frozenset([1])}}, 4), "FROZENSET"),
        "bytes_3": (dump({GRAPH: {"b": b"a"}}, 3), "SHORT_BINBYTES"),
        "bytes_long": (dump({GRAPH: {"b": b"a" * 300}}, 3), "BINBYTES"),
        "bytes_8": (head + b"\x8e" + (1).to_bytes(8, "little") + b"as.", "BINBYTES8"),
        "bytearray_5": (dump({GRAPH: {"b": bytearray(b"a")}}, 5), "BYTEARRAY8"),
        "buffer": (pickle.dumps({GRAPH: pickle.PickleBuffer(b"a")}, 5, buffer_callback=lambda b: False), "NEXT_BUFFER"),
        "readonly_buffer": (head + b"N\x98s.", "READONLY_BUFFER"),
        "persistent_0": (persistent(0), "PERSID"),
        "persistent_2": (persistent(2), "BINPERSID"),
        "ext1": (head + b"\x82\x01s.", "EXT1"),
        "ext2": (head + b"\x83\x01\x01s.", "EXT2"),
        "ext4": (head + b"\x84\x01\x01\x01\x01s.", "EXT4"),
        "build": (head + b"}}bs.", "BUILD"),
        "inst": (head + b"(ios\nsystem\ns.", "INST"),
        "obj": (head + b"(X\x01\0\0\0aos.", "OBJ"),
        "newobj": (head + b"X\x01\0\0\0a)\x81s.", "NEWOBJ"),
        "newobj_ex": (head + b"X\x01\0\0\0a)}\x92s.", "NEWOBJ_EX"),
    }
    return result


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def main():
    for name, value in shapes().items():
        write_json(OUT / "good" / f"{name}.json", expected(value))
        for protocol in range(6):
            (OUT / "good" / f"{name}.{protocol}.pkl").write_bytes(pickle.dumps(value, protocol))
    reasons = {}
    (OUT / "refused").mkdir(parents=True, exist_ok=True)
    for name, (content, opcode) in refused().items():
        (OUT / "refused" / f"{name}.pkl").write_bytes(content)
        # The last of its name: those before it are let through.
        offset = [position for op, _, position in pickletools.genops(content) if op.name == opcode][-1]
        reasons[name] = {"opcode": opcode, "offset": offset}
    write_json(OUT / "refused" / "expected.json", reasons)
    recorded = sorted((HERE / "h200").glob("*.pkl")) + [HERE.parent.parent / "examples/decode/decode.annotations.pkl"]
    for path in recorded:
        write_json(OUT / "h200" / f"{path.stem}.json", expected(pickle.loads(path.read_bytes())))


main()
