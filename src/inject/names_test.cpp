#include "inject/names.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/inject/nvtx_program.h"

namespace graphtag::inject {
namespace {

using nlohmann::json;

json annotation_of(Names& names, const Domain& domain, const nvtx::EventAttributes& event, Within within = {}) {
  const Label* label = names.label(domain, read_attributes(&event), within);
  return label == nullptr || label->json.empty() ? json() : json::parse(label->json);
}

TEST(Labels, AreAnnotations) {
  Names names;
  Domain& nccl = names.create_domain(text_of("NCCL"));
  names.name_category(nccl, 3, text_of("collective"));
  nvtx::EventAttributes event = event_of("all_reduce \"sum\"\n");
  event.category = 3;
  event.payload_type = nvtx::PayloadType::u64;
  event.payload.u64 = 18'446'744'073'709'551'615u;
  EXPECT_EQ(annotation_of(names, nccl, event), json::parse(R"({"name": "all_reduce \"sum\"\n", "nvtx_domain": "NCCL",
      "nvtx_category": "collective", "nvtx_payload": 18446744073709551615})"));
  EXPECT_EQ(annotation_of(names, names.domain(nullptr), event_of("step")), json::parse(R"({"name": "step"})"));
  EXPECT_EQ(annotation_of(names, names.domain(nullptr), event_of("step"), {.other_domain = true}),
            json::parse(R"({"name": "step", "nvtx_domain": "default"})"))
      << "or the domain of the range around it would show through";
  EXPECT_EQ(annotation_of(names, nccl, event_of("step"), {.others_category = true}),
            json::parse(R"({"name": "step", "nvtx_domain": "NCCL", "nvtx_category": 0})"))
      << "or the category of the range around it would";
  EXPECT_EQ(annotation_of(names, nccl, event, {.others_category = true})["nvtx_category"], "collective");
}

TEST(Labels, HaveThePayloadOfEachType) {
  Names names;
  nvtx::EventAttributes event = event_of("x");
  const auto payload = [&](nvtx::PayloadType type) {
    event.payload_type = type;
    return annotation_of(names, names.domain(nullptr), event).value("nvtx_payload", json());
  };
  event.payload.i64 = -5;
  EXPECT_EQ(payload(nvtx::PayloadType::i64), -5);
  event.payload.u64 = 0xdead'beef'0000'0007;
  EXPECT_EQ(payload(nvtx::PayloadType::u32), 7) << "the lower half alone";
  event.payload.u64 = 0xdead'beef'ffff'ffff;
  EXPECT_EQ(payload(nvtx::PayloadType::i32), -1);
  event.payload.f64 = 0.1;
  EXPECT_EQ(payload(nvtx::PayloadType::f64), 0.1);
  event.payload.f32 = 1.5f;
  EXPECT_EQ(payload(nvtx::PayloadType::f32), 1.5);
  EXPECT_EQ(payload(nvtx::PayloadType::none), json());
  EXPECT_EQ(payload(static_cast<nvtx::PayloadType>(77)), json()) << "of an NVTX to come";
}

TEST(Labels, AreTheSameObjectForTheSameRange) {
  Names names;
  const Domain& domain = names.domain(nullptr);
  const auto label = [&](const nvtx::EventAttributes& event) { return names.label(domain, read_attributes(&event), {}); };
  nvtx::EventAttributes wide = event_of("");
  wide.message_type = nvtx::MessageType::wide;
  wide.message.wide = L"step";
  nvtx::EventAttributes registered = event_of("");
  registered.message_type = nvtx::MessageType::registered;
  registered.message.registered = &names.register_string(domain, text_of("step"));
  EXPECT_EQ(label(event_of("step")), label(event_of("step")));
  EXPECT_EQ(label(event_of("step")), label(wide));
  EXPECT_EQ(label(event_of("step")), label(registered));
  EXPECT_NE(label(event_of("step")), label(event_of("stem")));
  nvtx::EventAttributes with_category = event_of("step");
  with_category.category = 9;
  const Label* numbered = label(with_category);
  EXPECT_EQ(json::parse(numbered->json)["nvtx_category"], 9);
  names.name_category(domain, 9, text_of("nine"));
  EXPECT_EQ(json::parse(label(with_category)->json)["nvtx_category"], "nine") << "named later";
}

TEST(Labels, WithoutAnythingToSayHaveNoAnnotation) {
  Names names;
  nvtx::EventAttributes event{};
  event.size = sizeof event;
  EXPECT_EQ(annotation_of(names, names.domain(nullptr), event), json());
  EXPECT_EQ(names.label(names.domain(nullptr), read_attributes(nullptr), {})->json, "");
  EXPECT_EQ(names.label(names.domain(nullptr), read_attributes(nullptr), {})->text, "");
}

TEST(Attributes, OfAShorterLayoutAreReadAsFarAsTheyGo) {
  nvtx::EventAttributes event = event_of("never looked at");
  event.category = 3;
  event.size = 8;  // as far as the category
  const Attributes read = read_attributes(&event);
  EXPECT_EQ(read.category, 3u);
  EXPECT_EQ(read.text, "");
}

TEST(Labels, AreMendedAndCounted) {
  Names names;
  EXPECT_EQ(annotation_of(names, names.domain(nullptr), event_of("caf\xe9"))["name"], "caf\xef\xbf\xbd");
  annotation_of(names, names.domain(nullptr), event_of("caf\xe9"));
  EXPECT_EQ(names.counts().texts_mended, 1u) << "each distinct text once";
  annotation_of(names, names.domain(nullptr), event_of(std::string(10'000, 'x').c_str()));
  EXPECT_EQ(names.counts().texts_cut, 1u);
}

TEST(Labels, AreBounded) {
  Names names;
  const Domain& domain = names.domain(nullptr);
  nvtx::EventAttributes step = event_of("step");
  step.payload_type = nvtx::PayloadType::u64;
  std::size_t with_payload = 0;
  for (std::uint64_t i = 0; i < kLabelsWithPayloadMax + 10; ++i) {
    step.payload.u64 = i;
    if (annotation_of(names, domain, step).contains("nvtx_payload")) ++with_payload;
  }
  EXPECT_EQ(with_payload, kLabelsWithPayloadMax);
  EXPECT_EQ(names.counts().payloads_left_out, 10u);
  EXPECT_EQ(annotation_of(names, domain, step), json::parse(R"({"name": "step"})")) << "the text stays";
  std::size_t refused = 0;
  for (std::size_t i = 0; i < kLabelsMax; ++i) {
    if (annotation_of(names, domain, event_of(("text " + std::to_string(i)).c_str())).is_null()) ++refused;
  }
  EXPECT_GT(refused, kLabelsMax / 3);
  EXPECT_EQ(names.counts().labels_refused, refused);
  EXPECT_EQ(annotation_of(names, domain, event_of("text 0"))["name"], "text 0") << "known ones stay known";
}

TEST(Labels, OfLongTextsTakeBoundedMemory) {
  Names names;
  std::size_t kept = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!annotation_of(names, names.domain(nullptr), event_of((std::string(4000, 'x') + std::to_string(i)).c_str())).is_null())
      ++kept;
  }
  EXPECT_LT(kept * 3 * 4000, kLabelBytesMax + 3 * 4200);
  EXPECT_EQ(names.counts().labels_refused, 10'000u - kept);
}

TEST(Domains, AreOneByName) {
  Names names;
  Domain& first = names.create_domain(text_of("NCCL"));
  EXPECT_EQ(&names.create_domain(text_of(L"NCCL")), &first);
  EXPECT_NE(&names.create_domain(text_of("CCCL")), &first);
  EXPECT_EQ(&names.domain(&first), &first);
  EXPECT_EQ(names.domain(nullptr).id, 0u);
}

TEST(Domains, CategoriesAndStringsAreBounded) {
  Names names;
  for (std::size_t i = 0; i < kDomainsMax; ++i) names.create_domain(text_of(("d" + std::to_string(i)).c_str()));
  EXPECT_EQ(&names.create_domain(text_of("one more")), &names.domain(nullptr));
  EXPECT_EQ(names.counts().others_refused, 1u);
  for (std::uint32_t i = 1; i <= kCategoriesMax + 5; ++i) names.name_category(names.domain(nullptr), i, text_of("c"));
  EXPECT_EQ(names.counts().others_refused, 6u);
  for (std::size_t i = 0; i < kStringsMax; ++i) names.register_string(names.domain(nullptr), text_of(std::to_string(i).c_str()));
  EXPECT_EQ(names.register_string(names.domain(nullptr), text_of("one more")).utf8, "(more than 65536 registered strings)");
  EXPECT_EQ(names.counts().others_refused, 7u);
  EXPECT_EQ(names.register_string(names.domain(nullptr), text_of("12")).utf8, "12");
}

TEST(Domains, ThatAreNotWantedAreKnown) {
  Names names(std::vector<std::string>{"NCCL"});
  EXPECT_TRUE(names.create_domain(text_of("NCCL")).is_wanted);
  EXPECT_FALSE(names.create_domain(text_of("other")).is_wanted);
  EXPECT_FALSE(names.domain(nullptr).is_wanted);
  EXPECT_TRUE(Names(std::vector<std::string>{"default"}).domain(nullptr).is_wanted);
}

}  // namespace
}  // namespace graphtag::inject
