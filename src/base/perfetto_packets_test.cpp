#include "base/perfetto_packets.h"

#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>

namespace graphtag {
namespace {

struct Packet {
  std::uint64_t timestamp = 0;
  std::uint32_t sequence = 0, flags = 0;
  std::vector<std::pair<std::uint64_t, std::string>> declared;  // number, text
  std::string event, track;
};

std::vector<Packet> read_packets(const std::string& trace) {
  std::vector<Packet> packets;
  protozero::pbf_reader reader{trace};
  while (reader.next(1)) {
    Packet packet;
    protozero::pbf_reader fields = reader.get_message();
    while (fields.next()) {
      if (fields.tag() == 8) {
        packet.timestamp = fields.get_uint64();
      } else if (fields.tag() == 10) {
        packet.sequence = fields.get_uint32();
      } else if (fields.tag() == 13) {
        packet.flags = fields.get_uint32();
      } else if (fields.tag() == 11) {
        packet.event = fields.get_string();
      } else if (fields.tag() == 60) {
        packet.track = fields.get_string();
      } else if (fields.tag() == 12) {
        protozero::pbf_reader interned = fields.get_message();
        while (interned.next()) {
          protozero::pbf_reader entry = interned.get_message();
          entry.next(1);
          const auto id = entry.get_uint64();
          entry.next(2);
          packet.declared.emplace_back(id, entry.get_string());
        }
      } else {
        fields.skip();
      }
    }
    packets.push_back(packet);
  }
  return packets;
}

TEST(InternedStrings, NumbersCountOverAllKindsAndStopAtTheBudget) {
  InternedStrings strings{200};
  EXPECT_EQ(strings.intern(InternedKind::event_name, "gemm"), 1u);
  EXPECT_EQ(strings.intern(InternedKind::arg_name, "gemm"), 2u);
  EXPECT_EQ(strings.intern(InternedKind::event_name, "gemm"), 1u);
  EXPECT_EQ(strings.intern(InternedKind::event_name, std::string(101, 'x')), 0u);
  EXPECT_EQ(strings.text_of(2), "gemm");
  EXPECT_EQ(strings.kind_of(2), InternedKind::arg_name);
  EXPECT_EQ(strings.size(), 2u);
}

TEST(PacketSequence, DeclaresAStringOnceInEachSequence) {
  InternedStrings strings;
  EventEncoder encoder{strings};
  encoder.category("kernel");
  encoder.name("gemm");
  std::string trace;
  PacketSequence first{5, strings}, second{6, strings};
  const TrackEvent event{TrackEventType::slice_begin, 1000, 3, {}, {}, encoder.body(), encoder.used()};
  first.append(trace, event);
  first.append(trace, event);
  second.append(trace, event);
  PacketSequence::append_self_contained(trace, 7, strings, event);
  PacketSequence::append_self_contained(trace, 7, strings, event);
  const auto packets = read_packets(trace);
  ASSERT_EQ(packets.size(), 5u);
  const std::vector<std::pair<std::uint64_t, std::string>> both{{1, "kernel"}, {2, "gemm"}};
  EXPECT_EQ(packets[0].declared, both);
  EXPECT_TRUE(packets[1].declared.empty());
  EXPECT_EQ(packets[2].declared, both);
  EXPECT_EQ(packets[3].declared, both);
  EXPECT_EQ(packets[4].declared, both);
  EXPECT_EQ(packets[0].flags, 3u);  // state cleared, state needed
  EXPECT_EQ(packets[1].flags, 2u);
  EXPECT_EQ(packets[2].flags, 3u);
  EXPECT_EQ(packets[4].flags, 3u);
  EXPECT_EQ(packets[0].sequence, 5u);
  EXPECT_EQ(packets[2].sequence, 6u);
  EXPECT_EQ(packets[1].timestamp, 1000u);
}

TEST(EventEncoder, UsesAStringOnceHoweverOftenItStands) {
  InternedStrings strings;
  EventEncoder encoder{strings};
  {
    auto args = encoder.args();
    auto outer = args.dict("a");
    outer.integer("a", 1);
    auto inner = outer.array("b");
    inner.string("", "a");
    auto element = inner.dict("");  // has no name, so none is interned
    element.boolean("a", true);
  }
  EXPECT_EQ(encoder.used().size(), 3u);  // arg name a, arg name b, arg string a
  encoder.clear();
  EXPECT_TRUE(encoder.body().empty());
  EXPECT_TRUE(encoder.used().empty());
}

TEST(EventEncoder, WritesStringsInFullOnceTheBudgetIsSpent) {
  InternedStrings strings{0};
  EventEncoder encoder{strings};
  encoder.name("gemm");
  EXPECT_TRUE(encoder.used().empty());
  protozero::pbf_reader event{encoder.body().data(), encoder.body().size()};
  ASSERT_TRUE(event.next(23));
  EXPECT_EQ(event.get_string(), "gemm");
}

TEST(AppendTrack, SiblingsMergeByKeyAndThreadsDoNotMerge) {
  std::string trace;
  TrackDescription stream, worker;
  stream.uuid = 4;
  stream.parent = 2;
  stream.name = "stream 7";
  stream.merge_key = "s7";
  worker.uuid = 5;
  worker.parent = 2;
  worker.thread = ThreadIdentity{10, 11, "worker"};
  append_track(trace, 1, stream);
  append_track(trace, 1, worker);
  const auto packets = read_packets(trace);
  ASSERT_EQ(packets.size(), 2u);
  protozero::pbf_reader merged{packets[0].track};
  ASSERT_TRUE(merged.next(15));
  EXPECT_EQ(merged.get_enum(), 3);
  ASSERT_TRUE(merged.next(16));
  EXPECT_EQ(merged.get_string(), "s7");
  protozero::pbf_reader thread{packets[1].track};
  EXPECT_FALSE(thread.next(15));
}

}  // namespace
}  // namespace graphtag
