#include "trace/kineto/window.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace graphtag::kineto {

Window::Window(ByteSource& source, std::size_t usual_bytes)
    : source_(source), usual_bytes_(std::max<std::size_t>(usual_bytes, 16)) {}

void Window::make_room() {
  const std::size_t size = end_ - begin_;
  std::size_t capacity = std::max(capacity_, usual_bytes_);
  // Doubling keeps the number of times a long event is gone over small.
  if (size == capacity) capacity *= 2;
  if (capacity > usual_bytes_ && size < usual_bytes_ / 2) capacity = usual_bytes_;
  if (capacity != capacity_) {
    std::unique_ptr<char[]> bytes(new char[capacity + kPadding]);
    if (size != 0) std::memcpy(bytes.get(), bytes_.get() + begin_, size);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  } else if (begin_ != 0) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, size);
  }
  begin_ = 0;
  end_ = size;
}

Result<void> Window::more() {
  if (source_ended_) return {};
  make_room();
  while (end_ < capacity_) {
    const auto got = source_.read(bytes_.get() + end_, capacity_ - end_);
    if (!got) return got.error();
    if (*got == 0) {
      source_ended_ = true;
      break;
    }
    end_ += *got;
  }
  std::memset(bytes_.get() + end_, 0, kPadding);
  return {};
}

}  // namespace graphtag::kineto
