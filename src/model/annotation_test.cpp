#include "model/annotation.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphtag {
namespace {

using Strings = std::vector<std::string>;

Json json(const std::string& text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return *std::move(value);
}

AnnotationId intern(AnnotationTable& table, const std::string& text) {
  const auto id = table.intern(json(text));
  EXPECT_TRUE(id) << id.error().to_string();
  return *id;
}

std::string text(const AnnotationTable& table, AnnotationId id) {
  return dump_json(*table[id].object);
}

TEST(AnnotationTable, StartsWithTheEmptyAnnotation) {
  AnnotationTable table;
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(text(table, AnnotationId::none), "{}");
  EXPECT_EQ(intern(table, "{}"), AnnotationId::none);
}

// The drawing in annotation.h.
TEST(AnnotationTable, InnerKeysWinAndThePathKeepsBothNames) {
  AnnotationTable table;
  const auto decoder = intern(table, R"({"name":"decoder","bs":8})");
  const auto attention = intern(table, R"({"name":"attention"})");
  const auto both = table.merge(decoder, attention);
  EXPECT_EQ(text(table, both), R"({"name":"attention","bs":8})");
  EXPECT_EQ(table[both].path, (Strings{"decoder", "attention"}));
  EXPECT_EQ(table[both].name, "attention");
}

TEST(AnnotationTable, MergingKeepsTheOuterKeyOrderAndAppendsNewKeys) {
  AnnotationTable table;
  const auto outer = intern(table, R"({"z":1,"m":2,"a":3})");
  const auto inner = intern(table, R"({"q":5,"a":4,"b":6})");
  EXPECT_EQ(text(table, table.merge(outer, inner)), R"({"z":1,"m":2,"a":4,"q":5,"b":6})");
}

TEST(AnnotationTable, NestedObjectsAreReplacedWhole) {
  AnnotationTable table;
  const auto outer = intern(table, R"({"cfg":{"a":1,"b":2}})");
  const auto inner = intern(table, R"({"cfg":{"b":3}})");
  EXPECT_EQ(text(table, table.merge(outer, inner)), R"({"cfg":{"b":3}})");
}

TEST(AnnotationTable, EqualObjectsInAnyKeyOrderAreOneEntry) {
  AnnotationTable table;
  const auto first = intern(table, R"({"a":1,"b":{"x":1,"y":[2]}})");
  EXPECT_EQ(intern(table, R"({"b":{"y":[2],"x":1},"a":1})"), first);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(text(table, first), R"({"a":1,"b":{"x":1,"y":[2]}})");
}

TEST(AnnotationTable, OneAndOnePointZeroAndTrueAndTextDiffer) {
  AnnotationTable table;
  const std::vector<AnnotationId> ids = {intern(table, R"({"v":1})"), intern(table, R"({"v":1.0})"),
                                         intern(table, R"({"v":true})"), intern(table, R"({"v":"1"})"),
                                         intern(table, R"({"v":null})")};
  EXPECT_EQ(table.size(), 6u);
  EXPECT_TRUE((*table[ids[0]].object)["v"].is_number_integer());
  EXPECT_TRUE((*table[ids[1]].object)["v"].is_number_float());
  EXPECT_TRUE((*table[ids[2]].object)["v"].is_boolean());
}

TEST(AnnotationTable, EqualObjectsWithOtherPathsDiffer) {
  AnnotationTable table;
  const auto one = table.intern(json(R"({"name":"b"})"), {"a", "b"});
  const auto two = table.intern(json(R"({"name":"b"})"), {"b"});
  const auto three = table.intern(json(R"({"name":"b"})"));
  ASSERT_TRUE(one && two && three);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(*two, *three);
}

TEST(AnnotationTable, ReadsThePathOutOfTheObject) {
  AnnotationTable table;
  const auto id = intern(table, R"({"name":"c","graphtag.path":["a","b","c"]})");
  EXPECT_EQ(text(table, id), R"({"name":"c"})");
  EXPECT_EQ(table[id].path, (Strings{"a", "b", "c"}));
  const auto given = table.intern(json(R"({"name":"c","graphtag.path":["a","b","c"]})"), {"x"});
  ASSERT_TRUE(given);
  EXPECT_EQ(text(table, *given), R"({"name":"c"})");
  EXPECT_EQ(table[*given].path, Strings{"x"});
}

TEST(AnnotationTable, ThePathIsTheNameOrEmpty) {
  AnnotationTable table;
  EXPECT_EQ(table[intern(table, R"({"name":"a.b"})")].path, Strings{"a.b"});
  EXPECT_EQ(table[intern(table, R"({"name":7})")].path, Strings{});
  EXPECT_EQ(table[intern(table, R"({"name":""})")].path, Strings{});
  EXPECT_EQ(table[intern(table, R"({"bs":1})")].path, Strings{});
}

TEST(AnnotationTable, AStackLaidOverItselfCountsOnce) {
  AnnotationTable table;
  const auto a = intern(table, R"({"name":"a"})");
  const auto b = intern(table, R"({"name":"b"})");
  const auto ab = table.merge(a, b);
  EXPECT_EQ(table.merge(ab, ab), ab);
  EXPECT_EQ(table.merge(a, ab), ab);                                    // the inner path begins with the whole outer path
  EXPECT_EQ(table[table.merge(b, ab)].path, (Strings{"b", "a", "b"}));  // here it does not
  EXPECT_EQ(table[table.merge(ab, a)].path, (Strings{"a", "b", "a"}));
}

TEST(AnnotationTable, ReadsTheReservedKeys) {
  AnnotationTable table;
  EXPECT_EQ(table[intern(table, R"({"stream":61})")].stream, 61);
  EXPECT_EQ(table[intern(table, R"({"stream":-1})")].stream, -1);
  for (const char* other :
       {R"({"stream":"61"})", R"({"stream":61.0})", R"({"stream":true})", R"({"stream":9223372036854775808})", "{}"}) {
    EXPECT_EQ(table[intern(table, other)].stream, std::nullopt) << other;
  }
  EXPECT_TRUE(table[intern(table, R"({"autograd_phase":"backward"})")].backward);
  EXPECT_FALSE(table[intern(table, R"({"autograd_phase":"forward"})")].backward);
}

TEST(AnnotationTable, FindsWhatItHasAndAddsNothing) {
  AnnotationTable table;
  const auto a = intern(table, R"({"name":"a","bs":1})");
  const auto b = intern(table, R"({"name":"b"})");
  const auto ab = table.merge(a, b);
  const auto ba = intern(table, R"({"bs":1,"name":"a","graphtag.path":["b","a"]})");
  const std::size_t size = table.size();
  EXPECT_EQ(*table.find(json(R"({"bs":1,"name":"a"})")), a);
  EXPECT_EQ(*table.find(json("{}")), AnnotationId::none);
  EXPECT_EQ(*table.find(json(R"({"bs":1,"name":"a","graphtag.path":["b","a"]})")), ba);
  EXPECT_EQ(*table.find(json(R"({"bs":1,"name":"a","graphtag.path":[]})")), std::nullopt);
  EXPECT_EQ(*table.find(json(R"({"name":"c"})")), std::nullopt);
  EXPECT_EQ(table.find(json("[]")).error().code, ErrorCode::malformed);
  EXPECT_EQ(table.find_merged(a, b), ab);
  EXPECT_EQ(table.find_merged(b, a), ba) << "the pair is new, the entry is not";
  EXPECT_EQ(table.find_merged(a, a), a);
  EXPECT_EQ(table.find_merged(AnnotationId::none, b), b);
  EXPECT_EQ(table.find_merged(a, AnnotationId::none), a);
  EXPECT_EQ(table.find_merged(b, ab), std::nullopt);
  EXPECT_EQ(table.size(), size);
}

TEST(AnnotationTable, RefusesWhatIsNoAnnotation) {
  AnnotationTable table;
  for (const char* other : {"[]", "1", "null", "\"name\"", R"({"graphtag.path":"a"})", R"({"graphtag.path":["a",1]})"}) {
    const auto id = table.intern(json(other));
    ASSERT_FALSE(id) << other;
    EXPECT_EQ(id.error().code, ErrorCode::malformed) << other;
  }
  EXPECT_EQ(table.size(), 1u);
}

TEST(AnnotationTable, NestingIsBounded) {
  AnnotationTable table;
  const auto nested = [](int depth) {  // objects and arrays, `depth` in all
    Json value = 1;
    for (int i = 1; i < depth; ++i) value = Json::array({value});
    return Json{{"v", value}};
  };
  EXPECT_TRUE(table.intern(nested(64)));
  const auto deep = table.intern(nested(65));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::too_large);
}

TEST(AnnotationTable, NumbersThatJsonLacksBecomeNull) {
  AnnotationTable table;
  const auto id =
      table.intern(Json{{"v", {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1.5}}});
  ASSERT_TRUE(id);
  EXPECT_EQ(text(table, *id), R"({"v":[null,null,1.5]})");
}

TEST(AnnotationTable, ReferencesStayValid) {
  AnnotationTable table;
  const Annotation& first = table[intern(table, R"({"name":"first"})")];
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(table.intern(Json{{"i", i}}));
  EXPECT_EQ(first.name, "first");
  const AnnotationTable moved = std::move(table);
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(&moved[AnnotationId{1}], &first);
}

TEST(RegionComponents, QualifiedNamesAddOnlyTheirRest) {
  const auto components = [](Strings path, std::string name = {}) {
    Annotation annotation;
    annotation.path = std::move(path);
    annotation.name = std::move(name);
    return region_components(annotation);
  };
  EXPECT_EQ(components({"model.layers.0", "model.layers.0.mlp", "gelu"}), (Strings{"model", "layers", "0", "mlp", "gelu"}));
  EXPECT_EQ(components({"a", "a"}), (Strings{"a", "a"}));
  EXPECT_EQ(components({"a", "ab.c"}), (Strings{"a", "ab", "c"}));
  EXPECT_EQ(components({"a", "b", "a.b.c"}), (Strings{"a", "b", "c"}));
  EXPECT_EQ(components({"a", "", "b"}), (Strings{"a", "b"}));
  EXPECT_EQ(components({}, "x.y"), (Strings{"x", "y"}));
  EXPECT_EQ(components({"p"}, "x.y"), Strings{"p"});
  EXPECT_EQ(components({}), Strings{});
  EXPECT_EQ(components({"a..b."}), (Strings{"a", "", "b", ""}));
}

}  // namespace
}  // namespace graphtag
