#include "record/kernel_names.h"

#include <gtest/gtest.h>

#include <string>

namespace graphtag {
namespace {

TEST(KernelNames, AreWrittenAsPeopleWriteThem) {
  KernelNames names;
  EXPECT_EQ(names.of("_Z4gemmIfEvPT_").text, "void gemm<float>(float*)");
  EXPECT_EQ(names.of("triton_poi_fused_add_0").text, "triton_poi_fused_add_0");
  EXPECT_EQ(names.of("_Znonsense").text, "_Znonsense");
  EXPECT_EQ(names.of("").text, "");
  EXPECT_EQ(names.of(nullptr).text, "?");
  EXPECT_EQ(names.of(nullptr).text, "?");
}

TEST(KernelNames, AnAddressThatComesBackWithAnotherTextIsAnotherName) {
  KernelNames names;
  char text[] = "first";
  EXPECT_EQ(names.of(text).text, "first");
  text[0] = 'b';
  EXPECT_EQ(names.of(text).text, "birst");
  text[0] = 'f';
  EXPECT_EQ(names.of(text).text, "first");
}

TEST(KernelNames, MoreThanFitAreForgottenAndFoundAgain) {
  KernelNames names;
  const std::string pad(10000, 'x');
  for (int i = 0; i < 2000; ++i) {
    const std::string name = std::to_string(i) + pad;
    EXPECT_EQ(names.of(name.c_str()).text, name);
  }
  EXPECT_EQ(names.of("0").text, "0");
}

}  // namespace
}  // namespace graphtag
