#include "base/external_sort.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace graphtag {
namespace {

// A stored record is its bytes behind a mark, or the place of its bytes in the temporary file.
constexpr char kInline = 0, kApart = 1;

// Of each record in a run: key, size, stored record.
constexpr std::size_t kHeaderBytes = sizeof(SortKey) + sizeof(std::uint32_t);

struct Place {
  std::uint64_t offset = 0, size = 0;
};

// Written to the file at once.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;

void append_stored(std::string& run, const SortKey& key, std::string_view stored) {
  const auto size = static_cast<std::uint32_t>(stored.size());
  run.append(reinterpret_cast<const char*>(key.data()), sizeof key);
  run.append(reinterpret_cast<const char*>(&size), sizeof size);
  run.append(stored);
}

}  // namespace

// Reads one run from its start to its end through a buffer that holds at least one record.
class ExternalSort::RunReader {
 public:
  RunReader(const Spool& spool, const Run& run, std::size_t buffer_bytes)
      : spool_(spool), next_(run.begin), end_(run.end), buffer_(buffer_bytes, '\0') {}

  // Steps to the next record; false at the end of the run.
  Result<bool> advance() {
    at_ += record_bytes_;
    record_bytes_ = 0;
    if (auto filled = fill(kHeaderBytes); !filled || !*filled) return filled;
    std::uint32_t size = 0;
    std::memcpy(key_.data(), buffer_.data() + at_, sizeof key_);
    std::memcpy(&size, buffer_.data() + at_ + sizeof key_, sizeof size);
    if (auto filled = fill(kHeaderBytes + size); !filled || !*filled) return filled;
    record_bytes_ = kHeaderBytes + size;
    return true;
  }
  const SortKey& key() const { return key_; }
  std::string_view stored() const { return {buffer_.data() + at_ + kHeaderBytes, record_bytes_ - kHeaderBytes}; }

 private:
  // Makes sure that `bytes` from at_ on are in the buffer; false if the run ends before.
  Result<bool> fill(std::size_t bytes) {
    if (filled_ - at_ >= bytes) return true;
    std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
    filled_ -= at_;
    at_ = 0;
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    const std::size_t wanted = std::min<std::uint64_t>(buffer_.size() - filled_, end_ - next_);
    const auto got = spool_.read_at(next_, buffer_.data() + filled_, wanted);
    if (!got) return got.error();
    next_ += *got;
    filled_ += *got;
    return filled_ >= bytes;
  }

  const Spool& spool_;
  std::uint64_t next_, end_;
  std::string buffer_;
  std::size_t at_ = 0, filled_ = 0, record_bytes_ = 0;
  SortKey key_{};
};

ExternalSort::ExternalSort(const ExternalSortOptions& options) : options_(options) {}

Result<void> ExternalSort::add(const SortKey& key, std::string_view record) {
  ++count_;
  std::string place_text;
  char mark = kInline;
  if (record.size() > options_.large_record_bytes) {
    const Place place{spool_.size_bytes(), record.size()};
    if (auto written = spool_.append(record); !written) return written;
    place_text.assign(reinterpret_cast<const char*>(&place), sizeof place);
    record = place_text;
    mark = kApart;
  }
  if (buffer_.capacity() < options_.run_bytes) {
    // Growing by doubling would take more than the buffer's bytes; pages that are not used cost nothing.
    buffer_.reserve(options_.run_bytes);
    entries_.reserve(options_.run_bytes / sizeof(Entry));
  }
  const std::size_t used = buffer_.size() + entries_.size() * sizeof(Entry);
  if (!entries_.empty() && used + record.size() + 1 + sizeof(Entry) > options_.run_bytes) {
    if (auto written = write_run(); !written) return written;
  }
  entries_.push_back({key, static_cast<std::uint32_t>(buffer_.size()), static_cast<std::uint32_t>(record.size() + 1)});
  buffer_ += mark;
  buffer_ += record;
  return {};
}

void ExternalSort::sort_buffer() {
  // Offsets ascend as records are added, so they keep equal keys in order.
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.offset < b.offset; });
}

Result<void> ExternalSort::write_run() {
  sort_buffer();
  const std::uint64_t begin = spool_.size_bytes();
  std::string chunk;
  for (const auto& entry : entries_) {
    append_stored(chunk, entry.key, {buffer_.data() + entry.offset, entry.size});
    if (chunk.size() < kChunkBytes) continue;
    if (auto written = spool_.append(chunk); !written) return written;
    chunk.clear();
  }
  if (auto written = spool_.append(chunk); !written) return written;
  runs_.push_back({begin, spool_.size_bytes()});
  entries_.clear();
  buffer_.clear();
  return {};
}

Result<void> ExternalSort::visit_large(const SortKey& key, std::string_view stored, const Visit& visit,
                                       std::string& storage) const {
  if (stored[0] == kInline) return visit(key, stored.substr(1));
  Place place;
  std::memcpy(&place, stored.data() + 1, sizeof place);
  storage.resize(place.size);
  const auto got = spool_.read_at(place.offset, storage.data(), storage.size());
  if (!got) return got.error();
  auto result = visit(key, storage);
  std::string{}.swap(storage);
  return result;
}

// Gives records as they are stored: a merge into a new run leaves large ones where they lie.
Result<void> ExternalSort::merge(const std::vector<Run>& runs, const Visit& visit) const {
  std::vector<std::unique_ptr<RunReader>> readers;
  const std::size_t buffer_bytes =
      std::max<std::size_t>(options_.merge_bytes / std::max<std::size_t>(runs.size(), 1), kHeaderBytes);
  for (const auto& run : runs) readers.push_back(std::make_unique<RunReader>(spool_, run, buffer_bytes));
  // Runs were written in the order of adding, so of equal keys the earlier run's comes first.
  const auto later = [&readers](std::size_t a, std::size_t b) {
    return readers[a]->key() != readers[b]->key() ? readers[a]->key() > readers[b]->key() : a > b;
  };
  std::vector<std::size_t> heap;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    auto more = readers[i]->advance();
    if (!more) return more.error();
    if (*more) heap.push_back(i);
  }
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    auto& reader = *readers[heap.back()];
    if (auto visited = visit(reader.key(), reader.stored()); !visited) return visited;
    auto more = reader.advance();
    if (!more) return more.error();
    if (*more) {
      std::push_heap(heap.begin(), heap.end(), later);
    } else {
      heap.pop_back();
    }
  }
  return {};
}

Result<ExternalSort::Run> ExternalSort::merge_into_run(std::size_t first, std::size_t last) {
  const std::uint64_t begin = spool_.size_bytes();
  std::string chunk;
  const auto flush = [this, &chunk]() {
    auto written = spool_.append(chunk);
    chunk.clear();
    return written;
  };
  const std::vector<Run> runs{runs_.begin() + static_cast<std::ptrdiff_t>(first),
                              runs_.begin() + static_cast<std::ptrdiff_t>(last)};
  auto merged = merge(runs, [&chunk, &flush](const SortKey& key, std::string_view stored) -> Result<void> {
    append_stored(chunk, key, stored);
    return chunk.size() < kChunkBytes ? Result<void>{} : flush();
  });
  if (merged) merged = flush();
  if (!merged) return merged.error();
  return Run{begin, spool_.size_bytes()};
}

Result<void> ExternalSort::for_each(const Visit& visit) {
  std::string storage;
  if (runs_.empty()) {
    sort_buffer();
    for (const auto& entry : entries_) {
      const std::string_view stored{buffer_.data() + entry.offset, entry.size};
      if (auto visited = visit_large(entry.key, stored, visit, storage); !visited) return visited;
    }
    return {};
  }
  if (!entries_.empty()) {
    if (auto written = write_run(); !written) return written;
  }
  std::vector<Entry>{}.swap(entries_);
  std::string{}.swap(buffer_);
  while (runs_.size() > options_.merge_runs) {
    // Neighbours become one run, so that runs stay in the order of adding.
    std::vector<Run> fewer;
    for (std::size_t first = 0; first < runs_.size(); first += options_.merge_runs) {
      auto merged = merge_into_run(first, std::min(first + options_.merge_runs, runs_.size()));
      if (!merged) return merged.error();
      fewer.push_back(*merged);
    }
    runs_ = std::move(fewer);
  }
  return merge(runs_, [this, &visit, &storage](const SortKey& key, std::string_view stored) {
    return visit_large(key, stored, visit, storage);
  });
}

}  // namespace graphtag
