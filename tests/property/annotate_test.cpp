// The streaming join against a slow plain twin that holds the whole trace as JSON values.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "join/operations.h"
#include "tests/support/join_fixtures.h"
#include "write/trace_writer.h"

namespace graphtag {
namespace {

using testing::flow_end_text;
using testing::KernelText;
using testing::make_sources;
using testing::node;
using testing::Nodes;
using testing::TempFolder;
using testing::trace_text;

// ---- Random traces ----

using Members = std::map<std::string, std::string>;  // key as written -> value as text

// Texts of JSON values, few enough that equal ones meet.
rc::Gen<std::string> value_text() {
  return rc::gen::element<std::string>("1", "\"1\"", "1.0", "\"a\"", "\"b\"", "null", "[1,{\"k\":2}]", "true");
}

// A few members; of equal keys one.
rc::Gen<Members> members_with(const rc::Gen<std::string>& key) {
  return rc::gen::map(
      rc::gen::container<std::vector<std::pair<std::string, std::string>>>(rc::gen::pair(key, value_text())),
      [](const std::vector<std::pair<std::string, std::string>>& members) { return Members(members.begin(), members.end()); });
}

rc::Gen<std::string> annotation_text() {
  const auto key = rc::gen::element<std::string>("name", "bs", "grid", "annotation.name", "annotation.annotation.name", "",
                                                 "k\\\"1", "stream");
  return rc::gen::map(members_with(key), [](Members members) {
    // Some ask for a lane.
    if (const auto stream = members.find("stream"); stream != members.end() && stream->second == "1") stream->second = "61";
    std::string text = "{";
    for (const auto& [name, value] : members) text += (text.size() > 1 ? ",\"" : "\"") + name + "\":" + value;
    return text + "}";
  });
}

// Members that the profiler wrote beside the usual ones.
rc::Gen<std::string> extra_args() {
  const auto key = rc::gen::element<std::string>("name", "bs", "annotation.name", "k\\\"1", "annotated_stream");
  return rc::gen::map(members_with(key), [](const Members& members) {
    std::string text;
    for (const auto& [name, value] : members) text += ", \"" + name + "\": " + value;
    return text;
  });
}

struct Case {
  std::vector<std::string> events;
  Nodes nodes;
  AnnotateOptions options;
};

Case make_case(bool with_extras) {
  Case made;
  for (std::uint64_t graph = 2; graph < 4; ++graph) {
    for (std::uint64_t local = 0; local < 4; ++local) {
      if (*rc::gen::arbitrary<bool>()) made.nodes[node(graph, local)] = *annotation_text();
    }
  }
  made.nodes.emplace(node(9, 0), R"({"name":"never replayed"})");
  made.options.lanes = *rc::gen::element(Lanes::none, Lanes::all);
  const auto place = [&made] {
    return made.events.begin() + *rc::gen::inRange<int>(0, static_cast<int>(made.events.size()) + 1);
  };
  const int operations = *rc::gen::inRange(0, 12);
  for (int i = 0; i < operations; ++i) {
    KernelText kernel;
    kernel.pid = *rc::gen::inRange(0, 2);
    kernel.tid = *rc::gen::element(7, 9, 61, 143);
    kernel.ts = std::to_string(100 + i) + ".5";
    kernel.correlation = *rc::gen::inRange<std::uint64_t>(1, 4);
    kernel.graph = *rc::gen::element<std::uint64_t>(0, 2, 3);
    kernel.local = *rc::gen::inRange<std::uint64_t>(0, 4);
    if (with_extras) kernel.args = *extra_args();
    made.events.insert(place(), kernel.text());
    made.events.insert(place(), flow_end_text(kernel.pid, kernel.tid, kernel.ts, kernel.correlation));
  }
  for (const int tid : {7, 9, 61, 143}) {
    const std::string at = R"("pid": 0, "tid": )" + std::to_string(tid) + R"(, "ts": 1)";
    if (*rc::gen::arbitrary<bool>())
      made.events.push_back(R"({"ph": "M", "name": "thread_name", )" + at + R"(, "args": {"name": "s"}})");
    if (*rc::gen::arbitrary<bool>()) {
      made.events.push_back(R"({"ph": "X", "cat": "gpu_user_annotation", "name": "u", )" + at + R"(, "dur": 9})");
    }
  }
  return made;
}

// ---- The twin ----

bool same(const Json& a, const Json& b) {
  return canonical_json(a) == canonical_json(b);
}

bool is_lane(const std::string& key, const Json& value) {
  return key == "stream" && value.is_number_integer();
}

// The next longer form of `key` after `form`. Forms that are keys themselves are theirs; in the others the keys below take turns.
std::string next_form(const std::string& key, const std::string& form, const std::set<std::string>& keys) {
  std::string at = key;
  while (at.starts_with("annotation.")) at.erase(0, 11);
  std::vector<std::string> below;
  std::size_t turn = 0;
  for (;; at = "annotation." + at) {
    if (keys.contains(at)) {
      below.push_back(at);
      continue;
    }
    const bool is_own = !keys.contains(key) || (!below.empty() && below[turn] == key);
    if (!below.empty()) turn = (turn + 1) % below.size();
    if (is_own && at.size() > form.size()) return at;
  }
}

// The args that a graphed event gets from its annotation. `keys`: of all annotations.
void add_annotation(Json& args, const Json& annotation, Lanes lanes, const std::set<std::string>& keys) {
  const Json original = args;
  const auto add = [&](const std::string& key, const Json& value) {
    // Of the profiler's keys that annotations have here.
    std::string at = key == "grid" || key == "stream" ? next_form(key, key, keys) : key;
    for (std::string longer = next_form(key, at, keys); original.contains(longer); longer = next_form(key, at, keys)) at = longer;
    if (original.contains(at) && !same(original[at], value)) at = next_form(key, at, keys);
    args[at] = value;
  };
  for (const auto& entry : annotation.items()) {
    if (!is_lane(entry.key(), entry.value())) {
      add(entry.key(), entry.value());
    } else if (lanes == Lanes::none) {
      add("annotated_stream", entry.value());
    }
  }
}

using Track = std::pair<int, int>;  // process, thread

Track track_of(const Json& event) {
  return {event["pid"].get<int>(), event["tid"].get<int>()};
}
bool is_kernel(const Json& event) {
  return event.value("cat", "") == "kernel";
}

std::string flow_key(const Json& launch, const Json& event) {
  return launch.dump() + "/" + event["pid"].dump() + "/" + event["tid"].dump() + "/" + event["ts"].dump();
}

struct Expected {
  std::vector<Json> events;
  std::vector<std::string> unchanged;  // texts, in order
};

Expected plain_annotate(const Case& given) {
  std::set<std::string> keys;
  for (const auto& [id, text] : given.nodes) {
    const Json annotation = Json::parse(text);
    for (const auto& entry : annotation.items()) keys.insert(entry.key());
  }
  std::vector<Json> events;
  std::map<std::string, int> lane_of_flow;
  std::map<Track, int> work_before, work_after;
  std::set<Track> named;
  std::map<Track, double> first_moved;
  std::vector<int> devices;  // in the order in which something first moved on them
  for (const std::string& text : given.events) {
    Json event = Json::parse(text);
    const Track before = track_of(event);
    if (event["ph"] == "M") named.insert(before);
    if (is_kernel(event)) {
      Json& args = event["args"];
      ++work_before[before];
      int lane = before.second;
      const auto found = given.nodes.find(args["graph node id"].get<std::uint64_t>());
      if (args["graph id"] != 0) {
        const Json annotation = found == given.nodes.end() ? Json::object() : Json::parse(found->second);
        if (given.options.lanes == Lanes::all) {
          lane = annotation.contains("stream") && is_lane("stream", annotation["stream"]) ? annotation["stream"].get<int>() : 7;
        }
        add_annotation(args, annotation, given.options.lanes, keys);
      }
      if (lane != before.second) {
        lane_of_flow[flow_key(args["correlation"], event)] = lane;
        args["original_stream"] = before.second;
        args["stream"] = lane;
        event["tid"] = lane;
        const double ts = event["ts"].get<double>();
        const auto target = first_moved.emplace(Track{before.first, lane}, ts).first;
        target->second = std::min(target->second, ts);
        if (std::find(devices.begin(), devices.end(), before.first) == devices.end()) devices.push_back(before.first);
      }
      ++work_after[{before.first, lane}];
    }
    events.push_back(std::move(event));
  }

  Expected expected;
  for (std::size_t i = 0; i < events.size(); ++i) {
    Json& event = events[i];
    if (event["ph"] == "f") {
      if (const auto moved = lane_of_flow.find(flow_key(event["id"], event)); moved != lane_of_flow.end())
        event["tid"] = moved->second;
    }
    const bool lost_all_work = work_before.contains(track_of(event)) && !work_after.contains(track_of(event));
    if (event.value("cat", "") == "gpu_user_annotation" && lost_all_work) continue;
    if (same(event, Json::parse(given.events[i]))) expected.unchanged.push_back(given.events[i]);
    expected.events.push_back(event);
  }
  for (const int device : devices) {
    for (const auto& [track, ts] : first_moved) {
      if (track.first != device || named.contains(track) || work_before.contains(track)) continue;
      Json name = {{"ph", "M"}, {"ts", ts}, {"pid", track.first}, {"tid", track.second}};
      Json order = name;
      name["name"] = "thread_name";
      name["args"] = {{"name", "stream " + std::to_string(track.second)}};
      order["name"] = "thread_sort_index";
      order["args"] = {{"sort_index", track.second}};
      expected.events.push_back(name);
      expected.events.push_back(order);
    }
  }
  return expected;
}

// ---- The properties ----

std::string annotate(const std::string& trace, const Case& given) {
  const TempFolder folder;
  std::string text;
  const auto sink = string_sink(text);
  const auto writer = chrome_writer(*sink);
  const Result<AnnotateOutcome> outcome =
      annotate_trace(folder.write("t.json", trace), make_sources(given.nodes), given.options, *writer);
  RC_ASSERT(outcome.ok());
  return text;
}

RC_GTEST_PROP(Annotate, AgreesWithThePlainTwin, ()) {
  const Case given = make_case(true);
  const Expected expected = plain_annotate(given);
  const Json out = Json::parse(annotate(trace_text(given.events), given));
  const Json& events = out["traceEvents"];
  RC_ASSERT(events.size() == expected.events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!same(events[i], expected.events[i])) RC_FAIL(events[i].dump() + "\nexpected\n" + expected.events[i].dump());
  }
}

RC_GTEST_PROP(Annotate, CopiesWhatDoesNotChangeByteForByteInOrder, ()) {
  const Case given = make_case(true);
  const std::string text = annotate(trace_text(given.events), given);
  std::size_t at = 0;
  for (const std::string& event : plain_annotate(given).unchanged) {
    const std::size_t found = text.find("\n" + event, at);
    RC_ASSERT(found != std::string::npos);
    at = found + event.size();
  }
}

RC_GTEST_PROP(Annotate, DoingItAgainGivesTheSameFile, ()) {
  const Case given = make_case(true);
  const std::string once = annotate(trace_text(given.events), given);
  RC_ASSERT(annotate(once, given) == once);
}

// What was written into args is read back from there.
RC_GTEST_PROP(Annotate, AnnotationsComeBackFromTheAnnotatedTrace, ()) {
  Case given = make_case(false);
  given.options.lanes = Lanes::none;
  const TempFolder folder;
  const std::string trace = trace_text(given.events);
  const Result<OperationTable> joined = read_operations(folder.write("t.json", trace), make_sources(given.nodes));
  const Result<OperationTable> read = read_operations(folder.write("a.json", annotate(trace, given)), {});
  RC_ASSERT(joined.ok());
  RC_ASSERT(read.ok());
  RC_ASSERT(joined->operations.size() == read->operations.size());
  for (std::size_t i = 0; i < read->operations.size(); ++i) {
    const Annotation& wrote = joined->annotations.annotations()[joined->operations[i].annotation];
    const Annotation& got = read->annotations.annotations()[read->operations[i].annotation];
    if (!same(*wrote.object, *got.object)) RC_FAIL(wrote.object->dump() + " came back as " + got.object->dump());
    RC_ASSERT(wrote.path == got.path);
  }
}

}  // namespace
}  // namespace graphtag
