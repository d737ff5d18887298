// The doctor, and how the libraries are found.
#include <dlfcn.h>

#include "tests/capi/fixture.h"

namespace graphtag::capi {
namespace {

using testing::HasSubstr;

class Doctor : public WithFakeCuda {};

TEST_F(Doctor, FindsTheCopiesThatAreMapped) {
  const nlohmann::json report = doctor(0);
  EXPECT_EQ(report["graphtag"], "0.1.0");
  EXPECT_EQ(report["works"], true);
  EXPECT_EQ(report["observer"], "callbacks");
  EXPECT_EQ(report["cuda"]["path"], GRAPHTAG_FAKE_DIR "/libcuda.so.1");
  EXPECT_EQ(report["cuda"]["version"], "13.0");
  EXPECT_EQ(report["cuda"]["was_mapped"], true);
  EXPECT_EQ(report["cupti"]["path"], GRAPHTAG_FAKE_DIR "/libcupti.so.13");
  EXPECT_EQ(report["cupti"]["version"], "13.0.1");
  EXPECT_EQ(report["cupti"]["other_copies"], nlohmann::json::array());
  EXPECT_EQ(report["subscription"]["state"], "not tried");
  EXPECT_EQ(report["devices"], nlohmann::json::array({"GPU-01010101-0101-0101-0101-010101010101"}));
  std::map<std::string, std::string> states;  // entry point -> state
  for (const nlohmann::json& entry : report["entry_points"]) states[entry["name"]] = entry["state"];
  EXPECT_EQ(states["cuptiGetGraphNodeId"], "works");
  EXPECT_EQ(states["cuptiGetGraphExecId"], "works");
  EXPECT_EQ(states["cuStreamGetCaptureInfo_v3"], "found");
  EXPECT_EQ(states["cuGraphNodeGetToolsId"], "missing");
}

TEST_F(Doctor, SaysWhoHoldsTheSubscription) {
  EXPECT_EQ(doctor(GT_DOCTOR_TRY_SUBSCRIBE)["subscription"]["state"], "free");
  EXPECT_FALSE(cuda().has_subscriber()) << "it was only looked at";
  ASSERT_TRUE(cuda().take_subscription());
  const nlohmann::json report = doctor(GT_DOCTOR_TRY_SUBSCRIBE);
  EXPECT_EQ(report["subscription"]["state"], "held");
  EXPECT_EQ(report["subscription"]["holder"], "CUPTI for somebody else");
  EXPECT_EQ(report["observer"], "boundary");
  ASSERT_EQ(report["findings"].size(), 1U);
  EXPECT_EQ(report["findings"][0]["level"], "warning");
  EXPECT_THAT(report["findings"][0]["what"], HasSubstr("CUPTI for somebody else"));
  EXPECT_FALSE(report["findings"][0]["do"].get<std::string>().empty());
  EXPECT_TRUE(cuda().release_subscription());
  open_window(GT_OBSERVER_CALLBACKS);
  EXPECT_EQ(doctor(GT_DOCTOR_TRY_SUBSCRIBE)["subscription"]["state"], "held by graphtag");
}

TEST_F(Doctor, RefusesFlagsItDoesNotKnow) {
  size_t length = 0;
  EXPECT_EQ(gt_doctor_json(4, nullptr, 0, &length), GT_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace graphtag::capi
