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

// A set of up to 4096 bytes that an update made larger makes no record (driver 580: 8 of 8, and none other).
bool makes_record(const KnownExec& exec, std::size_t index) {
  if (index >= exec.instantiated.size()) return true;
  const Expected& now = exec.expected[index];
  const Expected& former = exec.instantiated[index];
  return now.work != Work::memset || bytes_of(former.identity) > 4096 || bytes_of(now.identity) <= 4096;
}

const char* name_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::kernel:
      return "kernel";
    case RecordKind::memcpy:
      return "copy";
    case RecordKind::memset:
      return "set";
    default:
      return "kernel of the driver";
  }
}

// What came of a batch, by what tells work apart and by the exec graph that the records name, to say what did not come.
class Tally {
 public:
  void came(const Record& record) {
    ++came_[{static_cast<std::uint32_t>(record.node_id >> 32), key_of(record.kind, record.identity)}];
  }

  void print_missing(const std::vector<KnownExec>& execs, int replays) const {
    for (const KnownExec& exec : execs) {
      for (std::size_t i = 0; i < exec.expected.size(); ++i) {
        const Expected& node = exec.expected[i];
        const int now = count(exec, node);
        const int former = i < exec.instantiated.size() ? count(exec, exec.instantiated[i]) : 0;
        if (now + former >= replays || !makes_record(exec, i)) continue;
        std::printf("  %s %u: %d of %d records came with the id of exec graph %u, %d as it was before an update; built of%s\n",
                    name_of(kind_of(node.work)), node.identity, now, replays, exec.id, former, exec.features.c_str());
      }
    }
  }

 private:
  int count(const KnownExec& exec, const Expected& node) const {
    const auto found = came_.find({exec.id, key_of(kind_of(node.work), node.identity)});
    return found == came_.end() ? 0 : found->second;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> came_;
};

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

bool may_be_wrong(std::uint32_t origin, bool boundary) {
  return boundary && (origin == GT_ORIGIN_BOUNDARY_APPROXIMATE || origin == GT_ORIGIN_MODELLED ||
                      origin == GT_ORIGIN_OUTSIDE_SCOPE_APPROXIMATE || origin == GT_ORIGIN_CAPTURED_BEFORE_START ||
                      origin == GT_ORIGIN_UNLINKED_BODY);
}

void check_records(const std::vector<Record>& records, const std::vector<KnownExec>& execs, int replays, bool boundary,
                   Totals& totals) {
  std::unordered_map<std::uint32_t, std::vector<Place>> places;  // kind and identity -> the exec graphs that run it
  std::uint64_t expected = 0;
  Tally tally;
  for (const KnownExec& exec : execs) {
    for (const Expected& node : exec.expected) {
      const std::string annotation = in_key_order(to_json(node.fields));
      places[key_of(kind_of(node.work), node.identity)].push_back({&exec, annotation});
      const std::size_t index = static_cast<std::size_t>(&node - exec.expected.data());
      if (index < exec.instantiated.size() && node.work != Work::kernel) {
        const Expected& former = exec.instantiated[index];
        places[key_of(kind_of(former.work), former.identity)].push_back({&exec, annotation});
      }
      if (makes_record(exec, index)) {
        expected += static_cast<std::uint64_t>(replays);
      } else {
        ++totals.unrecorded_sets;
      }
    }
  }
  // The exec graph that a record of this kind and size can be of: the one that its id names, if that runs such work.
  const auto place_of = [&](const Record& record) -> const Place* {
    const auto found = places.find(key_of(record.kind, record.identity));
    if (found == places.end()) return nullptr;
    for (const Place& candidate : found->second) {
      if (candidate.exec->id == record.node_id >> 32) return &candidate;
    }
    return nullptr;
  };
  // Which exec graph a launch was of: the one that most of its kernels can be of by their grids, and by their ids where several can.
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint32_t, int>> votes;  // correlation -> exec id -> votes
  for (const Record& record : records) {
    const auto found = places.find(key_of(record.kind, record.identity));
    if (record.kind != RecordKind::kernel || record.node_id == 0 || record.correlation == 0 || found == places.end()) continue;
    for (const Place& candidate : found->second) {
      votes[record.correlation][candidate.exec->id] += candidate.exec->id == record.node_id >> 32 ? 3 : 2;
    }
  }
  std::unordered_map<std::uint32_t, std::uint32_t> launched;  // correlation -> exec id
  for (const auto& [correlation, ids] : votes) {
    launched[correlation] =
        std::max_element(ids.begin(), ids.end(), [](const auto& x, const auto& y) { return x.second < y.second; })->first;
  }
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::uint64_t explained = 0;
  for (const Record& record : records) {
    if (record.node_id == 0) continue;  // outside graphs
    ++totals.records;
    tally.came(record);
    gt_resolution resolution{};
    resolution.size = sizeof resolution;
    const bool told = gt_resolve(record.node_id, now, &resolution) == GT_OK && resolution.origin < kOrigins;
    const bool named = told && resolution.annotation.value != 0;
    const Place* place = place_of(record);
    if (place == nullptr) {
      // Work in conditional bodies has correlation 0: nothing tells which launch it is of.
      const auto of =
          std::find_if(execs.begin(), execs.end(), [&](const KnownExec& exec) { return exec.id == record.node_id >> 32; });
      const auto launch = launched.find(record.correlation);
      const bool of_its_launch = launch == launched.end() ? of != execs.end() : launch->second == record.node_id >> 32;
      ++explained;
      if (!of_its_launch) {
        ++totals.stale_ids;
        if (named) ++totals.stale_named;
        if (named && totals.shown++ < kShown) {
          std::printf("  another graph's id: node %llu:%llu (%s) is named %s in a launch of %u; that graph %s%s\n",
                      static_cast<unsigned long long>(record.node_id >> 32),
                      static_cast<unsigned long long>(record.node_id & 0xffffffff), gt_origin_name(resolution.origin),
                      annotation_text(resolution.annotation).c_str(), launch == launched.end() ? 0 : launch->second,
                      of == execs.end() ? "is not alive" : "is alive, built of", of == execs.end() ? "" : of->features.c_str());
        }
      } else if (record.kind == RecordKind::drivers_own) {
        ++totals.drivers_own;
      } else if (record.kind != RecordKind::kernel) {
        ++totals.mis_sized;
      } else {
        ++totals.foreign;
        --explained;
      }
      continue;
    }
    ++explained;
    const std::string got = named ? annotation_text(resolution.annotation) : "{}";
    const gt_origin origin = told ? resolution.origin : gt_origin{GT_ORIGIN_UNKNOWN_GRAPH};
    if (got == place->annotation) {
      ++totals.right[origin];
      continue;
    }
    ++totals.wrong[origin];
    if (!may_be_wrong(origin, boundary) && totals.shown++ < kShown) {
      std::printf("  wrong: node %llu:%llu (%s) is %s, not %s; built of%s\n",
                  static_cast<unsigned long long>(record.node_id >> 32),
                  static_cast<unsigned long long>(record.node_id & 0xffffffff), gt_origin_name(origin), got.c_str(),
                  place->annotation.c_str(), place->exec->features.c_str());
    }
  }
  if (explained >= expected) return;
  totals.missing += expected - explained;
  if (totals.shown++ < kShown) tally.print_missing(execs, replays);
}

}  // namespace gpu_test
