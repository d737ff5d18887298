#include "trace/kineto/trace_facts.h"

#include <simdjson.h>

#include <charconv>
#include <string>

namespace graphtag::kineto {
namespace {

constexpr std::size_t kFactBytesMax = std::size_t{4} << 20;  // simdjson's index of it may take four times as much
constexpr std::size_t kDevicesMax = 4096;

std::optional<std::int64_t> integer(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || error != std::errc{} || stop != token.data() + token.size()) return std::nullopt;
  return value;
}

// Only what is asked for is decoded: a number that no double holds, elsewhere in the object, does no harm.
namespace lazy = simdjson::ondemand;

// The integer that a value is; nothing for another one.
std::optional<std::int64_t> integer_in(lazy::value value) {
  const std::string_view token = value.raw_json_token();
  return integer(token.substr(0, token.find_last_not_of(" \n\r\t") + 1));
}

bool is_null(lazy::value value) {
  bool null = false;
  return value.is_null().get(null) == simdjson::SUCCESS && null;
}

// One element of deviceProperties. False: what it says cannot be used.
bool learn_device(lazy::object device, std::vector<std::string>& names) {
  std::optional<std::int64_t> id;
  std::string_view name;
  for (auto field : device) {
    std::string_view key;
    lazy::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS) return false;
    if (key == "id") id = integer_in(value);
    if (key == "name" && value.get_string().get(name) != simdjson::SUCCESS) return false;
  }
  if (!id || *id < 0 || static_cast<std::size_t>(*id) >= kDevicesMax) return false;
  if (names.size() <= static_cast<std::size_t>(*id)) names.resize(static_cast<std::size_t>(*id) + 1);
  names[static_cast<std::size_t>(*id)] = name;
  return true;
}

bool learn_devices(lazy::document& devices, std::vector<std::string>& names) {
  lazy::array array;
  if (devices.get_array().get(array) != simdjson::SUCCESS) return false;
  bool all = true;
  for (auto element : array) {
    lazy::object device;
    all = element.get_object().get(device) == simdjson::SUCCESS && learn_device(device, names) && all;
  }
  return all;
}

bool learn_rank(lazy::document& distributed, std::optional<std::int64_t>& rank) {
  lazy::object object;
  if (distributed.get_object().get(object) != simdjson::SUCCESS) return false;
  bool usable = true;
  for (auto field : object) {
    std::string_view key;
    lazy::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS) return false;
    if (key != "rank") continue;
    rank.reset();
    if (is_null(value)) continue;
    rank = integer_in(value);
    usable = rank.has_value();
  }
  return usable;
}

}  // namespace

bool TraceFacts::learn_member(std::string_view key, std::string_view value) {
  has_schema_ = has_schema_ || key == "schemaVersion";
  has_cuda_version_ =
      has_cuda_version_ || key == "cuda_driver_version" || key == "cuda_runtime_version" || key == "cupti_version";
  if (key == "graphtag") info_.graphtag_json = std::string(value);
  if (key == "cudaGraphInlineAnnotated") info_.annotated = value == "true";
  if (value == "null") return true;
  if (key == "baseTimeNanoseconds") {
    info_.base_time_ns = integer(value);
    return info_.base_time_ns.has_value();
  }
  if (key == "host_name") {
    if (value.front() != '"') return false;
    std::string storage;
    info_.host = std::string(unescape(value, storage));
  }
  if (key != "distributedInfo" && key != "deviceProperties") return true;
  if (value.size() > kFactBytesMax) return false;
  const simdjson::padded_string padded(value);
  lazy::parser parser;
  lazy::document document;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
  if (key == "distributedInfo") {
    info_.rank.reset();
    return learn_rank(document, info_.rank);
  }
  info_.device_names.clear();
  const bool all = learn_devices(document, info_.device_names);
  has_devices_ = !info_.device_names.empty();
  return all;
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
