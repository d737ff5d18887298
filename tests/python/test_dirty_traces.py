"""Dirty traces through the command: what repair makes valid is kept, the rest is left out, both are counted with their offsets."""
import gzip
import json

import pytest
from test_annotate import strict

NODE = 7 << 32 | 3
GOOD = b'{"ph":"X","cat":"kernel","name":"good","pid":0,"tid":7,"ts":9,"dur":1,"args":{"device":0,"stream":7,"correlation":5,"graph id":7,"graph node id":%d}}' % NODE


def event(name=b"k", ts=b"1", extra=b"", node=b"%d" % NODE):
    return (
        b'{"ph":"X","cat":"kernel","name":"' + name + b'","pid":0,"tid":7,"ts":' + ts + b',"dur":1,"args":{"device":0,"stream":7,"correlation":5,'
        b'"graph id":7,"graph node id":' + node + extra + b"}}"
    )


# what: (the event, kind of the problem, where in the event, what a JSON reader finds at the path)
KEPT = {
    "raw newline": (event(b"a\nb"), "raw-control-character", b"\nb", ["name"], "a\nb"),
    "raw NUL": (event(b"a\0b"), "raw-control-character", b"\0b", ["name"], "a\0b"),
    "raw control character in a key": (event(extra=b',"a\x01":5'), "raw-control-character", b'\x01":5', ["args", "a\x01"], 5),
    "unescaped quotes": (event(b'op<"x">(int)'), "unescaped-quote", b'"x">', ["name"], 'op<"x">(int)'),
    "bad escape": (event(rb"a\qb"), "bad-escape", rb"\qb", ["name"], r"a\qb"),
    "short unicode escape": (event(rb"a\u12"), "bad-escape", rb"\u12", ["name"], r"a\u12"),
    "lone surrogate": (event(rb"\ud800x"), "bad-escape", rb"\ud800", ["name"], "\ufffdx"),
    "invalid UTF-8": (event(b"a\xffb"), "invalid-utf8", b"\xffb", ["name"], "a\ufffdb"),
    "NaN": (event(extra=b',"v":NaN'), "not-a-number", b"NaN", ["args", "v"], None),
    "Infinity": (event(extra=b',"v":Infinity'), "not-a-number", b"Infinity", ["args", "v"], None),
    "-Infinity": (event(extra=b',"v":-Infinity'), "not-a-number", b"-Infinity", ["args", "v"], None),
    "trailing comma": (event(extra=b","), "trailing-comma", b",}}", ["args", "device"], 0),
    "leading zero": (event(extra=b',"v":01'), "bad-number", b"01}", ["args", "v"], 1),
    "no digit before the point": (event(extra=b',"v":.5'), "bad-number", b".5}", ["args", "v"], 0.5),
    # noted, and kept as they are: the offset is the event's
    "integer beyond 64 bits": (event(extra=b',"v":123456789012345678901'), "integer-beyond-64-bits", b"{", ["args", "v"], 123456789012345678901),
    "key twice": (event(extra=b',"device":0'), "duplicate-key", b"{", ["args", "device"], 0),
    "time beyond 64 bits": (event(ts=b"1e300"), "bad-time", b"{", ["ts"], 1e300),
}
LEFT_OUT = {
    "no colon": (b'{"ph" "X"}', "unparsable-event"),
    "key without quotes": (event(extra=b",v:1"), "unparsable-event"),
    "Python's True": (event(extra=b',"v":True'), "unparsable-event"),
    "number": (b"17", "not-an-object"),
    "string with braces": (b'"hello, {world"', "not-an-object"),
    "null": (b"null", "not-an-object"),
    "too deep": (event(extra=b',"v":' + b"[" * 100_000 + b"]" * 100_000), "unparsable-event"),
    "too large": (event(extra=b',"v":"' + b"x" * 20_000_000 + b'"'), "event-too-large"),
}


@pytest.fixture
def annotate(run, tmp_path):
    """annotate(trace's bytes, *options): (outcome, standard error)."""
    (tmp_path / "a.json").write_text(json.dumps({str(NODE): {"name": "region"}}))

    def annotated(content, *options, read=strict):
        (tmp_path / "t.json").write_bytes(content)
        done = run("annotate", tmp_path / "t.json", "-a", tmp_path / "a.json", "-o", tmp_path / "out.json", *options)
        return read((tmp_path / "out.json").read_text(encoding="utf-8")), done.stderr

    return annotated


@pytest.fixture
def problems(run, tmp_path):
    """problems(): kind -> (count, first offset) of the trace that was annotated last, which show, check and report agree on."""

    def counted():
        trace = tmp_path / "t.json"
        told = [json.loads(run("show", trace, "--json").stdout)["problems"]]
        told += [json.loads(run(verb, trace, "--format", "json").stdout)["totals"]["problems"] for verb in ("report", "check")]
        assert told[0] == told[1] == told[2]
        return {p["kind"]: (p["count"], p["first_offset"]) for p in told[0]}

    return counted


def whole(*events, bare=False):
    body = b",\n".join(events)
    return b"[" + body + b"]" if bare else b'{"schemaVersion": 1, "traceEvents": [\n' + body + b'\n], "traceName": "t"}'


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("what", KEPT)
def test_repaired_or_noted_events_are_kept(annotate, problems, what, bare):
    dirty, kind, place, path, value = KEPT[what]
    content = whole(GOOD, dirty, GOOD, dirty, bare=bare)
    outcome, stderr = annotate(content, read=json.loads if kind == "duplicate-key" else strict)
    events = outcome["traceEvents"]
    assert len(events) == 4 and events[1] == events[3]
    assert all(e["args"]["name"] == "region" for e in events)
    assert events[0] == {**json.loads(GOOD), "args": {**json.loads(GOOD)["args"], "name": "region"}}
    found = events[1]
    for key in path:
        found = found[key]
    assert found == value and type(found) is type(value)
    offset = content.index(dirty) + dirty.index(place)
    assert f"2 x {kind} ({'repaired' if place != b'{' else 'kept as it is'}) at offset {offset}" in stderr
    assert problems() == {kind: (2, offset)}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_stays_invalid_is_left_out(annotate, problems, what):
    dirty, kind = LEFT_OUT[what]
    content = whole(GOOD, dirty, GOOD)
    outcome, stderr = annotate(content)
    assert [e["name"] for e in outcome["traceEvents"]] == ["good", "good"]
    assert outcome["traceName"] == "t"
    offset = content.index(dirty)
    assert f"1 x {kind} (left out) at offset {offset}" in stderr
    assert problems() == {kind: (1, offset)}


def test_python_words_and_all_kinds_at_once(annotate, problems):
    events = [dirty for dirty, *_ in KEPT.values()]
    for dirty, _ in LEFT_OUT.values():  # reading goes on with the next event that is whole
        events += [dirty, GOOD]
    content = b"\xef\xbb\xbf" + whole(*events)
    outcome, _ = annotate(content, read=json.loads)
    assert len(outcome["traceEvents"]) == len(KEPT) + len(LEFT_OUT)
    kinds = {"byte-order-mark"} | {row[1] for row in KEPT.values()} | {row[1] for row in LEFT_OUT.values()}
    assert set(problems()) == kinds


@pytest.mark.parametrize("packed", [False, True])
def test_cut_off_anywhere_it_is_valid_and_whole_up_to_there(annotate, packed):
    content = whole(*[event(b"k%d" % n) for n in range(5)])
    cuts = range(60, len(content) - 3, 37)
    for cut in cuts:
        data = content[:cut]
        complete = sum(data.find(b"k%d" % n) >= 0 and len(data) >= content.index(b"k%d" % n) - 31 + len(event(b"k0")) for n in range(5))
        if packed:  # the file ends without gzip's own end
            data = gzip.compress(data, mtime=0)[:-8]
        outcome, stderr = annotate(data)
        assert [e["name"] for e in outcome["traceEvents"]] == [f"k{n}" for n in range(complete)], cut
        assert "1 x truncated (left out) at offset" in stderr or "damaged-gzip" in stderr


def test_a_gzip_file_cut_anywhere(annotate):
    packed = gzip.compress(whole(*[event(b"k%d" % n, extra=b',"r":%d' % (n * 7919 % 1000)) for n in range(300)]))
    seen = 0
    for cut in range(200, len(packed) - 1, 301):
        outcome, stderr = annotate(packed[:cut])
        names = [e["name"] for e in outcome["traceEvents"]]
        assert names == [f"k{n}" for n in range(len(names))]
        assert len(names) >= seen and "damaged-gzip" in stderr
        seen = len(names)


def test_a_corrupt_gzip_block_keeps_what_came_before(annotate):
    packed = bytearray(gzip.compress(whole(*[event(b"k%d" % n) for n in range(300)])))
    packed[-6] ^= 0xFF  # the checksum
    outcome, stderr = annotate(bytes(packed))
    assert len(outcome["traceEvents"]) == 300 and "damaged-gzip" in stderr


@pytest.mark.parametrize(
    "text,kind",
    [
        (b'{"traceEvents": [%s,]}', "trailing-comma"),
        (b'{"traceEvents": [,%s]}', "trailing-comma"),
        (b'{"traceEvents": [%s,,%s]}', "trailing-comma"),
        (b'{"traceEvents": [%s %s]}', "missing-comma"),
        (b'{"traceEvents": [%s],}', "trailing-comma"),
        (b'{"a": 1 "traceEvents": [%s]}', "missing-comma"),
        (b'{"traceEvents": [%s]} and more', "trailing-garbage"),
        (b'{"a": NaN, "traceEvents": [%s]}', "not-a-number"),
        (b'{"a": "x\ny", "traceEvents": [%s]}', "raw-control-character"),
        (b'{"traceEvents": [%s], "a": "x"y"}', "unescaped-quote"),
        (b'{"traceEvents": [%s], "a": {"b": 1', "truncated"),
        (b'{"traceEvents": [%s], "traceEvents": [%s]}', "unparsable-event"),
    ],
)
def test_dirt_between_and_around_the_events(annotate, problems, text, kind):
    outcome, stderr = annotate(text.replace(b"%s", GOOD))
    wanted = 1 if kind == "unparsable-event" else text.count(b"%s")
    assert len(outcome["traceEvents"]) == wanted
    assert f"1 x {kind}" in stderr
    assert problems()[kind][0] == 1


def test_a_bare_array_without_its_end(annotate):
    outcome, stderr = annotate(b"[" + GOOD + b",\n" + GOOD + b",\n")
    assert len(outcome["traceEvents"]) == 2
    assert "truncated" not in stderr


def test_base_time_after_the_events(run, annotate, tmp_path):
    content = b'{"traceEvents": [' + GOOD + b'], "baseTimeNanoseconds": 1700000000000000000}'
    outcome, _ = annotate(content)
    assert outcome["baseTimeNanoseconds"] == 1700000000000000000
    assert json.loads(run("report", tmp_path / "t.json", "--format", "json").stdout)["base_ns"] == "1700000000000009000"


def test_unchanged_events_are_copied_byte_for_byte(annotate, tmp_path):
    odd = [
        b'{ "ph":"i" ,\t"name" : "\\u0041\\/\xc3\xa9" , "ts" : 1.50e0, "v":[ 1 ,-0 , 1E5 ] }',
        b'{"ph":"X","cat":"kernel","name":"no graph","ts":1.000,"dur":2.0,"pid":0,"tid":7,"args":{"graph id":0,  "x":1.10}}',
        b'{"args":{},"ph":"M"}',
        b"{}",
        b'{"ph":"X","cat":"kernel","name":"unknown node","ts":1,"dur":1,"args":{"graph id":8, "graph node id":34359738375}}',
    ]
    annotate(whole(odd[0], GOOD, *odd[1:]))
    written = (tmp_path / "out.json").read_bytes()
    at = 0
    for one in odd:
        at = written.index(one, at)
    added = b',"name":"region"}}'
    assert GOOD[:-2] + added in written


def test_force_pays_no_regard_to_dirt(annotate):
    """Annotated, broken on the way, and annotated again: nothing twice."""
    first, _ = annotate(whole(GOOD, event(b"a\nb")))
    again, _ = annotate(json.dumps(first).replace("a\\nb", "a\nb").encode(), "--force")
    assert again["traceEvents"] == first["traceEvents"]
