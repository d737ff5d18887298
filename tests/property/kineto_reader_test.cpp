// The fast reader, the plain one, and any split of the input give the same, for clean and for damaged traces.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/read_everything.h"
#include "tests/support/valid_json.h"

namespace graphtag {
namespace {

using test::difference;
using test::Everything;
using test::read_everything;

const std::string kGolden = std::string(GRAPHTAG_SOURCE_DIR) + "/tests/golden/h200/";

// The first and last events of a trace: quicker than all of them.
std::string shortened(std::string content) {
  constexpr std::size_t kHalf = 12000;
  if (content.size() < 3 * kHalf) return content;
  const auto event_before = [&](std::size_t place) { return content.rfind('{', content.rfind("\"ph\"", place)); };
  const std::size_t cut = event_before(kHalf);
  content.erase(cut, event_before(content.size() - kHalf) - cut);
  return content;
}

// As objects and as bare arrays.
const std::vector<std::string>& traces() {
  static const std::vector<std::string> kTraces = [] {
    std::vector<std::string> all;
    for (const char* file :
         {"two_phases.json.gz", "three_graphs.reference.json.gz", "train_step_cuspy.json.gz", "lanes.json.gz"}) {
      all.push_back(shortened(test::content_of(kGolden + file)));
      const std::size_t array = all.back().find('[', all.back().find("\"traceEvents\""));
      all.push_back(all.back().substr(array, all.back().rfind(']') + 1 - array));
    }
    return all;
  }();
  return kTraces;
}

struct Mutation {
  std::uint32_t place = 0;
  std::uint32_t kind = 0;
  std::uint32_t byte = 0;
  std::uint32_t length = 0;
};

// Bytes and pieces that mean something to JSON more often than chance would have it.
const std::vector<std::string> kPieces = {"\"",        "\\",
                                          "{",         "}",
                                          "[",         "]",
                                          ",",         ":",
                                          "\n",        std::string(1, '\0'),
                                          "\x80",      "\t",
                                          "NaN",       "01",
                                          "1e",        "-",
                                          "}]}",       "},",
                                          ",,",        "1",
                                          " ",         "\xEF\xBB\xBF",
                                          "null",      "\"\"",
                                          "[[",        "{{",
                                          "\\u12",     "\\ud800",
                                          "\\x",       "-Infinity",
                                          "{\"ph\":1", "},\n{",
                                          "\"args\"",  "\"ph\":",
                                          "0.5",       "99999999999999999999"};

void mutate(std::string& text, const Mutation& mutation) {
  if (text.empty()) return;
  const std::size_t place = mutation.place % text.size();
  const std::string& piece = kPieces[mutation.byte % kPieces.size()];
  switch (mutation.kind) {
    case 0:
      text[place] = static_cast<char>(mutation.byte);
      break;
    case 1:
      text[place] = static_cast<char>(text[place] ^ (1 << mutation.byte % 8));
      break;
    case 2:
      text.insert(place, piece);
      break;
    case 3:
      text.replace(place, 1, piece);
      break;
    case 4:
      text.erase(place, mutation.byte % 2 == 0 ? 1 : mutation.length);
      break;
    case 5:
      text.insert(place, text.substr(mutation.byte % text.size(), mutation.length));
      break;
    default:
      if (mutation.byte % 4 == 0) text.resize(place);
  }
}

rc::Gen<Mutation> any_mutation() {
  return rc::gen::build<Mutation>(rc::gen::set(&Mutation::place, rc::gen::arbitrary<std::uint32_t>()),
                                  rc::gen::set(&Mutation::kind, rc::gen::inRange<std::uint32_t>(0, 7)),
                                  rc::gen::set(&Mutation::byte, rc::gen::inRange<std::uint32_t>(0, 1024)),
                                  rc::gen::set(&Mutation::length, rc::gen::inRange<std::uint32_t>(1, 40)));
}

std::string any_damaged_trace() {
  std::string text = traces()[*rc::gen::inRange<std::size_t>(0, traces().size())];
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, 6);
  for (std::size_t i = 0; i < count; ++i) {
    // Full range whatever the size that rapidcheck has grown to: a small place would always be in the head.
    Mutation mutation = *any_mutation();
    mutation.place = *rc::gen::inRange<std::uint32_t>(0, 1U << 30);
    mutate(text, mutation);
  }
  return text;
}

std::vector<std::size_t> any_chunks() {
  return *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 3000));
}

KinetoOptions plain(KinetoOptions options = {}) {
  options.fast = false;
  return options;
}

RC_GTEST_PROP(KinetoReader, FastEqualsPlain, ()) {
  for (int i = 0; i < 20; ++i) {
    const std::string text = any_damaged_trace();
    RC_ASSERT(difference(read_everything(text), read_everything(text, plain())) == "");
  }
}

RC_GTEST_PROP(KinetoReader, AnySplitGivesTheSame, ()) {
  for (int i = 0; i < 5; ++i) {
    const std::string text = any_damaged_trace();
    const auto chunks = any_chunks();
    KinetoOptions small;
    small.window_bytes = *rc::gen::element<std::size_t>(16, 100, 777, 4096, 20000);
    const Everything whole = read_everything(text, plain());
    RC_ASSERT(difference(whole, read_everything(text, {}, chunks)) == "");
    RC_ASSERT(difference(whole, read_everything(text, small, chunks)) == "");
    RC_ASSERT(difference(whole, read_everything(text, plain(small), chunks)) == "");
  }
}

// The last event, or what stands behind it: there the reader looks back from the file's end.
RC_GTEST_PROP(KinetoReader, AnySplitGivesTheSameWhereTheEndIsDamaged, ()) {
  for (int i = 0; i < 10; ++i) {
    std::string text = traces()[*rc::gen::inRange<std::size_t>(0, traces().size())];
    const std::size_t end = text.size() - text.rfind("\"ph\"");
    for (std::size_t k = *rc::gen::inRange<std::size_t>(1, 4); k > 0; --k) {
      Mutation mutation = *any_mutation();
      mutation.place = static_cast<std::uint32_t>(text.size() - std::min(text.size(), *rc::gen::inRange<std::size_t>(1, end)));
      mutate(text, mutation);
    }
    KinetoOptions small;
    small.window_bytes = *rc::gen::element<std::size_t>(16, 100, 777, 4096);
    const Everything whole = read_everything(text, plain());
    RC_ASSERT(difference(whole, read_everything(text)) == "");
    RC_ASSERT(difference(whole, read_everything(text, small, any_chunks())) == "");
  }
}

// A fault inside the last event costs none of what stands behind the array.
RC_GTEST_PROP(KinetoReader, ADamagedLastEventCostsNoMembers, ()) {
  for (int i = 0; i < 10; ++i) {
    const std::string& clean = traces()[2 * *rc::gen::inRange<std::size_t>(0, traces().size() / 2)];
    const Everything before = read_everything(clean);
    // An event that ends as most do, with its args.
    const std::string event = R"({"ph":"X","ts":1,"name":"n","args":{"a":"b","c":[{"d":1}],"e":2}})";
    const std::string cut = clean.substr(0, before.events.back().offset);
    const std::string behind = clean.substr(before.events.back().offset + before.events.back().json.size());
    std::string damaged = event;
    const std::size_t place = *rc::gen::inRange<std::size_t>(0, event.size() - 1);
    if (*rc::gen::arbitrary<bool>()) {
      damaged[place] = *rc::gen::elementOf(std::string("\"\\{[,:\n\x80x0"));
    } else {
      damaged.insert(place, 1, *rc::gen::elementOf(std::string("\"\\{[,:\n\x80x0")));
    }
    const Everything after = read_everything(cut + damaged + behind);
    if (after.members != before.members) RC_FAIL(damaged + "\n" + behind + "\n" + after.problems);
    RC_ASSERT(after.result.problems[ProblemKind::truncated].count == 0U);
  }
}

// Also where events are left out for their size.
RC_GTEST_PROP(KinetoReader, AnySplitGivesTheSameUnderALimit, ()) {
  for (int i = 0; i < 5; ++i) {
    const std::string text = any_damaged_trace();
    KinetoOptions options;
    options.event_limit_bytes = *rc::gen::inRange<std::size_t>(40, 1500);
    const Everything whole = read_everything(text, plain(options));
    RC_ASSERT(difference(whole, read_everything(text, options)) == "");
    options.window_bytes = *rc::gen::element<std::size_t>(16, 100, 777, 4096, 20000);
    RC_ASSERT(difference(whole, read_everything(text, options, any_chunks())) == "");
  }
}

// A byte that is broken costs at most the event that it is in: the others come through as they were.
RC_GTEST_PROP(KinetoReader, OneBrokenByteCostsOneEvent, ()) {
  for (int i = 0; i < 40; ++i) {
    const std::string& clean = traces()[*rc::gen::inRange<std::size_t>(0, traces().size())];
    const Everything before = read_everything(clean);
    const auto& victim = before.events[*rc::gen::inRange<std::size_t>(0, before.events.size())];
    const std::size_t place =
        victim.offset + *rc::gen::inRange<std::size_t>(0, victim.json.size() + 1);  // or the comma behind it
    std::string text = clean;
    std::ptrdiff_t shift = 0;
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[place] = *rc::gen::arbitrary<char>();
        break;
      case 1:
        text.insert(place, 1, *rc::gen::elementOf(std::string("\"\\{}[],:\n\x80x0")));
        shift = 1;
        break;
      default:
        text.erase(place, 1);
        shift = -1;
    }
    const Everything after = read_everything(text);
    std::size_t k = 0;
    for (const auto& event : before.events) {
      if (event.offset == victim.offset) continue;
      const std::uint64_t offset = event.offset < victim.offset ? event.offset : event.offset + static_cast<std::uint64_t>(shift);
      while (k < after.events.size() && after.events[k].offset < offset) ++k;
      if (k == after.events.size() || after.events[k].json != event.json) {
        RC_FAIL("the event at " + std::to_string(event.offset) + " is lost, broken at " + std::to_string(place) + " of\n" +
                victim.json + "\n" + text.substr(victim.offset, victim.json.size() + 60) + "\n" + after.problems);
      }
    }
    RC_ASSERT(after.events.size() <= before.events.size());
  }
}

// Whatever comes in, what goes out is JSON; what is given as it was stands in the file where it says.
RC_GTEST_PROP(KinetoReader, EventsAreValidJson, ()) {
  const std::string text = any_damaged_trace();
  const Everything all = read_everything(text);
  for (const auto& event : all.events) {
    RC_ASSERT(test::valid_json(event.json) && event.json.front() == '{');
    if (!event.repaired) RC_ASSERT(text.compare(event.offset, event.json.size(), event.json) == 0);
  }
  for (const auto& member : all.member_objects) RC_ASSERT(test::valid_json(member));
}

}  // namespace
}  // namespace graphtag
