// The process's FakeCuda for programs without C++: tests in Python act on it through ctypes. Handles are pointers; failing calls return null or 0.
#include <algorithm>
#include <cstring>

#include "tests/fake/vendor/process_fake.h"

using namespace graphtag;        // NOLINT(google-build-using-namespace)
using namespace graphtag::fake;  // NOLINT(google-build-using-namespace)

extern "C" {

void* gtfake_stream_create() {
  return process_fake().stream_create();
}

int gtfake_begin_capture(void* stream) {
  return process_fake().begin_capture(static_cast<StreamHandle>(stream)) ? 1 : 0;
}

int gtfake_begin_capture_to_graph(void* stream, void* graph) {
  return process_fake().begin_capture_to_graph(static_cast<StreamHandle>(stream), static_cast<GraphHandle>(graph), {}) ? 1 : 0;
}

void* gtfake_end_capture(void* stream) {
  return process_fake().end_capture(static_cast<StreamHandle>(stream));
}

int gtfake_is_capturing(void* stream) {
  CaptureInfo info;
  return process_fake().driver().capture_info(static_cast<StreamHandle>(stream), info).ok() &&
                 info.status == CaptureStatus::active
             ? 1
             : 0;
}

void* gtfake_launch(void* stream, int type, std::uint64_t tag) {
  return process_fake().launch(static_cast<StreamHandle>(stream), static_cast<NodeType>(type), tag);
}

void* gtfake_launch_child(void* stream, void* graph) {
  return process_fake().launch_child(static_cast<StreamHandle>(stream), static_cast<GraphHandle>(graph));
}

// A conditional with one body, which is returned.
void* gtfake_launch_conditional(void* stream) {
  const Conditional made = process_fake().launch_conditional(static_cast<StreamHandle>(stream), 1);
  return made.bodies.empty() ? nullptr : made.bodies.front();
}

// `to` goes on behind what `from` did: it joins from's capture if it does not capture.
int gtfake_join(void* from, void* to) {
  const Event event = process_fake().record_event(static_cast<StreamHandle>(from));
  return process_fake().wait_event(static_cast<StreamHandle>(to), event) ? 1 : 0;
}

void* gtfake_graph_create() {
  return process_fake().graph_create();
}

int gtfake_destroy_graph(void* graph) {
  return process_fake().destroy_graph(static_cast<GraphHandle>(graph)) ? 1 : 0;
}

void* gtfake_instantiate(void* graph) {
  return process_fake().instantiate(static_cast<GraphHandle>(graph));
}

int gtfake_destroy_exec(void* exec) {
  return process_fake().destroy_exec(static_cast<ExecHandle>(exec)) ? 1 : 0;
}

struct gtfake_record {
  std::uint64_t node_id;
  std::uint64_t tag;
  std::int32_t type;
};

// How many records a replay makes; at most `capacity` of them are written. Bodies of conditionals run.
std::size_t gtfake_replay(void* exec, gtfake_record* records, std::size_t capacity) {
  const std::vector<Record> made =
      process_fake().replay(static_cast<ExecHandle>(exec), [](NodeHandle, std::size_t) { return true; });
  for (std::size_t i = 0; i < std::min(capacity, made.size()); ++i) {
    records[i] = {made[i].id.value, made[i].tag, static_cast<std::int32_t>(made[i].type)};
  }
  return made.size();
}

int gtfake_take_subscription() {
  return process_fake().take_subscription() ? 1 : 0;
}

int gtfake_release_subscription() {
  return process_fake().release_subscription() ? 1 : 0;
}

int gtfake_has_subscriber() {
  return process_fake().has_subscriber() ? 1 : 0;
}
}
