#include "trace/kineto/trace_facts.h"

#include <simdjson.h>

#include <charconv>
#include <string>

namespace graphtag::kineto {
namespace {

constexpr std::size_t kFactBytesMax = std::size_t{1} << 20;
constexpr std::size_t kDevicesMax = 4096;

std::optional<std::int64_t> integer(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || error != std::errc{} || stop != token.data() + token.size()) return std::nullopt;
  return value;
}

std::vector<std::string> device_names(simdjson::dom::element devices) {
  std::vector<std::string> names;
  simdjson::dom::array array;
  if (devices.get(array) != simdjson::SUCCESS) return names;
  for (const simdjson::dom::element device : array) {
    std::uint64_t id = 0;
    std::string_view name;
    if (device["id"].get(id) != simdjson::SUCCESS || device["name"].get(name) != simdjson::SUCCESS || id >= kDevicesMax) continue;
    if (names.size() <= id) names.resize(id + 1);
    names[id] = name;
  }
  return names;
}

}  // namespace

void TraceFacts::learn_member(std::string_view key, std::string_view value) {
  has_schema_ = has_schema_ || key == "schemaVersion";
  has_cuda_version_ =
      has_cuda_version_ || key == "cuda_driver_version" || key == "cuda_runtime_version" || key == "cupti_version";
  if (key == "graphtag") info_.graphtag_json = std::string(value);
  if (key == "cudaGraphInlineAnnotated") info_.annotated = value == "true";
  if (key == "baseTimeNanoseconds") info_.base_time_ns = integer(value);
  if (key == "host_name" && value.front() == '"') {
    std::string storage;
    info_.host = std::string(unescape(value, storage));
  }
  if ((key != "distributedInfo" && key != "deviceProperties") || value.size() > kFactBytesMax) return;
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(value.data(), value.size()).get(element) != simdjson::SUCCESS) return;
  if (key == "distributedInfo") {
    std::int64_t rank = 0;
    info_.rank.reset();
    if (element["rank"].get(rank) == simdjson::SUCCESS) info_.rank = rank;
  } else {
    info_.device_names = device_names(element);
    has_devices_ = !info_.device_names.empty();
  }
}

void TraceFacts::learn_pid(const Event& event) {
  if (event.kind == EventKind::host_slice) {
    const std::string_view category = event.text(event.category);
    if (category == "\"cuda_runtime\"" || category == "\"cuda_driver\"") info_.pid = integer(event.text(event.pid));
  } else if (event.kind == EventKind::metadata && !labelled_pid_ && event.text(event.name) == "\"process_labels\"") {
    for (const Member& member : event.members) {
      if (event.text(member.key) == "labels" && event.text(member.value) == "\"CPU\"")
        labelled_pid_ = integer(event.text(event.pid));
    }
  }
}

void TraceFacts::conclude(bool at_end) {
  info_.producer = "Chrome JSON";
  // Kineto writes CUDA's versions when it saw a GPU; Cuspy writes none, yet lists the devices.
  if (has_schema_) info_.producer = has_devices_ && !has_cuda_version_ ? "Cuspy" : "Kineto";
  if (at_end && !info_.pid) info_.pid = labelled_pid_;
}

}  // namespace graphtag::kineto
