#include "registry/graph_log.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

namespace graphtag {
namespace {

constexpr std::uint32_t kNoTag = 0xffffffff;  // no Tag has these bits
constexpr std::uint32_t kEndOfIds = std::numeric_limits<std::uint32_t>::max();

constexpr std::uint64_t pack(std::uint32_t next, std::uint32_t tag_bits) {
  return std::uint64_t{next} << 32 | tag_bits;
}
constexpr std::uint32_t next_of(std::uint64_t tail) {
  return static_cast<std::uint32_t>(tail >> 32);
}

bool is_before(const Registry::Link& a, const Registry::Link& b) {
  return std::tuple(a.holder, a.index) < std::tuple(b.holder, b.index);
}

}  // namespace

GraphLog::GraphLog(GraphId id, Ledger& ledger) : id_(id), tail_(pack(0, kNoTag)), accounted_(ledger, sizeof(GraphLog)) {}

bool GraphLog::append(LocalId node, Tag tag) noexcept {
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail != pack(node.value, tag.bits())) return false;
  return tail_.compare_exchange_strong(tail, pack(node.value + 1, tag.bits()), std::memory_order_relaxed);
}

bool GraphLog::record(LocalId first, std::uint32_t count, Tag tag) {
  const std::lock_guard lock(mutex_);
  if (!is_open()) return false;
  runs_.reserve_edit();
  const std::uint32_t end = first.value + count;
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  // From the exchange on, other threads append to the new tail; they read no runs, so these may follow.
  while (end >= next_of(tail) && !tail_.compare_exchange_weak(tail, pack(end, tag.bits()), std::memory_order_relaxed)) {
  }
  const Tag gap = unreported();
  runs_.extend(next_of(tail));
  runs_.set(first.value, end, tag, gap);
  accounted_.update(bytes());
  return true;
}

void GraphLog::mark_created(std::int64_t time_ns) {
  const std::lock_guard lock(mutex_);
  created_ns_ = time_ns;
}

void GraphLog::set_node_counts(const NodeCounts& own) {
  const std::lock_guard lock(mutex_);
  node_counts_ = own;
}

bool GraphLog::set_label(const Json& label) {
  auto copy = std::make_shared<const Json>(label);
  const std::size_t size = dump_json(label).size();
  const std::lock_guard lock(mutex_);
  if (accounted_.frozen()) return false;
  label_ = std::move(copy);
  label_bytes_ = size;
  accounted_.update(bytes());
  return true;
}

std::optional<GraphId> GraphLog::link(const Registry::Link& link) {
  const std::lock_guard lock(mutex_);
  const auto place = std::lower_bound(links_.begin(), links_.end(), link, is_before);
  if (place != links_.end() && !is_before(link, *place)) {
    const GraphId before = place->held;
    *place = link;
    return before;
  }
  links_.insert(place, link);
  accounted_.update(bytes());
  return std::nullopt;
}

void GraphLog::unlink(GraphId held) {
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [held](const Registry::Link& link) { return link.held == held; });
}

void GraphLog::set_holder(std::optional<NodeId> holder) {
  const std::lock_guard lock(mutex_);
  holder_ = holder;
}

Tag GraphLog::at(LocalId node) const {
  const std::lock_guard lock(mutex_);
  return node.value < next_of(tail_.load(std::memory_order_relaxed)) ? runs_.at(node.value) : unreported();
}

std::vector<TagSpan> GraphLog::spans(std::uint32_t first, std::uint32_t count) const {
  const std::lock_guard lock(mutex_);
  return spans_locked(first, count > kEndOfIds - first ? kEndOfIds : first + count);
}

std::vector<TagSpan> GraphLog::spans_locked(std::uint32_t first, std::uint32_t end) const {
  std::vector<TagSpan> spans;
  const std::uint32_t next = next_of(tail_.load(std::memory_order_relaxed));
  const std::uint32_t reported_end = std::min(end, next);
  runs_.for_each_in(first, std::min(reported_end, runs_.end()), [&spans](std::uint32_t from, std::uint32_t to, Tag tag) {
    spans.push_back({from, to, tag});
  });
  // Nodes that were appended without the lock prolong the last run.
  const std::uint32_t known_end = std::max(first, std::min(reported_end, runs_.end()));
  if (known_end < reported_end) {
    const Tag last = runs_.entries().back().tag;
    if (!spans.empty()) {
      spans.back().end = reported_end;
    } else {
      spans.push_back({known_end, reported_end, last});
    }
  }
  if (std::max(first, next) < end) spans.push_back({std::max(first, next), end, unreported()});
  return spans;
}

std::uint32_t GraphLog::next_local_id() const {
  return next_of(tail_.load(std::memory_order_relaxed));
}

bool GraphLog::is_observed() const {
  const std::lock_guard lock(mutex_);
  return created_ns_.has_value() || !runs_.empty();
}

std::vector<Registry::Link> GraphLog::links() const {
  const std::lock_guard lock(mutex_);
  return links_;
}

std::optional<NodeId> GraphLog::holder() const {
  const std::lock_guard lock(mutex_);
  return holder_;
}

std::size_t GraphLog::run_count() const {
  const std::lock_guard lock(mutex_);
  return runs_.entries().size();
}

GraphLog::Facts GraphLog::facts() const {
  const std::lock_guard lock(mutex_);
  return {.spans = spans_locked(0, kEndOfIds),
          .links = links_,
          .node_counts = node_counts_,
          .label = label_,
          .created_ns = created_ns_,
          .destroyed_ns = destroyed_ns_};
}

bool GraphLog::close(std::optional<std::int64_t> time_ns) {
  const std::lock_guard lock(mutex_);
  if (!is_open()) return false;
  open_.store(false, std::memory_order_relaxed);
  destroyed_ns_ = time_ns;
  return true;
}

std::size_t GraphLog::freeze() {
  const std::lock_guard lock(mutex_);
  return accounted_.freeze();
}

bool GraphLog::is_frozen() const {
  const std::lock_guard lock(mutex_);
  return accounted_.frozen();
}

std::size_t GraphLog::bytes() const {
  return sizeof(GraphLog) + runs_.bytes() + links_.capacity() * sizeof(Registry::Link) + label_bytes_;
}

Tag GraphLog::unreported() const {
  return Tag{created_ns_ || !runs_.empty() ? Origin::outside_scope : Origin::captured_before_start};
}

}  // namespace graphtag
