#include "write/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "write/table_text.h"

namespace graphtag {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kHostile =
    std::string("tab\tline\nreturn\r esc\x1b[31m quote\" comma, pipe| back\\slash `tick` \u202e<b>") + '\0' + "\x9b end";

TEST(TableText, ControlAndDirectionCharactersAreShownNotSent) {
  EXPECT_EQ(printable("a\tb\nc\x1b[31md\x7f"), "a\\tb\\nc\\u{1b}[31md\\u{7f}");
  EXPECT_EQ(printable("\u202eabc\u2028"), "\\u{202e}abc\\u{2028}");
  EXPECT_EQ(printable("\u0085"), "\\u{85}");             // a C1 control, as UTF-8
  EXPECT_EQ(printable("a\xff\xc0z"), "a\uFFFD\uFFFDz");  // no UTF-8
  EXPECT_EQ(printable("h\u00e9 \u4e2d", {false, false, false}), "h\\u{e9} \\u{4e2d}");
  EXPECT_EQ(printable("a\\b", {true, true, false}), "a\\\\b");
  EXPECT_EQ(printable("a\nb\tc\x1b", {true, false, true}), "a\nb\tc\\u{1b}");
}

TEST(TableText, WidthIsInColumnsOfATerminal) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\u00e9t\u00e9"), 3U);
  EXPECT_EQ(display_width("\u5c42\u5f52"), 4U);  // East Asian wide
  EXPECT_EQ(display_width("e\u0301"), 1U);       // a combining accent
  EXPECT_EQ(display_width("\U0001f680"), 2U);
}

TEST(TableText, NamesAreCutInTheMiddleAndKeepTheirLeaf) {
  EXPECT_EQ(cut_middle("model.layers.0.mlp", 18, true), "model.layers.0.mlp");
  EXPECT_EQ(cut_middle("model.layers.0.self_attn.q_proj", 20, true), "model.laye\u2026tn.q_proj");
  EXPECT_EQ(cut_middle("model.layers.0.self_attn.q_proj", 10, true), "mo\u2026.q_proj");
  EXPECT_EQ(cut_middle("model.layers.0.self_attn.q_proj", 12, false), "mo....q_proj");
  EXPECT_EQ(cut_middle("abcdefghijklmnopqrstuvwxyz", 10, true),
            "abc\u2026uvwxyz");  // no dot: a third of what is left, and two thirds
  EXPECT_EQ(cut_middle("abc", 1, true), "\u2026");
  EXPECT_EQ(cut_middle("abc", 0, true), "");
  EXPECT_EQ(display_width(cut_middle("\u5c42\u5f52\u5c42\u5f52\u5c42\u5f52.\u5c42", 9, true)),
            8U);  // a wide character does not fit into one column
}

// For every width the cut name fits.
TEST(TableText, CutNamesFit) {
  const std::string name = "model.\u5c42.very_long_name_of_a_module.e\u0301\u0301.x";
  for (std::size_t width = 0; width < 60; ++width) {
    EXPECT_LE(display_width(cut_middle(name, width, true)), width);
    EXPECT_LE(display_width(cut_middle(name, width, false)), width);
  }
}

Table small_table() {
  Table table;
  table.columns = {{"region", "region", Quantity::text, 0, 0},
                   {"calls", "calls", Quantity::count, 0, 2},
                   {"total_ns", "total", Quantity::time_ns, 1, 1},
                   {"share_ns", "share", Quantity::time_ns, 1, 3},
                   {"busy_frac", "%busy", Quantity::fraction, 0, 0}};
  table.rows = {
      {{std::string("model.layers.*.mlp"), std::int64_t{12}, std::int64_t{2'500'000}, std::int64_t{1'250'000}, 0.75}, 0, {}},
      {{std::string("head"), std::monostate{}, std::int64_t{1'500}, std::int64_t{400}, 0.25}, 0, {}}};
  table.footer = {{{std::string("idle"), std::monostate{}, std::int64_t{10'000}, std::monostate{}, std::monostate{}}, 0, {}}};
  table.header = {{"a header", Tone::plain}};
  table.notes = {{"a note", Tone::warning}};
  return table;
}

TEST(TableTerminal, AColumnHasOneUnit) {
  EXPECT_EQ(render_terminal(small_table(), {}),
            "a header\n"
            "\n"
            "region              calls  total ms  share ms  %busy\n"
            "────────────────────────────────────────────────────\n"
            "model.layers.*.mlp     12     2.500     1.250   75.0\n"
            "head                    -     0.002     0.000   25.0\n"
            "────────────────────────────────────────────────────\n"
            "idle                          0.010\n"
            "a note\n");
}

TEST(TableTerminal, UnitsOnRequest) {
  TerminalStyle style;
  style.unit = TimeUnit::us;
  EXPECT_THAT(render_terminal(small_table(), style), HasSubstr("head                    -         2         0   25.0\n"));
  style.unit = TimeUnit::ns;
  EXPECT_THAT(render_terminal(small_table(), style), HasSubstr("head                    -      1500       400   25.0\n"));
}

TEST(TableTerminal, ColumnsThatDoNotFitAreNamed) {
  TerminalStyle style;
  style.width = 36;
  style.utf8 = false;
  EXPECT_EQ(render_terminal(small_table(), style),
            "a header\n"
            "\n"
            "region              total ms  %busy\n"
            "-----------------------------------\n"
            "model.layers.*.mlp     2.500   75.0\n"
            "head                   0.002   25.0\n"
            "-----------------------------------\n"
            "idle                   0.010\n"
            "columns left out for the width: calls, share ms (--wide shows them)\n"
            "a note\n");
  style.wide = true;
  EXPECT_THAT(render_terminal(small_table(), style), Not(HasSubstr("left out")));
}

TEST(TableTerminal, LongNamesMakeRoomForColumns) {
  Table table = small_table();
  table.rows[0].cells[0] = std::string("model.layers.*.") + std::string(200, 'x') + ".down_proj";
  TerminalStyle style;
  style.width = 70;
  const std::string text = render_terminal(table, style);
  EXPECT_THAT(text, HasSubstr(".down_proj     12     2.500     1.250   75.0\n"));
  EXPECT_THAT(text, HasSubstr("model.layers.*.x"));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(display_width(text.substr(begin, end - begin)), 70U);
    begin = end + 1;
  }
}

TEST(TableTerminal, ColorsOnlyIfAskedFor) {
  EXPECT_THAT(render_terminal(small_table(), {}), Not(HasSubstr("\033")));
  TerminalStyle style;
  style.color = true;
  EXPECT_THAT(render_terminal(small_table(), style), HasSubstr("\033[33ma note\033[0m\n"));
}

TEST(TableTerminal, HostileNamesStayOnTheirLine) {
  Table table = small_table();
  table.rows[0].cells[0] = kHostile;
  TerminalStyle style;
  style.wide = true;
  const std::string text = render_terminal(table, style);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\t")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
  const std::string tame = render_terminal(small_table(), style);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(tame.begin(), tame.end(), '\n'));
}

TEST(TableDelimited, Tsv) {
  EXPECT_EQ(render_tsv(small_table()),
            "region\tcalls\ttotal_ns\tshare_ns\tbusy_frac\n"
            "model.layers.*.mlp\t12\t2500000\t1250000\t0.75\n"
            "head\t\t1500\t400\t0.25\n");
}

TEST(TableDelimited, HostileNamesInTsvAndCsv) {
  Table table;
  table.columns = {{"region", "region", Quantity::text, 0, 0}, {"calls", "calls", Quantity::count, 0, 0}};
  table.rows = {{{std::string("a\tb\nc\\d\x1b"), std::int64_t{1}}, 0, {}}};
  EXPECT_EQ(render_tsv(table), "region\tcalls\na\\tb\\nc\\\\d\\u{1b}\t1\n");
  table.rows = {{{std::string("say \"hi\", you\nthere\x1b"), std::int64_t{1}}, 0, {}},
                {{std::string("plain"), std::monostate{}}, 0, {}}};
  EXPECT_EQ(render_csv(table), "region,calls\n\"say \"\"hi\"\", you\nthere\\u{1b}\",1\nplain,\n");
}

TEST(TableDelimited, TimesAreWholeNanoseconds) {
  Table table;
  table.columns = {{"p50_ns", "p50", Quantity::time_ns, 0, 0}, {"label", "label", Quantity::text, 0, 0}};
  table.rows = {{{12.5, JsonText{"\"large\""}}, 0, {}},
                {{3.0, JsonText{"{\"bs\":8}"}}, 0, {}},
                {{std::monostate{}, JsonText{"null"}}, 0, {}}};
  EXPECT_EQ(render_tsv(table), "p50_ns\tlabel\n13\tlarge\n3\t{\"bs\":8}\n\t\n");
}

TEST(TableMarkdown, Golden) {
  EXPECT_EQ(render_markdown(small_table(), TimeUnit::automatic),
            "- a header\n"
            "\n"
            "| region | calls | total ms | share ms | %busy |\n"
            "| --- | ---: | ---: | ---: | ---: |\n"
            "| `model.layers.*.mlp` | 12 | 2.500 | 1.250 | 75.0 |\n"
            "| `head` |  | 0.002 | 0.000 | 25.0 |\n"
            "| idle |  | 0.010 |  |  |\n"
            "\n"
            "- a note\n");
}

TEST(TableMarkdown, HostileNamesStayInTheirCell) {
  Table table;
  table.columns = {{"region", "region", Quantity::text, 0, 0}};
  table.rows = {{{std::string("a|b`c``d\n")}, 0, {}}};
  EXPECT_EQ(render_markdown(table, TimeUnit::automatic), "| region |\n| --- |\n| ``` a\\|b`c``d\\n ``` |\n");
  table.rows.clear();
  table.header = {{"<script> *a* _b_ [c](d)", Tone::plain}};
  EXPECT_THAT(render_markdown(table, TimeUnit::automatic), StartsWith("- \\<script\\> \\*a\\* \\_b\\_ \\[c\\](d)\n"));
}

TEST(TableJson, TypesAndUnknowns) {
  Table table;
  table.columns = {{"region", "", Quantity::text, 0, 0},
                   {"calls", "", Quantity::count, 0, 0},
                   {"p50_ns", "", Quantity::time_ns, 0, 0},
                   {"bs", "", Quantity::text, 0, 0}};
  table.rows = {{{kHostile, std::int64_t{3}, 12.5, JsonText{"[1,\"x\"]"}}, 0, {}},
                {{std::string("b"), std::monostate{}, std::nan(""), JsonText{"null"}}, 0, {}},
                {{std::string("c"), std::int64_t{1}, 12.0, JsonText{"8"}}, 0, {}}};
  const Result<Json> rows = parse_json(dump_json(table_rows_json(table)));
  ASSERT_TRUE(rows.ok());
  EXPECT_THAT((*rows)[0]["region"].get<std::string>(), StartsWith("tab\tline\nreturn\r esc\x1b[31m quote\""));
  EXPECT_EQ((*rows)[0]["bs"], Json::parse("[1,\"x\"]"));
  EXPECT_EQ((*rows)[0]["p50_ns"], 12.5);
  EXPECT_TRUE((*rows)[1]["calls"].is_null());
  EXPECT_TRUE((*rows)[1]["p50_ns"].is_null());
  EXPECT_TRUE((*rows)[1]["bs"].is_null());
  EXPECT_TRUE((*rows)[2]["p50_ns"].is_number_integer());
}

TEST(Table, WithoutRowsHasItsHeader) {
  Table table = small_table();
  table.rows.clear();
  table.footer.clear();
  EXPECT_THAT(render_terminal(table, {}), HasSubstr("region  calls  total ns  share ns  %busy\n"));
  EXPECT_EQ(render_tsv(table), "region\tcalls\ttotal_ns\tshare_ns\tbusy_frac\n");
  EXPECT_EQ(table_rows_json(table), Json::array());
}

}  // namespace
}  // namespace graphtag
