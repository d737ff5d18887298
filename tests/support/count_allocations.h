// Counts the allocations of a test program: by replacing operator new, or by the hooks of a sanitizer that has replaced it already. For one source
// file of a program: the replacements may not be there twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/support/sanitized.h"

#if defined(GRAPHTAG_SANITIZED)
#include <sanitizer/allocator_interface.h>
#endif

namespace graphtag::test {

inline thread_local std::uint64_t allocations = 0;  // of this thread so far

}  // namespace graphtag::test

#if defined(GRAPHTAG_SANITIZED)
namespace {

void on_allocation(const volatile void*, std::size_t) {
  ++graphtag::test::allocations;
}
void on_release(const volatile void*) {}
const int hooks = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);

}  // namespace
#else
namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  ++graphtag::test::allocations;
  void* const block = alignment <= alignof(std::max_align_t)
                          ? std::malloc(size == 0 ? 1 : size)
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

// Not inlined: g++ warns of free() in a delete that it inlines without the new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return allocate(size, 1);
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return allocate(size, 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete[](void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
#endif
