#include "join/written_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
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
  EXPECT_EQ(written_key(shape, "x", KeyForms({"x"})), kForms[1]);
  EXPECT_EQ(written_key(shape, "y", KeyForms({"y"})), "y");
  // "annotation.x" is a key of its own: "x" would be two prefixes long.
  const KeyForms both({kForms[0], kForms[1]});
  EXPECT_EQ(written_key(shape, "x", both), "x");
  EXPECT_EQ(written_key(shape, kForms[1], both), kForms[1]);
  shape.keys.push_back(kForms[2]);
  EXPECT_EQ(written_key(shape, "x", both), kForms[2]);
  EXPECT_EQ(written_key(shape, kForms[1], both), kForms[1]) << "a form is of one key alone";
}

TEST(WrittenKey, EveryFormIsOfOneKey) {
  for (unsigned listed = 1; listed < 1U << kForms.size(); ++listed) {
    const KeySet keys = chosen(listed);
    const KeyForms forms(keys);
    std::map<std::string, std::string> owners;
    for (const std::string& key : keys) {
      std::string form = key;
      for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(owners.emplace(form, key).second) << form << ' ' << listed;
        ASSERT_EQ(forms.owner(form), key) << form << ' ' << listed;
        form = forms.next(key, form);
        ASSERT_FALSE(keys.contains(form)) << form << ' ' << listed;
      }
    }
  }
  EXPECT_EQ(KeyForms({kForms[2]}).owner("x"), std::nullopt);
  EXPECT_EQ(KeyForms({"y"}).owner("x"), std::nullopt);
  EXPECT_EQ(KeyForms({"y"}).next("x", "x"), kForms[1]) << "also of a key that is not listed";
}

TEST(WrittenKey, TheWayBackFindsEveryKey) {
  constexpr unsigned kSets = 1U << kForms.size();
  for (unsigned there = 0; there < kSets; ++there) {
    MemberShape shape;
    for (const std::string& key : chosen(there)) shape.keys.push_back(key);
    for (unsigned listed = 0; listed < kSets; ++listed) {
      const KeySet keys = chosen(listed);
      const KeyForms forms(keys);
      for (const std::string& written : shape.keys) {
        std::vector<std::string> expected;
        for (const std::string& key : keys) {
          if (written_key(shape, key, forms) == written) expected.push_back(key);
        }
        ASSERT_LE(expected.size(), 1U) << written << ' ' << there << ' ' << listed;
        const auto found = key_written_as(shape, written, forms);
        ASSERT_EQ(found, expected.empty() ? std::nullopt : std::optional(expected[0]))
            << written << ' ' << there << ' ' << listed;
      }
    }
  }
}

}  // namespace
}  // namespace graphtag
