"""Reads a recording (.pftrace) with nothing but Python, for machines without Perfetto's schema. tests/python/test_run.py compares it with the official
schema's reading. What a GPU test asks of a recording is here as well.

    trace = Trace(path); trace.kernels -> [Slice]; trace.rest -> bytes behind the last whole packet; trace.counts -> {category: slices}
    Trace(path, light=True) counts the slices of those of millions, and keeps none of them but graphtag's own
"""
import struct
from collections import Counter, defaultdict

# Field numbers of perfetto_trace.proto.
PACKET_TIME, PACKET_SEQUENCE, PACKET_FLAGS, PACKET_EVENT, PACKET_INTERNED = 8, 10, 13, 11, 12
EVENT_TYPE, EVENT_NAME_ID, EVENT_NAME, EVENT_CATEGORY_IDS, EVENT_CATEGORIES, EVENT_ARGS = 9, 10, 23, 3, 22, 4
ARG_NAME_ID, ARG_NAME, ARG_BOOL, ARG_UINT, ARG_INT, ARG_DOUBLE, ARG_STRING, ARG_STRING_ID, ARG_DICT, ARG_ARRAY = 1, 10, 2, 3, 4, 5, 6, 17, 11, 12
INTERNED_CATEGORIES, INTERNED_NAMES, INTERNED_ARGS, INTERNED_STRINGS = 1, 2, 3, 29
BEGIN, END, INSTANT = 1, 2, 3
EVENTS = 3  # the sequence of everything but graphtag's own status


class Slice:
    __slots__ = ("name", "category", "start", "end", "args")

    def __init__(self, name, category, start, args):
        self.name, self.category, self.start, self.end, self.args = name, category, start, start, args

    def region(self):
        """"decode.mlp", or None."""
        path = self.args.get("graphtag.path")
        return ".".join(path) if path else self.args.get("name")


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(data):
    """(number, value): integers as they are, lengths as bytes, doubles as 8 bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        else:
            value, at = data[at : at + 4], at + 4
        yield tag >> 3, value


def _packets(data):
    at, end = 0, len(data)
    while at < end:
        try:
            tag, body = _varint(data, at)
            length, body = _varint(data, body)
        except IndexError:
            break
        assert tag == 10, f"no packet at {at}"
        if body + length > end:
            break
        yield data[body : body + length], body + length
        at = body + length


def _arg(data, names):
    key = value = None
    entries, items = None, None
    for number, field in _fields(data):
        if number == ARG_NAME_ID:
            key = names[INTERNED_ARGS][field]
        elif number == ARG_NAME:
            key = bytes(field).decode()
        elif number == ARG_BOOL:
            value = bool(field)
        elif number == ARG_UINT:
            value = field
        elif number == ARG_INT:
            value = field - (1 << 64) if field >= 1 << 63 else field
        elif number == ARG_DOUBLE:
            value = struct.unpack("<d", field)[0]
        elif number == ARG_STRING:
            value = bytes(field).decode()
        elif number == ARG_STRING_ID:
            value = names[INTERNED_STRINGS][field]
        elif number == ARG_DICT:
            entries = entries or {}
            entries.update([_arg(field, names)])
        elif number == ARG_ARRAY:
            items = items or []
            items.append(_arg(field, names)[1])
    return key, entries if entries is not None else items if items is not None else value


class Trace:
    def __init__(self, path, light=False):
        with open(path, "rb") as file:
            data = memoryview(file.read())
        self.slices, self.counts, end = [], Counter(), 0
        names, open_slices = defaultdict(lambda: defaultdict(dict)), {}
        for packet, end in _packets(data):
            time = sequence = flags = 0
            event = interned = None
            for number, value in _fields(packet):
                if number == PACKET_TIME:
                    time = value
                elif number == PACKET_SEQUENCE:
                    sequence = value
                elif number == PACKET_FLAGS:
                    flags = value
                elif number == PACKET_EVENT:
                    event = value
                elif number == PACKET_INTERNED:
                    interned = value
            if flags & 1:
                names[sequence].clear()
            if interned is not None:
                for kind, entry in _fields(interned):
                    parts = dict(_fields(entry))
                    names[sequence][kind][parts[1]] = bytes(parts.get(2, b"")).decode()
            if event is None:
                continue
            if light and sequence == EVENTS:
                self._count(event, names[sequence])
            else:
                self._event(time, event, names[sequence], open_slices, sequence)
        self.rest = len(data) - end
        self.kernels = [one for one in self.slices if one.category == "kernel"]

    def _count(self, data, names):
        for number, value in _fields(data):
            if number == EVENT_TYPE and value != BEGIN:
                return
            if number == EVENT_CATEGORY_IDS:
                self.counts[names[INTERNED_CATEGORIES][value]] += 1
                return

    def _event(self, time, data, names, open_slices, sequence):
        kind, name, categories, args = 0, "", [], {}
        for number, value in _fields(data):
            if number == EVENT_TYPE:
                kind = value
            elif number == EVENT_NAME_ID:
                name = names[INTERNED_NAMES][value]
            elif number == EVENT_NAME:
                name = bytes(value).decode()
            elif number == EVENT_CATEGORY_IDS:
                categories.append(names[INTERNED_CATEGORIES][value])
            elif number == EVENT_CATEGORIES:
                categories.append(bytes(value).decode())
            elif number == EVENT_ARGS:
                key, entry = _arg(value, names)
                args[key] = entry
        if kind == END:
            open_slices.pop(sequence).end = time
        elif kind in (BEGIN, INSTANT):
            made = Slice(name, ",".join(categories), time, args)
            self.slices.append(made)
            if kind == BEGIN:
                open_slices[sequence] = made
                self.counts[made.category] += 1

    def ended(self):
        """The counts at the end of the recording; None if the program was killed."""
        return next((one.args for one in self.slices if one.name == "graphtag.end"), None)


def compare(trace, truth, kernel_name, say=print):
    """Checks the kernels whose name contains `kernel_name` and whose grid's x is a key of `truth`: grid -> {"region", "graph": bool, "launches"}.
    False if a name is wrong or lacking, or a record is missing or too many."""
    seen, wrong = defaultdict(int), []
    for kernel in trace.kernels:
        if kernel_name not in kernel.name:
            continue
        grid = kernel.args["grid"][0]
        expected = truth.get(str(grid))
        if expected is None:
            wrong.append(f"grid {grid} was never launched")
            continue
        seen[grid] += 1
        in_graph = bool(kernel.args.get("graph node id"))
        if in_graph != expected["graph"]:
            wrong.append(f"grid {grid}: in a graph: {in_graph}, not {expected['graph']}")
        if kernel.region() != expected["region"]:
            wrong.append(f"grid {grid}: named {kernel.region()}, not {expected['region']} ({kernel.args.get('graphtag.origin')})")
    for grid, expected in truth.items():
        if seen[int(grid)] != expected["launches"]:
            wrong.append(f"grid {grid}: {seen[int(grid)]} records of {expected['launches']} launches")
    graphed = sum(seen[int(grid)] for grid, expected in truth.items() if expected["graph"])
    say(f"{len(truth)} distinct kernels, {sum(seen.values())} records, {graphed} of them in graphs; wrong: {len(wrong)}")
    for line in wrong[:10]:
        say("  " + line)
    return not wrong and sum(seen.values()) > 0
