// In the steady state a node costs no allocation: counted by replacing operator new in this program, or by the hooks of a
// sanitizer that has replaced it already.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/registry.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRAPHTAG_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GRAPHTAG_SANITIZED
#endif
#endif
#if defined(GRAPHTAG_SANITIZED)
#include <sanitizer/allocator_interface.h>
#endif

namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

#if defined(GRAPHTAG_SANITIZED)
namespace {

void on_allocation(const volatile void*, std::size_t) {
  ++allocations;
}
void on_release(const volatile void*) {}
const int hooks = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);

}  // namespace
#else
namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
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

namespace graphtag {
namespace {

NodeId node(GraphId graph, std::uint32_t local) {
  return {graph, LocalId{local}};
}

class RegistryAllocations : public testing::Test {
 protected:
  Registry registry;
};

TEST_F(RegistryAllocations, TheCounterCounts) {
  const std::uint64_t before = allocations;
  delete new volatile int(5);
  EXPECT_EQ(allocations, before + 1);
}

TEST_F(RegistryAllocations, ANodeInTheScopeOfTheLastCostsNone) {
  const AnnotationId annotation = registry.name("scope");
  for (const GraphId graph : {GraphId{1}, GraphId{2}}) {
    registry.graph_created(graph, 0);
    registry.node_created(node(graph, 0), annotation);
  }
  const std::uint64_t before = allocations;
  for (std::uint32_t local = 1; local < 100'000; ++local) {  // two captures in turns
    registry.node_created(node({1}, local), annotation);
    registry.node_created(node({2}, local), annotation);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(registry.resolve(node({2}, 99'999)).annotation, annotation);
}

TEST_F(RegistryAllocations, KnownScopesCostNone) {
  const std::string decoder = "model.layers.0.decoder.with.a.long.name", attention = "model.layers.0.decoder.self_attention";
  const AnnotationId known = registry.merge(registry.name(decoder), registry.name(attention));
  const std::uint64_t before = allocations;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(registry.merge(registry.name(decoder), registry.name(attention)), known);
  EXPECT_EQ(allocations, before);
}

// 10 000 runs: the storage doubles, so that it is a handful of allocations.
TEST_F(RegistryAllocations, RunsGrowByDoubling) {
  std::vector<AnnotationId> scopes;
  for (int i = 0; i < 16; ++i) scopes.push_back(registry.name("scope " + std::to_string(i)));
  registry.graph_created({1}, 0);
  const std::uint64_t before = allocations;
  for (std::uint32_t local = 0; local < 100'000; ++local) registry.node_created(node({1}, local), scopes[local / 10 % 16]);
  EXPECT_LE(allocations - before, 16u);
  EXPECT_EQ(registry.counters().runs, 10'000u);
}

TEST_F(RegistryAllocations, ResolvingCostsNone) {
  registry.node_created(node({1}, 0), registry.name("a"));
  registry.exec_created({2}, {1}, 1);
  const std::uint64_t before = allocations;
  for (int i = 0; i < 1000; ++i) registry.resolve(node({2}, 0), 5);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace graphtag
