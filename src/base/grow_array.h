// An array that grows without copying: for tables of a hundred million rows under a memory bound, where std::vector would need
// both the old and the new block while it doubles.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace graphtag {

// Resident memory is sizeof(T) * size(), rounded up to a page (of up to 2 MiB). T must be trivially copyable. Throws std::bad_alloc.
template <typename T>
class GrowArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowArray() = default;
  GrowArray(GrowArray&& other) noexcept { swap(other); }
  GrowArray& operator=(GrowArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowArray() {
    if (data_ != nullptr) munmap(data_, capacity_bytes_);
  }

  void push_back(const T& value) {
    if ((size_ + 1) * sizeof(T) > capacity_bytes_) grow();
    data_[size_++] = value;
  }
  void resize_down(std::size_t size) { size_ = size; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator std::span<const T>() const { return {data_, size_}; }  // NOLINT(google-explicit-constructor)

 private:
  void swap(GrowArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_bytes_, other.capacity_bytes_);
  }
  // Untouched pages cost nothing, so the mapping may double; mremap moves pages, not bytes.
  void grow() {
    const std::size_t bytes = capacity_bytes_ == 0 ? std::size_t{1} << 16 : capacity_bytes_ * 2;
    void* block = data_ == nullptr
                      ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                      : mremap(data_, capacity_bytes_, bytes, MREMAP_MAYMOVE);
    if (block == MAP_FAILED) throw std::bad_alloc();
    // A page fault for each 4 KiB would cost as much as filling them. Where there are no huge pages this does nothing.
    if (bytes >= kHugeFromBytes) madvise(block, bytes, MADV_HUGEPAGE);
    data_ = static_cast<T*>(block);
    capacity_bytes_ = bytes;
  }

  static constexpr std::size_t kHugeFromBytes = std::size_t{8} << 20;

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_bytes_ = 0;
};

}  // namespace graphtag
