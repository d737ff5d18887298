#include "trace/kineto/array_end.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>

#include "tests/support/arbitrary_json.h"

namespace graphtag::kineto {
namespace {

// `^` marks the answer; without one there is none.
void expect_end(std::string marked, bool bare_array = false) {
  const std::size_t mark = marked.find('^');
  std::optional<std::size_t> expected;
  if (mark != std::string::npos) {
    marked.erase(mark, 1);
    expected = mark;
  }
  EXPECT_EQ(array_end(marked, bare_array), expected) << marked;
}

TEST(ArrayEnd, BehindABrokenEvent) {
  expect_end("\"ph\":\"X\",x}^]}");
  expect_end("x} \n ^] \n } \n");
  expect_end("x}^], \"traceName\": \"a]}\\\"\", \"b\": [{\"c\": 1}, {}]}");
  expect_end("x}^]");  // cut behind it
  expect_end("x}^]\n", true);
}

TEST(ArrayEnd, AnArrayWithinTheEventIsAnother) {
  expect_end(R"("l":[{"a":1}],"m":2}^],"b":3})");
  expect_end(R"("l":[{"a":1}]}}^]})");
  expect_end(R"("l":[{"a":1}],"m":[{}]}}^],"b":[{}]})");
  expect_end(R"("l":[{"a":1}],"m":2}^])", true);
}

TEST(ArrayEnd, WhatNoTraceEndsLike) {
  expect_end("");
  expect_end("]");
  expect_end("x]}");
  expect_end("x}]x");
  expect_end("x}],}");
  expect_end("x}],\"b\"}");
  expect_end("x}],\"b\":1");    // the file is cut in the event or behind it: which cannot be told
  expect_end("x}],\"b\":\"}");  // likewise
  expect_end("x}]}}");
  expect_end("x}]}", true);
  expect_end("x}],\"b\":1}", true);
}

TEST(ArrayEnd, NoInputTakesLong) {
  std::string many;
  while (many.size() < kArrayEndBytes) many += "}],\"\":[{";
  expect_end(many);
}

std::string spaces() {
  return *rc::gen::container<std::string>(rc::gen::element(' ', '\n'));
}

// Whatever the event and the members are, as long as the event's quotes and brackets are right.
RC_GTEST_PROP(ArrayEnd, IsWhereItWasPut, ()) {
  std::string last = (*testing::arbitrary_object(2)).dump();
  for (std::size_t colon = last.find(':'); colon != std::string::npos && *rc::gen::arbitrary<bool>();) {
    last.erase(colon, 1);
    colon = last.find(':', colon);
  }
  last += spaces();
  const std::size_t bracket = last.size();
  last += "]" + spaces();
  const std::string members = (*testing::arbitrary_object(2)).dump();
  if (members != "{}") last += "," + spaces() + members.substr(1, members.size() - 2);
  last += spaces() + "}" + spaces();
  RC_ASSERT(array_end(last, false) == bracket);
}

}  // namespace
}  // namespace graphtag::kineto
