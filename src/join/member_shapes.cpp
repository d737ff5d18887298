#include "join/member_shapes.h"

#include <cstring>

#include "model/ids.h"

namespace graphtag {
namespace {

constexpr std::size_t kShapesKept = 1024;
constexpr std::size_t kFewKeys = 32;
constexpr std::size_t kBytesKept = std::size_t{2} << 20;  // of keys

// Of the lengths and ends of the keys; shapes that agree in it are compared.
std::uint64_t hash_of(const Event& event) {
  std::uint64_t hash = mix_bits(event.members.size() + (static_cast<std::uint64_t>(event.kind) << 32));
  for (const Member& member : event.members) {
    const std::uint64_t size = member.key.end - member.key.begin;
    std::uint64_t part = size << 16;
    if (size != 0) {
      part |= static_cast<unsigned char>(event.json[member.key.begin]) |
              static_cast<std::uint64_t>(static_cast<unsigned char>(event.json[member.key.end - 1])) << 8;
    }
    hash = mix_bits(hash ^ part);
  }
  return hash;
}

// Keys are short: a call of memcmp costs more than the comparison.
bool same_bytes(const char* a, const char* b, std::size_t size) {
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) return std::memcmp(a, b, 8) == 0 && std::memcmp(a + size - 8, b + size - 8, 8) == 0;
  if (size >= 4) return std::memcmp(a, b, 4) == 0 && std::memcmp(a + size - 4, b + size - 4, 4) == 0;
  return size == 0 || (a[0] == b[0] && a[size / 2] == b[size / 2] && a[size - 1] == b[size - 1]);
}

}  // namespace

int MemberShape::index_of(std::string_view key) const {
  if (!places.empty()) {
    const auto found = places.find(key);
    return found == places.end() ? -1 : static_cast<int>(found->second);
  }
  for (std::size_t i = keys.size(); i-- > 0;) {
    if (keys[i] == key) return static_cast<int>(i);
  }
  return -1;
}

void MemberShape::index_keys() {
  if (keys.size() <= kFewKeys) return;
  for (std::uint32_t i = 0; i < keys.size(); ++i) places.insert_or_assign(keys[i], i);
}

bool MemberShape::is_of(const Event& event) const {
  if (event.kind != kind || event.members.size() != raw_sizes.size()) return false;
  const char* text = raw_keys.data();
  for (std::size_t i = 0; i < raw_sizes.size(); ++i) {
    const TextSpan key = event.members[i].key;
    const std::uint32_t size = raw_sizes[i];
    if (key.end - key.begin != size || !same_bytes(event.json.data() + key.begin, text, size)) return false;
    text += size;
  }
  return true;
}

const MemberShape& MemberShapes::of(const Event& event) {
  if (last_ >= 0 && shapes_[static_cast<std::size_t>(last_)].is_of(event)) return shapes_[static_cast<std::size_t>(last_)];
  const std::uint64_t hash = hash_of(event);
  std::int32_t first = -1;
  if (const auto found = by_hash_.find(hash); found != by_hash_.end()) {
    first = found->second;
    for (std::int32_t i = first; i >= 0; i = shapes_[static_cast<std::size_t>(i)].next) {
      if (!shapes_[static_cast<std::size_t>(i)].is_of(event)) continue;
      last_ = i;
      return shapes_[static_cast<std::size_t>(i)];
    }
  }
  if (shapes_.size() >= kShapesKept || bytes_ >= kBytesKept) {
    shapes_.clear();
    bytes_ = 0;
    by_hash_.clear();
    first = -1;
  }
  MemberShape& shape = shapes_.emplace_back();
  shape.id = next_id_++;
  shape.kind = event.kind;
  shape.next = first;
  std::string storage;
  for (const Member& member : event.members) {
    const std::string_view raw = event.text(member.key);
    shape.raw_keys += raw;
    shape.raw_sizes.push_back(static_cast<std::uint32_t>(raw.size()));
    shape.keys.emplace_back(unescape(raw, storage));
  }
  shape.index_keys();
  bytes_ += shape.raw_keys.size() + shape.keys.size() * sizeof(std::string);
  last_ = static_cast<std::int32_t>(shapes_.size() - 1);
  by_hash_.insert_or_assign(hash, last_);
  return shape;
}

}  // namespace graphtag
