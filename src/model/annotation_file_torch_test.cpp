// tests/golden/make_pickles.py writes the pickles and, with Python's own pickle, what they must be read as.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "model/annotation_file.h"

namespace graphtag {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(GRAPHTAG_SOURCE_DIR) / "tests/golden";
const std::filesystem::path kExamples = std::filesystem::path(GRAPHTAG_SOURCE_DIR) / "examples";

std::string bytes(const std::filesystem::path& path) {
  auto content = read_file(path.string(), std::size_t{1} << 30);
  EXPECT_TRUE(content) << content.error().to_string();
  return content ? *std::move(content) : std::string();
}

AnnotationFile parse(const std::string& content, const std::string& name = "x") {
  auto file = parse_annotation_file(content, name);
  EXPECT_TRUE(file) << file.error().to_string();
  return file ? *std::move(file) : AnnotationFile();
}

Error error_of(const std::string& content) {
  const auto file = parse_annotation_file(content, "x.pkl");
  EXPECT_FALSE(file);
  return file ? Error{} : file.error();
}

// node -> annotation as canonical text, of all nodes that runs give one
std::map<std::uint64_t, std::string> named_nodes(const AnnotationFile& file) {
  std::map<std::uint64_t, std::string> nodes;
  for (const GraphRecord& graph : file.graphs) {
    for (std::size_t i = 0; i < graph.runs.size(); ++i) {
      const Run& run = graph.runs[i];
      if (run.annotation == AnnotationId::none) {
        EXPECT_EQ(run.origin, Origin::outside_scope);
        continue;
      }
      EXPECT_EQ(run.origin, Origin::callback);
      const std::uint64_t end = i + 1 < graph.runs.size() ? graph.runs[i + 1].first.value : std::uint64_t{1} << 32;
      const std::uint64_t base = std::uint64_t{graph.id.value} << 32;
      // A last run that no other closes can only be of the very last local id.
      EXPECT_TRUE(i + 1 < graph.runs.size() || run.first.value == 0xffffffff);
      for (std::uint64_t local = run.first.value; local < end; ++local) {
        nodes[base + local] = canonical_json(*file.annotations[run.annotation].object);
      }
    }
  }
  return nodes;
}

std::map<std::uint64_t, std::string> expected_nodes(const std::filesystem::path& path) {
  const auto json = parse_json(bytes(path));
  EXPECT_TRUE(json);
  std::map<std::uint64_t, std::string> nodes;
  for (const auto& [id, annotation] : json->items()) {
    if (!annotation.empty()) nodes[std::stoull(id)] = canonical_json(annotation);
  }
  return nodes;
}

TEST(TorchPickle, EveryShapeInEveryProtocol) {
  int shapes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "pickles/good")) {
    if (entry.path().extension() != ".json") continue;
    ++shapes;
    const std::string shape = entry.path().stem().string();
    for (int protocol = 0; protocol <= 5; ++protocol) {
      const std::string name = shape + "." + std::to_string(protocol) + ".pkl";
      const AnnotationFile file = parse(bytes(kGolden / "pickles/good" / name), name);
      EXPECT_EQ(file.format, "torch pickle") << name;
      EXPECT_EQ(named_nodes(file), expected_nodes(entry.path())) << name;
    }
  }
  EXPECT_EQ(shapes, 18);
}

// The same annotations as JSON: json.dump writes the ids as strings.
TEST(TorchJson, ReadsWhatTheExpectationsSay) {
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "pickles/good")) {
    if (entry.path().extension() != ".json") continue;
    const AnnotationFile file = parse(bytes(entry.path()), entry.path().string());
    EXPECT_EQ(file.format, "torch json");
    EXPECT_EQ(named_nodes(file), expected_nodes(entry.path())) << entry.path();
  }
}

TEST(TorchPickle, RefusesWhatCouldRunCode) {
  const auto expected = parse_json(bytes(kGolden / "pickles/refused/expected.json"));
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->size(), 35u);
  for (const auto& [name, reason] : expected->items()) {
    const Error error = error_of(bytes(kGolden / "pickles/refused" / (name + ".pkl")));
    EXPECT_EQ(error.code, ErrorCode::refused) << name << ": " << error.message;
    EXPECT_EQ(error.offset, reason["offset"].get<std::uint64_t>()) << name << ": " << error.message;
    EXPECT_NE(error.message.find(reason["opcode"].get<std::string>() + ": "), std::string::npos) << name << ": " << error.message;
    EXPECT_EQ(error.file, "x.pkl");
  }
}

TEST(TorchPickle, RecordedFiles) {
  struct Row {
    std::filesystem::path path;
    std::size_t nodes, graphs, annotations;
    std::uint64_t first;
    const char* first_annotation;
    std::uint64_t last;
    const char* last_annotation;
  };
  const char* all_reduce =
      R"({"name":"all_reduce","Process Group Description":"dp","Collective name":"allreduce","In msg nelems":4194304})";
  const char* optimizer = R"({"name":"optimizer","lr":0.001,"fused":false,"params":[1,2,{"a":null}]})";
  const std::filesystem::path h200 = kGolden / "h200";
  // Counted with Python's pickle.
  const std::vector<Row> rows = {
      {h200 / "all_reduce_rank0.annotations.pkl", 21, 1, 2, 8589934592, all_reduce, 8589934612, R"({"name":"matmul"})"},
      {h200 / "all_reduce_rank1.annotations.pkl", 33, 1, 2, 8589934592, all_reduce, 8589934624, R"({"name":"matmul"})"},
      {kExamples / "decode/decode.annotations.pkl", 684, 4, 588, 81604378624, R"({"name":"model.embed","bs":1})", 120259084458,
       R"({"name":"model.lm_head","bs":8})"},
      {h200 / "decode_60.annotations.pkl", 684, 4, 588, 133143986176, R"({"name":"model.embed","bs":1})", 171798692010,
       R"({"name":"model.lm_head","bs":8})"},
      {h200 / "lanes.annotations.pkl", 27, 1, 12, 8589934592,
       R"({"name":"prefetch","Process Group Description":"copy lane","stream":61,"i":0})", 8589934622,
       R"({"name":"pinned","stream":60,"i":2})"},
      {h200 / "three_graphs.annotations.pkl", 15, 3, 6, 34359738368, R"({"name":"mm","i":0})", 68719476742,
       R"({"name":"graph2","i":2})"},
      {h200 / "train_step.annotations.pkl", 211, 1, 55, 21474836480, R"({"name":"model.embed","step":0})", 21474836703,
       optimizer},
      {h200 / "train_step_cuspy.annotations.pkl", 211, 1, 55, 8589934592, R"({"name":"model.embed","step":0})", 8589934815,
       optimizer},
      {h200 / "two_phases.annotations.pkl", 6, 1, 2, 8589934592, R"({"name":"phase_A"})", 8589934597,
       R"({"name":"phase_B","dtype":"bf16"})"},
  };
  for (const Row& row : rows) {
    const auto read = read_annotation_file(row.path.string());
    ASSERT_TRUE(read) << read.error().to_string();
    const auto text = [&](std::uint64_t node) {
      return dump_json(*read->annotations[read->resolve(NodeId(node)).annotation].object);
    };
    const auto nodes = named_nodes(*read);
    EXPECT_EQ(nodes.size(), row.nodes) << row.path;
    EXPECT_EQ(read->graphs.size(), row.graphs) << row.path;
    EXPECT_EQ(read->annotations.size(), row.annotations + 1) << row.path;
    EXPECT_EQ(text(row.first), row.first_annotation) << row.path;
    EXPECT_EQ(text(row.last), row.last_annotation) << row.path;
    EXPECT_EQ(read->resolve(NodeId(row.last + 1)).origin, Origin::outside_scope) << row.path;
    EXPECT_EQ(read->resolve(NodeId(std::uint64_t{1} << 62)).origin, Origin::unknown_graph) << row.path;
    EXPECT_FALSE(read->graphs[0].nodes) << row.path;
    EXPECT_TRUE(read->notes.empty()) << row.path;
    EXPECT_EQ(nodes, expected_nodes(kGolden / "pickles/h200" / (row.path.stem().string() + ".json"))) << row.path;
  }
}

TEST(TorchFiles, NeighboursOfOneAnnotationAreOneRunAndGapsAreOutsideScopes) {
  const AnnotationFile file =
      parse(R"({"4294967298":["a"],"4294967299":["a"],"4294967302":["a"],"4294967303":[{"name":"b"}],"8589934592":[]})");
  ASSERT_EQ(file.graphs.size(), 2u);
  const AnnotationId a{1}, b{2};
  EXPECT_EQ(file.graphs[0].id, GraphId{1});
  EXPECT_EQ(file.graphs[0].runs, (std::vector<graphtag::Run>{{{2}, a, Origin::callback},
                                                             {{4}, AnnotationId::none, Origin::outside_scope},
                                                             {{6}, a, Origin::callback},
                                                             {{7}, b, Origin::callback},
                                                             {{8}, AnnotationId::none, Origin::outside_scope}}));
  EXPECT_EQ(file.graphs[1].id, GraphId{2});
  EXPECT_TRUE(file.graphs[1].runs.empty());
  EXPECT_EQ(file.annotations[a].name, "a");
  EXPECT_TRUE(file.annotations[a].path.empty());
}

TEST(TorchFiles, TheLaterOfTwoDictsWinsANode) {
  const AnnotationFile file = parse(R"([{"4294967296":["a"],"4294967297":["b"]},{"4294967297":["c"]}])");
  EXPECT_EQ(file.annotations[file.resolve(NodeId(4294967296)).annotation].name, "a");
  EXPECT_EQ(file.annotations[file.resolve(NodeId(4294967297)).annotation].name, "c");
}

TEST(TorchFiles, APathIsTakenOver) {
  const AnnotationFile file =
      parse(R"({"4294967296":{"name":"b","graphtag.path":["a","b"]},"4294967297":{"name":"b","graphtag.path":7}})");
  const Annotation& with = file.annotations[file.resolve(NodeId(4294967296)).annotation];
  EXPECT_EQ(dump_json(*with.object), R"({"name":"b"})");
  EXPECT_EQ(with.path, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(file.annotations[file.resolve(NodeId(4294967297)).annotation].path.empty());
  ASSERT_EQ(file.notes.size(), 1u);
  EXPECT_EQ(file.notes[0], "1 \"graphtag.path\" values that are not arrays of strings were passed over");
}

TEST(TorchFiles, NotesTellWhatWasChangedOrPassedOver) {
  const AnnotationFile numbers = parse(bytes(kGolden / "pickles/good/numbers.4.pkl"));
  ASSERT_EQ(numbers.notes.size(), 1u);
  EXPECT_EQ(numbers.notes[0], "3 numbers that JSON lacks (NaN, infinity) became null");
  const AnnotationFile keys = parse(bytes(kGolden / "pickles/good/integer_keys.4.pkl"));
  ASSERT_EQ(keys.notes.size(), 1u);
  EXPECT_EQ(keys.notes[0], "4 integer keys in annotations became text");
  const AnnotationFile trailing = parse(bytes(kGolden / "pickles/good/dicts.4.pkl") + "more");
  ASSERT_EQ(trailing.notes.size(), 1u);
  EXPECT_EQ(trailing.notes[0], "4 bytes after the end of the pickle were passed over");
}

// As Python's json.dump writes them.
TEST(TorchJson, NumbersThatJsonLacksBecomeNull) {
  const AnnotationFile file = parse(R"({"4294967296":[{"name":"NaN","v":NaN,"w":[-Infinity,Infinity,1]}]})");
  EXPECT_EQ(dump_json(*file.annotations[file.resolve(NodeId(4294967296)).annotation].object),
            R"({"name":"NaN","v":null,"w":[null,null,1]})");
  ASSERT_EQ(file.notes.size(), 1u);
  EXPECT_EQ(file.notes[0], "3 numbers that JSON lacks (NaN, infinity) became null");
  const std::string broken = R"({"4294967296":[{"v":NaN,"w":Infinity,"x":NaN,oops}]})";
  EXPECT_EQ(error_of(broken).offset, broken.find("oops"));
  EXPECT_EQ(error_of(R"({"schema":"graphtag.annotations/1","annotations":[{"object":{"v":NaN}}]})").code, ErrorCode::malformed);
}

TEST(TorchJson, RefusesOtherShapes) {
  for (const char* text :
       {R"({"a":["x"]})", R"({"-1":["x"]})", R"({"18446744073709551616":["x"]})", R"({"1.0":["x"]})", R"({"":["x"]})",
        R"({" 1":["x"]})", R"([1])", R"({"1":1})", R"({"1":null})", R"({"1":[1]})", R"({"1":[["x"]]})", R"([{"ph":"X"}])"}) {
    const Error error = error_of(text);
    EXPECT_EQ(error.code, ErrorCode::malformed) << text;
    EXPECT_EQ(error.file, "x.pkl") << text;
    EXPECT_NE(error.message.find("expected node id -> annotation"), std::string::npos) << text << ": " << error.message;
  }
}

// Pickles written by hand, for what no Python writes.
std::string one_node(const std::string& value) {
  return "\x80\x02}K\x01" + value + "s.";
}

TEST(TorchPickle, RefusesOtherShapes) {
  EXPECT_EQ(error_of("\x80\x02N.").code, ErrorCode::malformed);                     // None
  EXPECT_EQ(error_of("\x80\x02]Na.").code, ErrorCode::malformed);                   // [None]
  EXPECT_EQ(error_of("\x80\x02}J\xff\xff\xff\xff}s.").code, ErrorCode::malformed);  // node -1
  EXPECT_EQ(error_of("\x80\x02}\x88}s.").code, ErrorCode::malformed);               // node True
  EXPECT_EQ(error_of("\x80\x02}U\x01"
                     "1}s.")
                .code,
            ErrorCode::malformed);  // node "1"
  for (const char* value : {"N", "K\x05",
                            "]K\x05"
                            "a",
                            "]]a", "}NNs", "})Ns", "}G\x7f\xf0++++++Ns"}) {
    const Error error = error_of(one_node(value));
    EXPECT_EQ(error.code, ErrorCode::malformed) << value;
    EXPECT_EQ(error.message.find("node 1: "), 0u) << value << ": " << error.message;
  }
}

TEST(TorchPickle, ValuesThatHoldThemselvesAreRefused) {
  const Error list = error_of(one_node("]q\x01}U\x01vh\x01sa"));  // x = [{"v": x}]
  EXPECT_EQ(list.code, ErrorCode::too_large);
  EXPECT_NE(list.message.find("holds itself"), std::string::npos);
  EXPECT_EQ(error_of(one_node("}q\x01U\x01vh\x01s")).code, ErrorCode::too_large);
  // A root that holds itself is no dict of ids.
  EXPECT_EQ(error_of("\x80\x02]q\x01h\x01"
                     "a.")
                .code,
            ErrorCode::malformed);
}

TEST(TorchPickle, NestingIsBounded) {
  const auto nested = [](int depth) {  // {"v": [[...]]}, `depth` containers in all
    return one_node("}U\x01v" + std::string(static_cast<std::size_t>(depth - 1), ']') +
                    std::string(static_cast<std::size_t>(depth - 2), 'a') + "s");
  };
  parse(nested(64));
  EXPECT_EQ(error_of(nested(65)).code, ErrorCode::too_large);
  EXPECT_EQ(error_of(nested(100'000)).code, ErrorCode::too_large);
}

// Forty lists, each twice in the next: 2^40 values, and within the bound on nesting.
TEST(TorchPickle, SharedValuesDoNotExplode) {
  std::string value = "}U\x01v]";
  for (int i = 0; i < 40; ++i)
    value +=
        "q\x01"
        "0]h\x01"
        "ah\x01"
        "a";
  const Error error = error_of(one_node(value + "s"));
  EXPECT_EQ(error.code, ErrorCode::too_large);
  EXPECT_NE(error.message.find("unfold"), std::string::npos) << error.message;
}

// One text of 1 MB, a thousand times.
TEST(TorchPickle, SharedTextsDoNotExplode) {
  std::string value = "}U\x01v](X";
  value += std::string("\x40\x42\x0f\x00", 4) + std::string(1'000'000, 'x') + std::string(1000, '2') + "es";
  const Error error = error_of(one_node(value));
  EXPECT_EQ(error.code, ErrorCode::too_large);
  EXPECT_NE(error.message.find("unfold"), std::string::npos) << error.message;
}

// A dict of a thousand nodes, a million times in one list.
TEST(TorchPickle, SharedFilesDoNotExplode) {
  std::string content = "\x80\x02](}(";
  for (int i = 0; i < 1000; ++i)
    content += std::string("M") + static_cast<char>(i & 0xff) + static_cast<char>(i >> 8) +
               "U\x01"
               "a";
  content += "u" + std::string(1'000'000, '2') + "e.";
  const Error error = error_of(content);
  EXPECT_EQ(error.code, ErrorCode::too_large);
}

}  // namespace
}  // namespace graphtag
