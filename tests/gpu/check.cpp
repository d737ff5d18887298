#include "check.h"

#include <graphtag/graphtag.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unordered_map>

namespace gpu_test {
namespace {

constexpr int kShown = 20;

std::uint32_t key_of(RecordKind kind, std::uint32_t identity) {
  return static_cast<std::uint32_t>(kind) << 16 | identity;
}
RecordKind kind_of(Work work) {
  return work == Work::kernel ? RecordKind::kernel : work == Work::memcpy ? RecordKind::memcpy : RecordKind::memset;
}

struct Place {
  const KnownExec* exec = nullptr;
  std::string annotation;  // as JSON
};

// An object's members in the order of their keys: graphtag stores objects that differ in it once.
std::string in_key_order(const std::string& object) {
  std::vector<std::string> members(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 1; i + 1 < object.size(); ++i) {
    const char c = object[i];
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '{' || c == '[')) ++depth;
    if (!quoted && (c == '}' || c == ']')) --depth;
    if (c == ',' && !quoted && depth == 0) {
      members.emplace_back();
    } else {
      members.back() += c;
    }
  }
  std::sort(members.begin(), members.end());
  std::string text = "{";
  for (const std::string& member : members) text += (text.size() > 1 ? "," : "") + member;
  return text + "}";
}

std::string annotation_text(gt_annotation annotation) {
  static std::unordered_map<std::uint64_t, std::string> known;  // handle -> JSON: handles mean the same for good
  const auto [entry, fresh] = known.try_emplace(annotation.value);
  if (fresh) {
    char buffer[4096];
    std::size_t length = 0;
    entry->second =
        gt_annotation_json(annotation, 0, buffer, sizeof buffer, &length) == GT_OK ? in_key_order({buffer, length}) : "?";
  }
  return entry->second;
}

}  // namespace

void Totals::add(const Totals& other) {
  graphs += other.graphs;
  execs += other.execs;
  updates += other.updates;
  failed_updates += other.failed_updates;
  node_updates += other.node_updates;
  clones += other.clones;
  failed_captures += other.failed_captures;
  refused_instantiations += other.refused_instantiations;
}

void check_records(const std::vector<Record>& records, const std::vector<KnownExec>& execs, int replays, Totals& totals) {
  std::unordered_map<std::uint32_t, std::vector<Place>> places;  // kind and identity -> the exec graphs that run it
  std::uint64_t expected = 0;
  for (const KnownExec& exec : execs) {
    for (const Expected& node : exec.expected) {
      places[key_of(kind_of(node.work), node.identity)].push_back({&exec, in_key_order(to_json(node.fields))});
      expected += static_cast<std::uint64_t>(replays);
    }
  }
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::uint64_t explained = 0;
  for (const Record& record : records) {
    if (record.node_id == 0) continue;  // outside graphs
    ++totals.records;
    const auto found = places.find(key_of(record.kind, record.identity));
    if (found == places.end()) {
      ++totals.foreign;
      continue;
    }
    ++explained;
    const Place* place = nullptr;
    for (const Place& candidate : found->second) {
      if (candidate.exec->id == record.node_id >> 32) place = &candidate;
    }
    gt_resolution resolution{};
    resolution.size = sizeof resolution;
    const gt_status status = gt_resolve(record.node_id, now, &resolution);
    const bool named = status == GT_OK && resolution.annotation.value != 0;
    if (place == nullptr) {
      ++totals.stale_ids;
      if (named) ++totals.stale_named;
      if (named && totals.shown++ < kShown) {
        std::printf("  a record with a foreign id: %llu:%llu is named %s (%s), but is identity %u of exec graph %u (%s)\n",
                    static_cast<unsigned long long>(record.node_id >> 32),
                    static_cast<unsigned long long>(record.node_id & 0xffffffff), annotation_text(resolution.annotation).c_str(),
                    gt_origin_name(resolution.origin), record.identity, found->second.front().exec->id,
                    found->second.front().exec->features.c_str());
      }
      continue;
    }
    const std::string got = named ? annotation_text(resolution.annotation) : "{}";
    const bool told = status == GT_OK && resolution.origin < kOrigins;
    const gt_origin origin = told ? resolution.origin : gt_origin{GT_ORIGIN_UNKNOWN_GRAPH};
    if (got == place->annotation) {
      ++totals.right[origin];
    } else {
      ++totals.wrong[origin];
      if (totals.shown++ < kShown) {
        std::printf("  wrong: node %llu:%llu (%s) is %s, not %s\n", static_cast<unsigned long long>(record.node_id >> 32),
                    static_cast<unsigned long long>(record.node_id & 0xffffffff), gt_origin_name(origin), got.c_str(),
                    place->annotation.c_str());
      }
    }
  }
  if (explained < expected) totals.missing += expected - explained;
}

}  // namespace gpu_test
