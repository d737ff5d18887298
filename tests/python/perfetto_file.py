"""Reads a Perfetto file with the official schema and checks its rules; knows nothing of how graphtag writes it."""
import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

CLEARED = schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
NEEDED = schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


@dataclass
class Slice:
    track: int
    name: str
    category: str
    start: int
    args: dict
    flows: list
    ending_flows: list
    depth: int
    parent: "Slice | None"
    end: int | None = None
    ends: list = field(default_factory=list)


class PerfettoFile:
    """tracks: uuid -> TrackDescriptor; slices in file order; points: (track, type, name, time, args)."""

    def __init__(self, path):
        content = open(path, "rb").read()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        self.tracks, self.slices, self.points, self.clocks = {}, [], [], {}
        self.trace = schema.Trace.FromString(content)
        strings, last, open_slices = {}, {}, defaultdict(list)
        for packet in self.trace.packet:
            sequence = packet.trusted_packet_sequence_id
            assert sequence, "packet without a sequence"
            if packet.sequence_flags & CLEARED:
                strings[sequence] = defaultdict(dict)
            if packet.sequence_flags & NEEDED:
                assert sequence in strings, "state is needed that was never set up"
            for descriptor, entries in packet.interned_data.ListFields():
                for entry in entries:
                    strings[sequence][descriptor.name][entry.iid] = entry.str.decode() if hasattr(entry, "str") else entry.name
            for clock in packet.clock_snapshot.clocks:
                self.clocks[clock.clock_id] = clock.timestamp
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                assert track.uuid and track.uuid not in self.tracks
                assert not track.parent_uuid or track.parent_uuid in self.tracks
                self.tracks[track.uuid] = track
            if packet.HasField("track_event"):
                assert packet.timestamp >= last.get(sequence, 0), "time goes back in a sequence"
                last[sequence] = packet.timestamp
                self._event(packet.timestamp, packet.track_event, strings[sequence], open_slices)
        assert not any(open_slices.values()), "slice without an END"

    def _event(self, time, event, strings, open_slices):
        assert event.track_uuid in self.tracks
        stack = open_slices[event.track_uuid]
        if event.type == event.TYPE_SLICE_END:
            stack.pop().end = time  # an END closes the newest open slice
            return
        name = strings["event_names"][event.name_iid] if event.name_iid else event.name
        categories = [strings["event_categories"][iid] for iid in event.category_iids] + list(event.categories)
        args = {}
        for annotation in event.debug_annotations:
            key, value = self._annotation(annotation, strings)
            assert key not in args, f"two args {key}"
            args[key] = value
        if event.type == event.TYPE_SLICE_BEGIN:
            parent = stack[-1] if stack else None
            new = Slice(event.track_uuid, name, ",".join(categories), time, args, list(event.flow_ids),
                        list(event.terminating_flow_ids), len(stack), parent)
            stack.append(new)
            self.slices.append(new)
        else:
            self.points.append((event.track_uuid, event.type, name, time, args))

    def _annotation(self, annotation, strings):
        key = strings["debug_annotation_names"][annotation.name_iid] if annotation.name_iid else annotation.name
        if annotation.dict_entries:
            return key, dict(self._annotation(entry, strings) for entry in annotation.dict_entries)
        if annotation.array_values:
            return key, [self._annotation(entry, strings)[1] for entry in annotation.array_values]
        kind = annotation.WhichOneof("value")
        if kind == "string_value_iid":
            return key, strings["debug_annotation_string_values"][annotation.string_value_iid]
        if kind == "legacy_json_value":
            return key, json.loads(annotation.legacy_json_value)
        assert kind in ("bool_value", "int_value", "uint_value", "double_value", "string_value"), kind
        return key, getattr(annotation, kind)

    def name(self, uuid):
        track = self.tracks[uuid]
        return track.name or track.process.process_name or track.thread.thread_name

    def root(self, uuid):
        while self.tracks[uuid].parent_uuid:
            uuid = self.tracks[uuid].parent_uuid
        return uuid

    def check_nesting(self):
        """Every slice lies in its parent, and those beside it do not overlap it."""
        last = {}
        for item in self.slices:
            assert item.start <= item.end
            if item.parent:
                assert item.parent.start <= item.start and item.end <= item.parent.end
            beside = last.get((item.track, id(item.parent)))
            assert beside is None or beside.end <= item.start
            last[item.track, id(item.parent)] = item
