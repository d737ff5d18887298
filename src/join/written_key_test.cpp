#include "join/written_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace graphtag {
namespace {

// "x", "annotation.x" and so on.
const std::array<std::string, 5> kForms = {"x", prefixed("x"), prefixed(prefixed("x")), prefixed(prefixed(prefixed("x"))),
                                           prefixed(prefixed(prefixed(prefixed("x"))))};

KeySet chosen(unsigned bits) {
  KeySet keys;
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    if ((bits >> i & 1U) != 0) keys.insert(kForms[i]);
  }
  return keys;
}

TEST(WrittenKey, IsTheLongestFormThatIsThere) {
  MemberShape shape;
  shape.keys = {kForms[0], kForms[1]};
  EXPECT_EQ(written_key(shape, "x", {"x"}), kForms[1]);
  EXPECT_EQ(written_key(shape, "y", {"y"}), "y");
  // "annotation.x" is a key of its own: "x" would be two prefixes long.
  EXPECT_EQ(written_key(shape, "x", {kForms[0], kForms[1]}), "x");
  EXPECT_EQ(written_key(shape, kForms[1], {kForms[0], kForms[1]}), kForms[1]);
}

TEST(WrittenKey, TheWayBackFindsEveryKey) {
  constexpr unsigned kSets = 1U << kForms.size();
  for (unsigned there = 0; there < kSets; ++there) {
    MemberShape shape;
    for (const std::string& key : chosen(there)) shape.keys.push_back(key);
    for (unsigned listed = 0; listed < kSets; ++listed) {
      const KeySet keys = chosen(listed);
      for (unsigned asked = 0; asked < kSets; ++asked) {
        const KeySet candidates = chosen(asked);
        for (const std::string& written : shape.keys) {
          std::vector<std::string> expected;
          for (const std::string& key : candidates) {
            if (written_key(shape, key, keys) == written) expected.push_back(key);
          }
          ASSERT_THAT(keys_written_as(shape, written, candidates, keys), ::testing::UnorderedElementsAreArray(expected))
              << written << ' ' << there << ' ' << listed << ' ' << asked;
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphtag
