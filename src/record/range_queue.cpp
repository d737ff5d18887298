#include "record/range_queue.h"

#include <cstring>

#include "base/utf8.h"

namespace graphtag {
namespace {

// What stands before the texts of a range.
struct Head {
  std::int64_t start_ns, end_ns, thread;
  std::uint64_t payload_bits;
  HostRange::Payload payload_type;
  bool mark, overlaps, unfinished;
  std::uint32_t text_bytes, domain_bytes, category_bytes;
};

// At most kTextBytes, not cut within a character.
std::string_view kept(std::string_view text) {
  if (text.size() <= RangeQueue::kTextBytes) return text;
  std::size_t end = RangeQueue::kTextBytes;
  for (int i = 0; i < 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U; ++i) --end;
  return text.substr(0, end);
}

}  // namespace

void RangeQueue::reserve() {
  for (Shard& shard : shards_) shard.filling.reserve(kShardBytes);
  draining_.reserve(kShardBytes);
}

void RangeQueue::push(const HostRange& range) noexcept {
  const std::string_view text = kept(range.text), domain = kept(range.domain), category = kept(range.category);
  const Head head{range.start_ns,
                  range.end_ns,
                  range.thread,
                  range.payload_bits,
                  range.payload_type,
                  range.mark,
                  range.overlaps,
                  range.unfinished,
                  static_cast<std::uint32_t>(text.size()),
                  static_cast<std::uint32_t>(domain.size()),
                  static_cast<std::uint32_t>(category.size())};
  const std::size_t bytes = sizeof head + text.size() + domain.size() + category.size();
  for (std::size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[(static_cast<std::uint64_t>(range.thread) + i) % kShards];
    const std::unique_lock lock(shard.mutex, std::try_to_lock);
    if (!lock.owns_lock()) continue;
    std::vector<char>& filling = shard.filling;
    const std::size_t before = filling.size();
    if (before + bytes > kShardBytes) continue;
    const auto add = [&filling](const void* data, std::size_t size) {
      const char* begin = static_cast<const char*>(data);
      filling.insert(filling.end(), begin, begin + size);
    };
    add(&head, sizeof head);
    if (!text.empty()) add(text.data(), text.size());
    if (!domain.empty()) add(domain.data(), domain.size());
    if (!category.empty()) add(category.data(), category.size());
    if (before < kShardBytes / 2 && filling.size() >= kShardBytes / 2) wake_->signal();
    return;
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

std::size_t RangeQueue::read(std::size_t at, HostRange& range) const noexcept {
  Head head{};
  std::memcpy(&head, draining_.data() + at, sizeof head);
  at += sizeof head;
  const auto text = [&](std::uint32_t bytes) {
    const std::string_view view(draining_.data() + at, bytes);
    at += bytes;
    return view;
  };
  range = {head.start_ns,
           head.end_ns,
           head.thread,
           head.mark,
           head.overlaps,
           head.unfinished,
           head.payload_type,
           head.payload_bits,
           text(head.text_bytes),
           text(head.domain_bytes),
           text(head.category_bytes)};
  return at;
}

}  // namespace graphtag
