#include "trace/nsys/nsys_reader.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "trace/event_builder.h"
#include "trace/nsys/export_facts.h"
#include "trace/nsys/node_names.h"
#include "trace/nsys/row_source.h"
#include "trace/nsys/strings.h"

namespace graphtag {
namespace {

using nsys::Database;

// Rows between two reports of progress.
constexpr std::uint64_t kRowsAtOnce = 4096;

// Tells how far the rows are, as bytes of the file.
class RowProgress {
 public:
  RowProgress(Database& database, const ReadOptions& options) : options_(options), size_bytes_(database.size_bytes()) {
    if (!options_.progress) return;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                              "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"}) {
      total_ += database.row_numbers(table);
    }
  }
  void row() {
    if (!options_.progress || ++rows_ % kRowsAtOnce != 0) return;
    const double share = static_cast<double>(std::min(rows_, total_)) / static_cast<double>(total_ + 1);
    options_.progress(static_cast<std::uint64_t>(share * static_cast<double>(size_bytes_)), size_bytes_);
  }

 private:
  const ReadOptions& options_;
  std::uint64_t size_bytes_;
  std::uint64_t total_ = 0;
  std::uint64_t rows_ = 0;
};

// Members that Chrome output is to have of what the export says.
Result<void> give_members(const TraceInfo& info, EventVisitor& visitor) {
  if (info.base_time_ns) {
    if (Result<void> given = visitor.on_member("baseTimeNanoseconds", std::to_string(*info.base_time_ns), false); !given)
      return given;
  }
  if (info.rank) {
    if (Result<void> given = visitor.on_member("distributedInfo", "{\"rank\":" + std::to_string(*info.rank) + "}", false); !given)
      return given;
  }
  std::string devices;
  for (std::size_t i = 0; i < info.device_names.size(); ++i) {
    devices += (devices.empty() ? "{\"id\":" : ",{\"id\":") + std::to_string(i) + ",\"name\":";
    append_json_string(devices, info.device_names[i]);
    devices += '}';
  }
  return devices.empty() ? Result<void>() : visitor.on_member("deviceProperties", "[" + devices + "]", false);
}

// Counts what it hands on.
class Counter final : public EventVisitor {
 public:
  Counter(EventVisitor& to, std::uint64_t& events) : to_(to), events_(events) {}
  Result<void> on_event(const Event& event) override {
    ++events_;
    return to_.on_event(event);
  }

 private:
  EventVisitor& to_;
  std::uint64_t& events_;
};

Error with_path(Error error, const std::string& path) {
  if (error.file.empty()) error.file = path;
  return error;
}

}  // namespace

Result<void> read_nsys(const std::string& path, EventVisitor& visitor, const ReadOptions& options, ReadResult& result) {
  Result<Database> database = Database::open(path);
  if (!database) return database.error();
  if (Result<void> known = nsys::check_is_export(*database, path); !known) return known;
  const Result<std::optional<std::int64_t>> process = nsys::choose_process(*database, path, options.process);
  if (!process) return process.error();
  if (Result<void> nodes = nsys::check_has_nodes(*database, path, *process); !nodes) return nodes;
  Result<TraceInfo> info = nsys::read_facts(*database, *process);
  if (!info) return info.error();
  Result<nsys::Strings> strings = nsys::Strings::open(*database, result.problems);
  if (!strings) return strings.error();
  const Result<nsys::NodeNames> names = nsys::NodeNames::read(*database, *strings, *process, result.problems);
  if (!names) return with_path(names.error(), path);
  info->annotations = names->annotations();
  result.info = *std::move(info);
  result.content_bytes = database->size_bytes();

  if (Result<void> given = give_members(result.info, visitor); !given) return given;
  if (Result<void> begun = visitor.on_events_begin(result.info); !begun) return begun;
  const nsys::Export from{*database, *strings, *names, *process, result.problems};
  EventBuilder builder;
  Counter counter(visitor, result.events);
  if (Result<void> given = nsys::give_names(from, result.info, builder, counter); !given) return given;

  Result<std::vector<std::unique_ptr<nsys::RowSource>>> sources = nsys::host_sources(from);
  if (!sources) return sources.error();
  Result<std::vector<std::unique_ptr<nsys::RowSource>>> gpu = nsys::gpu_sources(from);
  if (!gpu) return gpu.error();
  std::move(gpu->begin(), gpu->end(), std::back_inserter(*sources));

  // Drops a source that has no more rows.
  const auto advance = [&sources](std::size_t i) -> Result<bool> {
    Result<bool> more = (*sources)[i]->advance();
    if (more && !*more) sources->erase(sources->begin() + static_cast<std::ptrdiff_t>(i));
    return more;
  };
  for (std::size_t i = 0; i < sources->size();) {
    const Result<bool> more = advance(i);
    if (!more) return more.error();
    if (*more) ++i;
  }
  RowProgress progress(*database, options);
  while (!sources->empty()) {
    // Of equal starts the host's come first: a launch before what it launches.
    const auto first = std::min_element(sources->begin(), sources->end(),
                                        [](const auto& a, const auto& b) { return a->start_ns() < b->start_ns(); });
    if (Result<void> given = (*first)->give(builder, counter); !given) return with_path(given.error(), path);
    progress.row();
    if (const Result<bool> more = advance(static_cast<std::size_t>(first - sources->begin())); !more) return more.error();
  }
  return {};
}

}  // namespace graphtag
