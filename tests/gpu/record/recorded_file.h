// Reads what matters of a recording with a few lines of its own: it shares nothing with graphtag, and needs no library.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpu_test {

// A kernel, copy or set; a CUDA call or a range of the host.
struct Recorded {
  std::string category;
  std::string function;  // the slice's name
  std::string name;      // of the annotation; empty: none
  std::string origin;
  std::vector<std::int64_t> grid;
  std::uint64_t node_id = 0, correlation = 0, bytes = 0, start_ns = 0, end_ns = 0;
  std::uint64_t track = 0;
  bool bad_time = false;
};

class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  std::uint32_t number = 0;
  std::uint64_t value = 0;   // of varints and fixed fields
  std::string_view content;  // of the others

  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    number = static_cast<std::uint32_t>(tag >> 3);
    value = 0;
    content = {};
    switch (tag & 7) {
      case 0:
        value = varint();
        return true;
      case 1:
        content = take(8);
        return true;
      case 2:
        content = take(varint());
        return true;
      case 5:
        content = take(4);
        return true;
      default:
        throw std::runtime_error("a field of no type");
    }
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = static_cast<std::uint8_t>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw std::runtime_error("a number without an end");
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw std::runtime_error("cut off");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

// Throws std::runtime_error for a file that is no trace.
class RecordedFile {
 public:
  explicit RecordedFile(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) throw std::runtime_error("no " + path);
    std::string bytes;
    std::vector<char> block(1 << 24);
    for (std::size_t size = 0; (size = std::fread(block.data(), 1, block.size(), file)) > 0;) bytes.append(block.data(), size);
    std::fclose(file);
    Fields packets(bytes);
    while (packets.next()) packet(packets.content);
  }
  std::vector<Recorded> operations, host;
  std::map<std::string, std::uint64_t> instants;  // name -> how many

  // The thread that a slice of the host lies under; 0: none.
  std::uint64_t thread_of(const Recorded& slice) const {
    for (std::uint64_t track = slice.track; track != 0;) {
      if (const auto thread = threads_.find(track); thread != threads_.end()) return thread->second;
      const auto parent = parents_.find(track);
      track = parent == parents_.end() ? 0 : parent->second;
    }
    return 0;
  }

 private:
  void packet(std::string_view bytes) {
    std::string_view event;
    std::uint64_t sequence = 0, time = 0, flags = 0;
    std::string_view interned, track;
    for (Fields fields(bytes); fields.next();) {
      if (fields.number == 8) time = fields.value;
      if (fields.number == 10) sequence = fields.value;
      if (fields.number == 11) event = fields.content;
      if (fields.number == 12) interned = fields.content;
      if (fields.number == 13) flags = fields.value;
      if (fields.number == 60) track = fields.content;
    }
    auto& texts = texts_[sequence];
    if ((flags & 1) != 0) texts.clear();
    for (Fields kinds(interned); kinds.next();) {
      std::uint64_t id = 0;
      std::string_view text;
      for (Fields entry(kinds.content); entry.next();) entry.number == 1 ? void(id = entry.value) : void(text = entry.content);
      texts[{kinds.number, id}] = text;
    }
    if (!track.empty()) describe(track);
    if (!event.empty()) track_event(event, time, texts);
  }

  void describe(std::string_view bytes) {
    std::uint64_t uuid = 0, parent = 0, tid = 0;
    for (Fields fields(bytes); fields.next();) {
      if (fields.number == 1) uuid = fields.value;
      if (fields.number == 5) parent = fields.value;
      if (fields.number != 4) continue;
      for (Fields thread(fields.content); thread.next();) {
        if (thread.number == 2) tid = thread.value;
      }
    }
    parents_[uuid] = parent;
    if (tid != 0) threads_[uuid] = tid;
  }

  using Texts = std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>;

  void track_event(std::string_view bytes, std::uint64_t time, const Texts& texts) {
    Recorded record;
    record.start_ns = time;
    std::uint64_t type = 0;
    const auto text = [&texts](std::uint32_t kind, std::uint64_t id) { return texts.at({kind, id}); };
    for (Fields fields(bytes); fields.next();) {
      if (fields.number == 9) type = fields.value;
      if (fields.number == 11) record.track = fields.value;
      if (fields.number == 3) record.category = text(1, fields.value);
      if (fields.number == 10) record.function = text(2, fields.value);
      if (fields.number == 23) record.function = fields.content;
      if (fields.number == 4 && type == 1) arg(fields.content, record, text);
    }
    if (type == 3) ++instants[record.function];
    if (type == 2) {
      // Right behind its beginning.
      if (last_ == nullptr || last_->empty() || last_->back().track != record.track) throw std::runtime_error("an END alone");
      last_->back().end_ns = time;
    }
    if (type != 1) return;
    const bool on_gpu = record.category == "kernel" || record.category == "gpu_memcpy" || record.category == "gpu_memset";
    last_ = on_gpu ? &operations : &host;
    last_->push_back(std::move(record));
  }

  template <typename Text>
  void arg(std::string_view bytes, Recorded& record, Text text) {
    std::string key, string;
    std::uint64_t number = 0;
    std::vector<std::int64_t> list;
    for (Fields fields(bytes); fields.next();) {
      if (fields.number == 1) key = text(3, fields.value);
      if (fields.number == 10) key = fields.content;
      if (fields.number == 3 || fields.number == 4) number = fields.value;
      if (fields.number == 6) string = fields.content;
      if (fields.number == 17) string = text(29, fields.value);
      if (fields.number == 12) {
        for (Fields element(fields.content); element.next();) list.push_back(static_cast<std::int64_t>(element.value));
      }
    }
    if (key == "name") record.name = string;
    if (key == "graphtag.origin") record.origin = string;
    if (key == "grid") record.grid = list;
    if (key == "graph node id") record.node_id = number;
    if (key == "correlation") record.correlation = number;
    if (key == "bytes") record.bytes = number;
    if (key == "graphtag.bad_time") record.bad_time = true;
  }

  std::map<std::uint64_t, Texts> texts_;                      // sequence -> kind and number -> text
  std::map<std::uint64_t, std::uint64_t> parents_, threads_;  // track -> its parent, its tid
  std::vector<Recorded>* last_ = nullptr;                     // what the last slice was put into
};

}  // namespace gpu_test
