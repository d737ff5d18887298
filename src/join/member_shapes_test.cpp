#include "join/member_shapes.h"

#include <gtest/gtest.h>

#include <string>

namespace graphtag {
namespace {

// An event whose args have these keys (as written), each with the value 1.
struct KeysOnly {
  explicit KeysOnly(const std::vector<std::string>& keys, EventKind kind = EventKind::kernel) {
    for (const std::string& key : keys) {
      text += text.empty() ? "{\"" : ",\"";
      const auto begin = static_cast<std::uint32_t>(text.size());
      text += key;
      const auto end = static_cast<std::uint32_t>(text.size());
      text += "\":1";
      members.push_back({{begin, end}, {end + 2, end + 3}});
    }
    text += '}';
    event.json = text;
    event.kind = kind;
    event.members = members;
  }
  KeysOnly(const KeysOnly&) = delete;
  KeysOnly& operator=(const KeysOnly&) = delete;

  std::string text;
  std::vector<Member> members;
  Event event;
};

TEST(MemberShapes, SameKeysAreOneShape) {
  MemberShapes shapes;
  const KeysOnly a({"device", "stream"}), b({"device", "stream"}), swapped({"stream", "device"}),
      longer({"device", "stream", "grid"});
  const std::uint32_t id = shapes.of(a.event).id;
  EXPECT_NE(shapes.of(swapped.event).id, id);
  EXPECT_NE(shapes.of(longer.event).id, id);
  EXPECT_EQ(shapes.of(b.event).id, id);
}

TEST(MemberShapes, TheKindOfTheEventCounts) {
  MemberShapes shapes;
  const KeysOnly kernel({"device"}), copy({"device"}, EventKind::memcpy);
  EXPECT_NE(shapes.of(kernel.event).id, shapes.of(copy.event).id);
}

TEST(MemberShapes, KeysWithTheSameLengthAndEndsAreToldApart) {
  MemberShapes shapes;
  const KeysOnly a({"abc"}), b({"adc"});
  const std::uint32_t id = shapes.of(a.event).id;
  EXPECT_NE(shapes.of(b.event).id, id);
  EXPECT_EQ(shapes.of(a.event).id, id);
  EXPECT_EQ(shapes.of(b.event).keys, std::vector<std::string>{"adc"});
}

TEST(MemberShapes, KeysComeWithTheirEscapesResolved) {
  MemberShapes shapes;
  const KeysOnly event({R"(n\u0061me)", "", R"(a\"b)"});
  EXPECT_EQ(shapes.of(event.event).keys, (std::vector<std::string>{"name", "", "a\"b"}));
  EXPECT_EQ(shapes.of(event.event).index_of("name"), 0);
  EXPECT_EQ(shapes.of(event.event).index_of("b"), -1);
}

TEST(MemberShapes, TheLastOfEqualKeysCounts) {
  MemberShapes shapes;
  const KeysOnly event({"x", "y", "x"});
  EXPECT_EQ(shapes.of(event.event).index_of("x"), 2);
}

TEST(MemberShapes, ManyKeysAreFoundLikeFew) {
  MemberShapes shapes;
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back("key" + std::to_string(i));
  keys.insert(keys.end(), {"key7", "", "key499"});
  const KeysOnly event(keys);
  const MemberShape& shape = shapes.of(event.event);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(shape.index_of("key" + std::to_string(i)), i == 7 ? 500 : i == 499 ? 502 : i);
  }
  EXPECT_EQ(shape.index_of(""), 501);
  EXPECT_EQ(shape.index_of("key500"), -1);
}

TEST(MemberShapes, ManyShapesAreForgottenAndComeAgainUnderNewIds) {
  MemberShapes shapes;
  const KeysOnly first({"first"});
  const std::uint32_t id = shapes.of(first.event).id;
  for (int i = 0; i < 5000; ++i) {
    const KeysOnly event({"key" + std::to_string(i)});
    EXPECT_EQ(shapes.of(event.event).keys[0], "key" + std::to_string(i));
  }
  EXPECT_NE(shapes.of(first.event).id, id);
  EXPECT_EQ(shapes.of(first.event).keys[0], "first");
}

}  // namespace
}  // namespace graphtag
