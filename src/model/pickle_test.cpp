// Opcodes that Python's own picklers rarely write, and damage. The shapes that they do write: annotation_file_torch_test.cpp.
#include "model/pickle.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "model/pickle_opcodes.h"
#include "model/pickle_text.h"

namespace graphtag {
namespace {

// The content of a test must outlive its pickle: literals do.
PickleValue root_of(std::string_view content) {
  const auto pickle = read_pickle(content, "x");
  EXPECT_TRUE(pickle) << pickle.error().to_string();
  return pickle ? pickle->root : PickleValue{};
}

std::string text_of(std::string_view content) {
  const auto pickle = read_pickle(content, "x");
  EXPECT_TRUE(pickle) << pickle.error().to_string();
  if (!pickle || pickle->root.kind != PickleKind::string) return "not a string";
  return std::string(Pickle::text(pickle->root));
}

Error error_of(std::string_view content) {
  const auto pickle = read_pickle(content, "x");
  EXPECT_FALSE(pickle) << content;
  return pickle ? Error{} : pickle.error();
}

void expect_integer(std::string_view content, std::int64_t expected) {
  const PickleValue value = root_of(content);
  EXPECT_EQ(value.kind, PickleKind::integer) << content;
  EXPECT_EQ(value.integer, expected) << content;
}

using namespace std::string_view_literals;

TEST(Pickle, Integers) {
  expect_integer("I17\n."sv, 17);
  expect_integer("I-17\n."sv, -17);
  expect_integer("L17L\n."sv, 17);
  expect_integer("L-9223372036854775808L\n."sv, std::numeric_limits<std::int64_t>::min());
  expect_integer("K\xff."sv, 255);
  expect_integer("M\x01\x02."sv, 0x0201);
  expect_integer("J\xff\xff\xff\xff."sv, -1);
  expect_integer("J\x00\x00\x00\x80."sv, std::numeric_limits<std::int32_t>::min());
  expect_integer("\x8a\x00."sv, 0);
  expect_integer("\x8a\x01\xff."sv, -1);
  expect_integer("\x8a\x02\xff\x00."sv, 255);
  expect_integer("\x8a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff."sv, -2);  // more sign bytes than needed
  expect_integer("\x8b\x02\x00\x00\x00\x00\x80."sv, -32768);
  const PickleValue largest = root_of("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."sv);
  EXPECT_EQ(largest.kind, PickleKind::unsigned_integer);
  EXPECT_EQ(largest.unsigned_integer, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(root_of("L18446744073709551615L\n."sv).unsigned_integer, std::numeric_limits<std::uint64_t>::max());
}

TEST(Pickle, IntegersBeyond64BitsAreNamed) {
  for (const auto content : {"L18446744073709551616L\n."sv, "L-9223372036854775809L\n."sv}) {
    const Error error = error_of(content);
    EXPECT_EQ(error.code, ErrorCode::too_large);
    EXPECT_NE(error.message.find(content.substr(1, 19)), std::string::npos) << error.message;
  }
  EXPECT_EQ(error_of("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."sv).code, ErrorCode::too_large);
  EXPECT_EQ(error_of("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff."sv).code, ErrorCode::too_large);
  EXPECT_EQ(error_of("\x8a\x08"
                     "\xff\xff\xff\xff\xff\xff\xff\x7f"
                     "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\xfe."sv)
                .offset,
            10u);
}

TEST(Pickle, BooleansAndNone) {
  EXPECT_EQ(root_of("N."sv).kind, PickleKind::none);
  for (const auto content : {"I01\n."sv, "\x88."sv}) {
    EXPECT_EQ(root_of(content).kind, PickleKind::boolean);
    EXPECT_TRUE(root_of(content).boolean);
  }
  for (const auto content : {"I00\n."sv, "\x89."sv}) {
    EXPECT_EQ(root_of(content).kind, PickleKind::boolean);
    EXPECT_FALSE(root_of(content).boolean);
  }
}

TEST(Pickle, Floats) {
  EXPECT_EQ(root_of("F-1.5e3\n."sv).floating, -1500.0);
  EXPECT_EQ(root_of("F1\n."sv).kind, PickleKind::floating);
  EXPECT_EQ(root_of("G\x3f\xf8\x00\x00\x00\x00\x00\x00."sv).floating, 1.5);
  EXPECT_EQ(root_of("Finf\n."sv).floating, std::numeric_limits<double>::infinity());
  EXPECT_EQ(error_of("F1.5x\n."sv).code, ErrorCode::malformed);
  EXPECT_EQ(error_of("F\n."sv).code, ErrorCode::malformed);
}

TEST(Pickle, Strings) {
  EXPECT_EQ(text_of("S'a\\'b\\n\\x41\\101\\\\\\q'\n."sv), "a'b\nAA\\\\q");
  EXPECT_EQ(text_of("S\"it's\"\n."sv), "it's");
  EXPECT_EQ(text_of("S'\\xc3\\xa9'\n."sv), "é");
  EXPECT_EQ(text_of("T\x02\x00\x00\x00\xc3\xa9."sv), "é");
  EXPECT_EQ(text_of("U\x03"
                    "abc."sv),
            "abc");
  EXPECT_EQ(text_of("Va\\u00e9\\U0001f600\\\\u0041\\q\xe9\n."sv), "aé\xf0\x9f\x98\x80\\\\u0041\\qé");
  EXPECT_EQ(text_of("X\x01\x00\x00\x00"
                    "a."sv),
            "a");
  EXPECT_EQ(text_of("\x8c\x01"
                    "a."sv),
            "a");
  EXPECT_EQ(text_of("\x8d\x01\x00\x00\x00\x00\x00\x00\x00"
                    "a."sv),
            "a");
  EXPECT_EQ(text_of("U\x00."sv), "");
}

TEST(Pickle, StringsMustBeUnicode) {
  for (const auto content : {"U\x01\xff."sv, "T\x01\x00\x00\x00\xe9."sv, "X\x02\x00\x00\x00\xc0\x80."sv,
                             "\x8c\x03\xed\xa0\x80."sv, "S'\\xff'\n."sv, "V\\ud83d\\ude00\n."sv, "V\\U00110000\n."sv,
                             "V\\u12\n."sv, "V\\u-123\n."sv, "S'a\n."sv, "S'\n."sv, "Sa\n."sv, "S'\\'\n."sv, "S'\\x4'\n."sv}) {
    EXPECT_EQ(error_of(content).code, ErrorCode::malformed) << content;
  }
}

TEST(Pickle, StackAndMemo) {
  expect_integer(
      "K\x01K\x02"
      "0."sv,
      1);  // POP
  expect_integer(
      "K\x01(K\x02K\x03"
      "1."sv,
      1);                                  // POP_MARK
  expect_integer("K\x01(0."sv, 1);         // POP takes a MARK, too
  expect_integer("K\x07p5\n0g5\n."sv, 7);  // PUT, GET
  expect_integer(
      "K\x07q\x05"
      "0h\x05."sv,
      7);  // BINPUT, BINGET
  expect_integer(
      "K\x07r\x05\x00\x01\x00"
      "0j\x05\x00\x01\x00."sv,
      7);
  expect_integer("K\x07\x94K\x08\x94h\x00."sv, 7);               // MEMOIZE counts from 0
  const auto pickle = read_pickle("(K\x01K\x02l2\x86."sv, "x");  // LIST, DUP, TUPLE2: twice the same list
  ASSERT_TRUE(pickle);
  ASSERT_EQ(pickle->root.kind, PickleKind::tuple);
  const auto both = pickle->items(pickle->root);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].index, both[1].index);
  EXPECT_EQ(pickle->items(both[0]).size(), 2u);
}

TEST(Pickle, DamageIsFoundWhereItIs) {
  struct Row {
    std::string_view content;
    std::uint64_t offset;
  };
  const Row rows[] = {
      {""sv, 0},
      {"."sv, 0},
      {"(."sv, 1},
      {"0."sv, 0},
      {"2."sv, 0},
      {"1."sv, 0},
      {"t."sv, 0},
      {"N(a."sv, 2},
      {"Na."sv, 1},
      {"NNa."sv, 2},
      {"N(e."sv, 2},
      {"](N(u."sv, 4},
      {"}N(s."sv, 3},
      {"}(Nu."sv, 3},
      {"(Nd."sv, 2},
      {"h\x01."sv, 0},
      {"g1\n."sv, 0},
      {"gx\n."sv, 0},
      {"q\x01."sv, 0},
      {"\x85."sv, 0},
      {"N\x86."sv, 1},
      {"(N\x87."sv, 2},
      {"K"sv, 0},
      {"NJ\x01"sv, 1},
      {"I12"sv, 0},
      {"Ix\n."sv, 0},
      {"I\n."sv, 0},
      {"I1 \n."sv, 0},
      {"L1LL\n."sv, 0},
      {"U\x05"
       "a."sv,
       0},
      {"\x8c\x02"
       "a"sv,
       0},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
       "a."sv,
       0},
      {"T\xff\xff\xff\xff"
       "a."sv,
       0},
      {"\x8b\xff\xff\xff\xff"
       "a."sv,
       0},
      {"\x95\x09\x00\x00\x00\x00\x00\x00\x00N."sv, 0},
      {"N\xff."sv, 1},
      {"N?."sv, 1},
      {"NN\x93."sv, 2},
      {"cos"sv, 0},
      {"N"sv, 1},
  };
  for (const Row& row : rows) {
    const Error error = error_of(row.content);
    EXPECT_EQ(error.code, ErrorCode::malformed) << row.content << ": " << error.message;
    EXPECT_EQ(error.offset, row.offset) << row.content << ": " << error.message;
  }
}

TEST(Pickle, ProtocolsAbove5AreNotKnown) {
  const Error error = error_of("\x80\x06N."sv);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message.find("PROTO: protocol 6"), std::string::npos) << error.message;
}

TEST(Pickle, WhatGrowsIsBounded) {
  EXPECT_EQ(error_of(std::string(2'000, '(')).code, ErrorCode::too_large);                                // open MARKs
  EXPECT_EQ(error_of("N" + std::string((std::size_t{8} << 20) + 1, '2')).code, ErrorCode::too_large);     // the stack
  EXPECT_EQ(error_of("N" + std::string((std::size_t{8} << 20) + 1, '\x94')).code, ErrorCode::too_large);  // the memo
  std::string lists;
  for (int i = 0; i <= 8 << 20; ++i) lists += "]0";
  EXPECT_EQ(error_of(lists).code, ErrorCode::too_large);
}

TEST(Pickle, EndsAtStop) {
  const auto pickle = read_pickle("\x80\x02N.more"sv, "x");
  ASSERT_TRUE(pickle);
  EXPECT_EQ(pickle->size_bytes, 4u);
}

TEST(Pickle, EveryOpcodeHasAName) {
  int known = 0, dangerous = 0;
  for (int code = 0; code < 256; ++code) {
    const auto name = pickle_op_name(static_cast<std::uint8_t>(code));
    if (name) ++known;
    if (pickle_op_danger(static_cast<std::uint8_t>(code))) ++dangerous;
  }
  EXPECT_EQ(known, 68);  // len(pickletools.opcodes) of Python 3.8 and above
  EXPECT_EQ(dangerous, 19);
  EXPECT_EQ(pickle_op_name(0x8c), "SHORT_BINUNICODE");
  EXPECT_EQ(pickle_op_danger('.'), std::nullopt);
}

}  // namespace
}  // namespace graphtag
