#include "cli/preload.h"

#include <gtest/gtest.h>

namespace graphtag::cli {
namespace {

TEST(Preload, OursIsFirstAndTheOthersStay) {
  EXPECT_EQ(preload_first("/g/libguard.so", ""), "/g/libguard.so");
  EXPECT_EQ(preload_first("/g/libguard.so", "/usr/lib/libjemalloc.so"), "/g/libguard.so:/usr/lib/libjemalloc.so");
  EXPECT_EQ(preload_first("/g/libguard.so", "a.so b.so:/c/c.so"), "/g/libguard.so:a.so:b.so:/c/c.so");
  EXPECT_EQ(preload_first("/g/libguard.so", " : a.so:: "), "/g/libguard.so:a.so");
}

TEST(Preload, OneOfAnOuterRunIsReplaced) {
  EXPECT_EQ(preload_first("/new/libguard.so", "/old/libguard.so:a.so"), "/new/libguard.so:a.so");
  EXPECT_EQ(preload_first("/g/libguard.so", "a.so:/g/libguard.so"), "/g/libguard.so:a.so");
  EXPECT_EQ(preload_without("libguard.so", "/g/libguard.so"), "");
  EXPECT_EQ(preload_without("libguard.so", "a.so:/g/libguard.so:/g/notlibguard.so"), "a.so:/g/notlibguard.so");
}

TEST(Preload, APathThatTheLoaderWouldTakeApart) {
  for (const char* path : {"/my libraries/libguard.so", "/a:b/libguard.so", "/a/$LIB/libguard.so"})
    EXPECT_FALSE(preload_first(path, "a.so")) << path;
}

TEST(Preload, TheSanitizersOptions) {
  EXPECT_EQ(sanitizer_with_preload(""), "verify_asan_link_order=0");
  EXPECT_EQ(sanitizer_with_preload("detect_leaks=0"), "detect_leaks=0:verify_asan_link_order=0");
  EXPECT_EQ(sanitizer_with_preload("verify_asan_link_order=1"), "verify_asan_link_order=1");
}

}  // namespace
}  // namespace graphtag::cli
