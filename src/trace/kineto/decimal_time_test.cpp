#include "trace/kineto/decimal_time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace graphtag::kineto {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Nanoseconds, AsProfilersWriteThem) {
  EXPECT_EQ(nanoseconds("5171545680343.69"), 5171545680343690);
  EXPECT_EQ(nanoseconds("5171547403248.294"), 5171547403248294);
  EXPECT_EQ(nanoseconds("0"), 0);
  EXPECT_EQ(nanoseconds("0.0"), 0);
  EXPECT_EQ(nanoseconds("2"), 2000);
  EXPECT_EQ(nanoseconds("-1.5"), -1500);
  EXPECT_EQ(nanoseconds("17056.9267578125"), 17056927);  // .9267578125: the fourth decimal is 7
}

TEST(Nanoseconds, HalvesGoAwayFromZero) {
  EXPECT_EQ(nanoseconds("1.0004"), 1000);
  EXPECT_EQ(nanoseconds("1.0005"), 1001);
  EXPECT_EQ(nanoseconds("1.00049999999999999999999999"), 1000);
  EXPECT_EQ(nanoseconds("-1.0005"), -1001);
  EXPECT_EQ(nanoseconds("-1.0004"), -1000);
  EXPECT_EQ(nanoseconds("0.9999"), 1000);
  EXPECT_EQ(nanoseconds("0.0005"), 1);
  EXPECT_EQ(nanoseconds("0.00049"), 0);
}

TEST(Nanoseconds, DoublesWouldRoundThese) {
  // 2^53 nanoseconds is 104 days: these have no double of their own.
  EXPECT_EQ(nanoseconds("9007199254740.993"), 9007199254740993);
  EXPECT_EQ(nanoseconds("1790857026000000.001"), 1790857026000000001);
}

TEST(Nanoseconds, Exponents) {
  EXPECT_EQ(nanoseconds("1e3"), 1000000);
  EXPECT_EQ(nanoseconds("1.5E+2"), 150000);
  EXPECT_EQ(nanoseconds("12345e-3"), 12345);
  EXPECT_EQ(nanoseconds("12345e-4"), 1235);  // 1234.5
  EXPECT_EQ(nanoseconds("5e-4"), 1);
  EXPECT_EQ(nanoseconds("5e-5"), 0);
  EXPECT_EQ(nanoseconds("0.00000517154568034369e18"), 5171545680343690);
  EXPECT_EQ(nanoseconds("0e999999999999999999999"), 0);
  EXPECT_EQ(nanoseconds("1e-999999999999999999999"), 0);
  EXPECT_EQ(nanoseconds("1e999999999999999999999"), std::nullopt);
}

TEST(Nanoseconds, TheLimits) {
  EXPECT_EQ(nanoseconds("9223372036854775.807"), kMax);
  EXPECT_EQ(nanoseconds("9223372036854775.8074"), kMax);
  EXPECT_EQ(nanoseconds("9223372036854775.8075"), std::nullopt);
  EXPECT_EQ(nanoseconds("9223372036854775.808"), std::nullopt);
  EXPECT_EQ(nanoseconds("-9223372036854775.808"), kMin);
  EXPECT_EQ(nanoseconds("-9223372036854775.8085"), std::nullopt);
  EXPECT_EQ(nanoseconds("99999999999999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds(std::string(1000, '9')), std::nullopt);
  EXPECT_EQ(nanoseconds("0." + std::string(1000, '0') + "9e1000"), 900);
}

}  // namespace
}  // namespace graphtag::kineto
