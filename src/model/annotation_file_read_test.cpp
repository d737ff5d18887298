// Telling formats apart.
#include <gtest/gtest.h>

#include <string>

#include "model/annotation_file.h"

namespace graphtag {
namespace {

std::string format_of(const std::string& content) {
  const auto file = parse_annotation_file(content, "x");
  EXPECT_TRUE(file) << file.error().to_string();
  return file ? file->format : std::string();
}

TEST(ReadAnnotationFile, FormatsAreToldApartByContent) {
  EXPECT_EQ(format_of(R"({"schema":"graphtag.annotations/1"})"), "graphtag.annotations/1");
  EXPECT_EQ(format_of("\xef\xbb\xbf\n {\"schema\":\"graphtag.annotations/1\"}\n"), "graphtag.annotations/1");
  EXPECT_EQ(format_of("{}"), "torch json");
  EXPECT_EQ(format_of("[]"), "torch json");
  EXPECT_EQ(format_of("\x80\x04}."), "torch pickle");
  EXPECT_EQ(format_of("(dp0\n."), "torch pickle");
  EXPECT_EQ(format_of("}q\x01."), "torch pickle");
}

TEST(ReadAnnotationFile, OtherFilesAreNamedForWhatTheyAre) {
  struct Row {
    std::string content;
    ErrorCode code;
    const char* said;
  };
  const std::string zip = "PK\x03\x04 and more";
  const Row rows[] = {
      {"", ErrorCode::malformed, "empty"},
      {" \n", ErrorCode::malformed, "empty"},
      {"\x1f\x8b\x08 and more", ErrorCode::unsupported, "gunzip"},
      {zip, ErrorCode::unsupported, "torch.save"},
      {R"({"traceEvents":[]})", ErrorCode::unsupported, "trace"},
      {R"({"schema":"graphtag.annotations/2"})", ErrorCode::unsupported, "use the graphtag that wrote it"},
      {R"({"schema":"graphtag.report/1"})", ErrorCode::unsupported, "graphtag.report/1"},
      {R"({"schema":7})", ErrorCode::unsupported, "expected JSON"},
      {"hello", ErrorCode::unsupported, "expected JSON"},
      {"\x7f"
       "ELF",
       ErrorCode::unsupported, "expected JSON"},
  };
  for (const Row& row : rows) {
    const auto file = parse_annotation_file(row.content, "x.bin");
    ASSERT_FALSE(file) << row.content;
    EXPECT_EQ(file.error().code, row.code) << row.content;
    EXPECT_NE(file.error().message.find(row.said), std::string::npos) << file.error().message;
    EXPECT_EQ(file.error().file, "x.bin");
  }
}

TEST(ReadAnnotationFile, JsonErrorsHaveAnOffset) {
  const auto file = parse_annotation_file(R"({"schema":"graphtag.annotations/1",})", "x.json");
  ASSERT_FALSE(file);
  ASSERT_TRUE(file.error().offset);
  EXPECT_EQ(*file.error().offset, 35u);
}

TEST(ReadAnnotationFile, AMissingFileIsNotFound) {
  const auto file = read_annotation_file("/nonexistent/annotations.json");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::not_found);
  EXPECT_EQ(file.error().file, "/nonexistent/annotations.json");
}

TEST(ReadAnnotationFile, BeyondTheSizeLimitNothingIsRead) {
  const std::string content((std::size_t{256} << 20) + 1, ' ');
  const auto file = parse_annotation_file(content, "x");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::too_large);
}

}  // namespace
}  // namespace graphtag
