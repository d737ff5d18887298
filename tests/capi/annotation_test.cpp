// gt_annotation, texts out, errors.
#include <thread>

#include "tests/capi/fixture.h"

extern "C" int graphtag_c_abi(void);

namespace graphtag::capi {
namespace {

using testing::HasSubstr;

class CAbi : public WithFakeCuda {};

TEST_F(CAbi, EveryFunctionCanBeCalledFromC) {
  EXPECT_EQ(graphtag_c_abi(), 0);
}

class Annotations : public WithFakeCuda {};

TEST_F(Annotations, OfANameAndOfJsonAreOneIfTheyAreTheSameObject) {
  gt_annotation by_name{0};
  ASSERT_EQ(gt_annotation_from_name("attention, not this", 9, &by_name), GT_OK);
  EXPECT_EQ(json_of(by_name), R"({"name":"attention"})");
  EXPECT_EQ(annotation(R"({"name":"attention"})").value, by_name.value);
  EXPECT_EQ(annotation(R"("attention")").value, by_name.value);
  EXPECT_EQ(annotation(R"({"b":1,"a":2.5})").value, annotation(R"({ "a" : 2.5, "b" : 1 })").value);
  EXPECT_NE(annotation(R"({"a":1})").value, annotation(R"({"a":1.0})").value);
}

TEST_F(Annotations, MergeInnerOverOuterAndKeepThePath) {
  gt_annotation merged{0};
  ASSERT_EQ(gt_annotation_merge(annotation(R"({"name":"decoder","bs":8})"), annotation(R"("attention")"), &merged), GT_OK);
  const auto object = nlohmann::json::parse(json_of(merged, GT_JSON_PATH));
  EXPECT_EQ(object, nlohmann::json::parse(R"({"name":"attention","bs":8,"graphtag.path":["decoder","attention"]})"));
  EXPECT_EQ(nlohmann::json::parse(json_of(merged)), nlohmann::json::parse(R"({"name":"attention","bs":8})"));
  gt_annotation same{1};
  ASSERT_EQ(gt_annotation_merge(merged, gt_annotation{0}, &same), GT_OK);
  EXPECT_EQ(same.value, merged.value);
}

TEST_F(Annotations, ThatAreNoneAreRefused) {
  gt_annotation out{7};
  EXPECT_EQ(gt_annotation_from_json("[1]", GT_NUL, &out), GT_ERROR_MALFORMED);
  EXPECT_EQ(gt_annotation_from_json("{\"a\":", GT_NUL, &out), GT_ERROR_MALFORMED);
  EXPECT_THAT(gt_last_error(), HasSubstr("offset"));
  EXPECT_EQ(gt_annotation_from_json("{\"a\":\"\xff\"}", GT_NUL, &out), GT_ERROR_MALFORMED);
  EXPECT_EQ(gt_annotation_from_json((std::string(65, '[') + std::string(65, ']')).c_str(), GT_NUL, &out), GT_ERROR_TOO_LARGE);
  EXPECT_EQ(gt_annotation_from_json((R"({"a":")" + std::string(1 << 20, 'x') + R"("})").c_str(), GT_NUL, &out),
            GT_ERROR_TOO_LARGE);
  EXPECT_EQ(gt_annotation_from_json(nullptr, GT_NUL, &out), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_annotation_from_json("{}", GT_NUL, nullptr), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_annotation_from_name("", 0, &out), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_annotation_from_name(nullptr, 0, &out), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_annotation_from_name("\xc3\x28", GT_NUL, &out), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(out.value, 7U) << "a failing call writes nothing";
}

TEST_F(Annotations, AHandleThatIsNoneIsFoundOut) {
  gt_annotation out{0};
  size_t length = 0;
  const gt_annotation good = annotation(R"("attention")");
  for (const std::uint64_t value :
       {std::uint64_t{1}, good.value + (std::uint64_t{1} << 32), good.value + 1'000'000, ~std::uint64_t{0}}) {
    EXPECT_EQ(gt_annotation_merge({value}, good, &out), GT_ERROR_INVALID_HANDLE) << value;
    EXPECT_EQ(gt_annotation_json({value}, 0, nullptr, 0, &length), GT_ERROR_INVALID_HANDLE) << value;
  }
}

TEST_F(Annotations, TextsOutNeedRoomForTheirNul) {
  const gt_annotation made = annotation(R"({"name":"attention"})");  // 20 bytes
  size_t length = 0;
  EXPECT_EQ(gt_annotation_json(made, 0, nullptr, 0, &length), GT_OK);
  EXPECT_EQ(length, 20U);
  std::string buffer(40, '#');
  length = 0;
  EXPECT_EQ(gt_annotation_json(made, 0, buffer.data(), 20, &length), GT_ERROR_BUFFER_TOO_SMALL);
  EXPECT_EQ(length, 20U);
  EXPECT_EQ(buffer, std::string(40, '#'));
  EXPECT_EQ(gt_annotation_json(made, 0, buffer.data(), 21, &length), GT_OK);
  EXPECT_EQ(buffer.substr(0, 22), std::string(R"({"name":"attention"})") + '\0' + '#');
  EXPECT_EQ(gt_annotation_json(made, 0, nullptr, 21, &length), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_annotation_json(made, 0, buffer.data(), 21, nullptr), GT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gt_annotation_json(made, 2, buffer.data(), 21, &length), GT_ERROR_INVALID_ARGUMENT) << "an unknown flag";
}

TEST_F(Annotations, TheLastErrorIsTheThreads) {
  size_t length = 0;
  ASSERT_EQ(gt_annotation_json({1}, 0, nullptr, 0, &length), GT_ERROR_INVALID_HANDLE);
  const std::string mine = gt_last_error();
  EXPECT_THAT(mine, HasSubstr("gt_annotation"));
  std::thread([] {
    EXPECT_STREQ(gt_last_error(), "");
    EXPECT_EQ(gt_available(77), GT_ERROR_INVALID_ARGUMENT);
  }).join();
  EXPECT_EQ(gt_last_error(), mine);
  EXPECT_EQ(gt_forget(), GT_OK);
  EXPECT_EQ(gt_last_error(), mine) << "a call that works leaves it";
}

TEST_F(CAbi, NamesAllStatusesAndOrigins) {
  EXPECT_STREQ(gt_status_name(GT_OK), "GT_OK");
  EXPECT_STREQ(gt_status_name(GT_ERROR_TOO_LARGE), "GT_ERROR_TOO_LARGE");
  EXPECT_EQ(gt_status_name(-1), nullptr);
  EXPECT_EQ(gt_status_name(GT_ERROR_REFUSED + 1), nullptr);
  EXPECT_STREQ(gt_origin_name(GT_ORIGIN_CALLBACK), "callback");
  EXPECT_STREQ(gt_origin_name(GT_ORIGIN_UNKNOWN_GRAPH), "unknown-graph");
  EXPECT_STREQ(gt_origin_name(GT_ORIGIN_OUTSIDE_SCOPE_APPROXIMATE), "outside-scope-approximate");
  EXPECT_EQ(gt_origin_name(GT_ORIGIN_OUTSIDE_SCOPE_APPROXIMATE + 1), nullptr);
}

}  // namespace
}  // namespace graphtag::capi
