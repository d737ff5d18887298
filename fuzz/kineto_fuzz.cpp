// Any bytes as a trace: the fast and the plain reader agree, whatever the window, and what they give is JSON.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/read_everything.h"
#include "tests/support/valid_json.h"

namespace {

void require(const std::string& fault, const char* what) {
  if (fault.empty()) return;
  std::fprintf(stderr, "%s: %s\n", what, fault.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace graphtag;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::uint64_t mixed = size;
  for (const char c : text.substr(0, 256)) mixed = mixed * 31 + static_cast<unsigned char>(c);

  KinetoOptions plain;
  plain.fast = false;
  if (mixed % 4 == 0) plain.event_limit_bytes = 64 + mixed / 4 % 1024;
  KinetoOptions fast = plain;
  fast.fast = true;
  KinetoOptions small = fast;
  small.window_bytes = 16 + mixed / 8 % 3000;

  const test::Everything expected = test::read_everything(text, plain);
  require(test::difference(expected, test::read_everything(text, fast)), "plain and fast");
  require(test::difference(expected, test::read_everything(text, small)), "small windows");
  for (const auto& event : expected.events) {
    if (!test::valid_json(event.json)) require(event.json, "an event that is no JSON");
    if (!event.repaired && text.substr(event.offset, event.json.size()) != event.json)
      require(event.json, "an event changed without repair");
  }
  for (const auto& member : expected.member_objects) {
    if (!test::valid_json(member)) require(member, "a member that is no JSON");
  }
  return 0;
}
