"""Reads a recording (.pftrace) with Perfetto's official schema; knows nothing of how graphtag writes or reads it. A file that ends within a packet is
read as far as its last whole one, as a killed program leaves it."""
from collections import defaultdict
from dataclasses import dataclass

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema


@dataclass
class Event:
    name: str
    category: str
    start: int
    end: int
    args: dict
    tracks: list  # names, innermost first


def _varint(content, at):
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def packets(path):
    """(whole packets, bytes behind the last of them)."""
    content = path.read_bytes()
    at, found = 0, []
    while at < len(content):
        try:
            tag, body = _varint(content, at)
            length, body = _varint(content, body)
        except IndexError:
            break
        assert tag == 0x0A, f"no packet at {at}"
        if body + length > len(content):
            break
        found.append(schema.TracePacket.FromString(content[body : body + length]))
        at = body + length
    return found, len(content) - at


def _value(annotation, names):
    kind = annotation.WhichOneof("value")
    if annotation.dict_entries:
        return {_name(entry, names): _value(entry, names) for entry in annotation.dict_entries}
    if annotation.array_values:
        return [_value(entry, names) for entry in annotation.array_values]
    if kind == "string_value_iid":
        return names["debug_annotation_string_values"][annotation.string_value_iid]
    return getattr(annotation, kind) if kind else None


def _name(annotation, names):
    return names["debug_annotation_names"][annotation.name_iid] if annotation.name_iid else annotation.name


class RecordingFile:
    """events: list of Event, instants with end == start; rest: bytes behind the last whole packet."""

    def __init__(self, path):
        found, self.rest = packets(path)
        self.tracks, self.events = {}, []
        names, open_events = defaultdict(lambda: defaultdict(dict)), {}
        for packet in found:
            sequence = packet.trusted_packet_sequence_id
            if packet.sequence_flags & schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
                names[sequence].clear()
            for descriptor, entries in packet.interned_data.ListFields():
                for entry in entries:
                    text = entry.str.decode() if hasattr(entry, "str") else entry.name
                    names[sequence][descriptor.name][entry.iid] = text
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                self._event(packet.timestamp, packet.track_event, names[sequence], open_events, sequence)

    def _event(self, time, event, names, open_events, sequence):
        if event.type == event.TYPE_SLICE_END:
            open_events.pop(sequence).end = time
            return
        if event.type not in (event.TYPE_SLICE_BEGIN, event.TYPE_INSTANT):
            return
        name = names["event_names"][event.name_iid] if event.name_iid else event.name
        categories = [names["event_categories"][iid] for iid in event.category_iids] + list(event.categories)
        args = {_name(entry, names): _value(entry, names) for entry in event.debug_annotations}
        made = Event(name, ",".join(categories), time, time, args, self._track_names(event.track_uuid))
        self.events.append(made)
        if event.type == event.TYPE_SLICE_BEGIN:
            open_events[sequence] = made

    def _track_names(self, uuid):
        found = []
        while uuid in self.tracks:
            track = self.tracks[uuid]
            found.append(track.name or track.thread.thread_name or track.process.process_name)
            uuid = track.parent_uuid
        return found

    def of(self, category):
        return [event for event in self.events if event.category == category]

    def regions(self):
        """How many kernels each region has, in graphs and outside: {("decode.mlp", True): 3}; None for those without a name."""
        counts = defaultdict(int)
        for event in self.of("kernel"):
            path = event.args.get("graphtag.path")
            counts[".".join(path) if path else event.args.get("name"), bool(event.args.get("graph node id"))] += 1
        return dict(counts)
