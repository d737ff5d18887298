// Annotation files: writing and reading again changes nothing; resolving agrees with a plain twin.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "model/annotation_file.h"
#include "tests/support/arbitrary_json.h"

namespace graphtag {
namespace {

using testing::arbitrary_json;
using testing::arbitrary_object;
using testing::arbitrary_text;

// Low ids that meet often, and the ends of the range.
std::set<std::uint32_t> arbitrary_ids() {
  const auto ids = *rc::gen::container<std::vector<std::uint32_t>>(
      rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 12), rc::gen::element(0xfffffffeu, 0xffffffffu)));
  return {ids.begin(), ids.end()};
}

std::vector<graphtag::Run> arbitrary_runs(const AnnotationFile& file, std::uint32_t from = 0) {
  std::vector<graphtag::Run> runs;
  for (const std::uint32_t first : arbitrary_ids()) {
    if (first < from) continue;
    const auto annotation = static_cast<AnnotationId>(*rc::gen::inRange<std::size_t>(0, file.annotations.size()));
    const Origin origin = annotation == AnnotationId::none
                              ? *rc::gen::element(Origin::outside_scope, Origin::captured_before_start, Origin::unlinked_body,
                                                  Origin::unknown_graph)
                              : *rc::gen::element(Origin::callback, Origin::boundary, Origin::boundary_approximate,
                                                  Origin::modelled, Origin::updated);
    runs.push_back({{first}, annotation, origin});
  }
  return runs;
}

std::optional<std::int64_t> arbitrary_time() {
  return *rc::gen::oneOf(rc::gen::just(std::optional<std::int64_t>()),
                         rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t t) { return std::optional(t); }));
}

NodeCounts arbitrary_counts() {
  const auto number = rc::gen::element(0u, 1u, 0xffffffffu);
  return {*number, *number, *number};
}

AnnotationFile arbitrary_file() {
  AnnotationFile file;
  for (int i = 0; i < 4; ++i)
    (void)file.annotations.intern(*arbitrary_object(), *rc::gen::container<std::vector<std::string>>(arbitrary_text()));
  Producer& producer = file.producer;
  producer.tool = *arbitrary_text();
  producer.host = *arbitrary_text();
  producer.pid = arbitrary_time();
  producer.rank = arbitrary_time();
  producer.device_uuids = *rc::gen::container<std::vector<std::string>>(arbitrary_text());
  producer.driver_version = arbitrary_time();
  producer.cupti_version = arbitrary_time();
  producer.cupti_path = *arbitrary_text();
  producer.observer = *arbitrary_text();
  producer.clock_unix_ns = arbitrary_time();
  producer.clock_cupti_ns = arbitrary_time();
  const auto counts = *rc::gen::container<std::vector<std::pair<std::string, std::uint64_t>>>(
      rc::gen::pair(arbitrary_text(), rc::gen::arbitrary<std::uint64_t>()));
  producer.counts = {counts.begin(), counts.end()};
  for (const std::uint32_t id : arbitrary_ids()) {
    if (*rc::gen::arbitrary<bool>()) {
      GraphRecord& graph = file.graphs.emplace_back();
      graph.id = {id};
      if (*rc::gen::arbitrary<bool>()) graph.label = std::make_shared<const Json>(*arbitrary_json());
      graph.runs = arbitrary_runs(file);
      if (*rc::gen::arbitrary<bool>()) graph.nodes = arbitrary_counts();
      graph.body_nodes = arbitrary_counts();
      graph.created_ns = arbitrary_time();
      graph.destroyed_ns = arbitrary_time();
    } else {
      ExecRecord& exec = file.execs.emplace_back();
      exec.id = {id};
      exec.template_graph = {*rc::gen::inRange<std::uint32_t>(0, 12)};
      exec.template_ids = *rc::gen::element(0u, 3u, 8u, 0xffffffffu);
      exec.placement = arbitrary_runs(file, exec.template_ids);
      exec.overrides = arbitrary_runs(file);
      exec.created_ns = arbitrary_time();
      exec.destroyed_ns = arbitrary_time();
    }
  }
  return file;
}

void expect_equal(const AnnotationFile& a, const AnnotationFile& b) {
  RC_ASSERT(a.producer.tool == b.producer.tool && a.producer.host == b.producer.host && a.producer.pid == b.producer.pid);
  RC_ASSERT(a.producer.rank == b.producer.rank && a.producer.device_uuids == b.producer.device_uuids);
  RC_ASSERT(a.producer.driver_version == b.producer.driver_version && a.producer.cupti_version == b.producer.cupti_version);
  RC_ASSERT(a.producer.cupti_path == b.producer.cupti_path && a.producer.observer == b.producer.observer);
  RC_ASSERT(a.producer.clock_unix_ns == b.producer.clock_unix_ns && a.producer.clock_cupti_ns == b.producer.clock_cupti_ns);
  RC_ASSERT(a.producer.counts == b.producer.counts);
  RC_ASSERT(a.annotations.size() == b.annotations.size());
  for (std::size_t i = 0; i < a.annotations.size(); ++i) {
    const auto id = static_cast<AnnotationId>(i);
    RC_ASSERT(dump_json(*a.annotations[id].object) == dump_json(*b.annotations[id].object));
    RC_ASSERT(a.annotations[id].path == b.annotations[id].path);
  }
  RC_ASSERT(a.graphs.size() == b.graphs.size());
  for (std::size_t i = 0; i < a.graphs.size(); ++i) {
    const GraphRecord &x = a.graphs[i], &y = b.graphs[i];
    RC_ASSERT(x.id == y.id && x.runs == y.runs && x.nodes == y.nodes && x.body_nodes == y.body_nodes);
    RC_ASSERT(x.created_ns == y.created_ns && x.destroyed_ns == y.destroyed_ns);
    RC_ASSERT((x.label == nullptr) == (y.label == nullptr));
    if (x.label != nullptr) RC_ASSERT(dump_json(*x.label) == dump_json(*y.label));
  }
  RC_ASSERT(a.execs.size() == b.execs.size());
  for (std::size_t i = 0; i < a.execs.size(); ++i) {
    const ExecRecord &x = a.execs[i], &y = b.execs[i];
    RC_ASSERT(x.id == y.id && x.template_graph == y.template_graph && x.template_ids == y.template_ids);
    RC_ASSERT(x.placement == y.placement && x.overrides == y.overrides);
    RC_ASSERT(x.created_ns == y.created_ns && x.destroyed_ns == y.destroyed_ns);
  }
}

RC_GTEST_PROP(AnnotationFile, ReadsBackWhatItWrote, ()) {
  const AnnotationFile file = arbitrary_file();
  const std::string text = write_annotation_file(file);
  const auto back = parse_annotation_file(text, "x");
  if (!back) RC_FAIL(back.error().to_string());
  RC_ASSERT(back->notes.empty());
  expect_equal(file, *back);
  RC_ASSERT(write_annotation_file(*back) == text);
}

// What the drawing in annotation_file.h says, node by node.
Resolution plain_run(const std::vector<graphtag::Run>& runs, std::uint32_t local) {
  Resolution found{AnnotationId::none, Origin::outside_scope};
  for (const graphtag::Run& run : runs) {
    if (run.first.value <= local) found = {run.annotation, run.origin};
  }
  return found;
}

Resolution plain_resolve(const AnnotationFile& file, std::uint32_t id, std::uint32_t local) {
  std::uint32_t graph_id = id;
  for (const ExecRecord& exec : file.execs) {
    if (exec.id.value != id) continue;
    for (const graphtag::Run& run : exec.overrides) {
      if (run.first.value == local) return {run.annotation, run.origin};
    }
    if (local >= exec.template_ids) return plain_run(exec.placement, local);
    if (exec.template_graph.value == 0) return {AnnotationId::none, Origin::unknown_graph};
    graph_id = exec.template_graph.value;
  }
  for (const GraphRecord& graph : file.graphs) {
    if (graph.id.value == graph_id) return plain_run(graph.runs, local);
  }
  return {AnnotationId::none, Origin::unknown_graph};
}

RC_GTEST_PROP(AnnotationFile, ResolvesAsThePlainTwin, ()) {
  const AnnotationFile file = arbitrary_file();
  for (std::uint32_t id = 0; id < 13; ++id) {
    for (const std::uint32_t local :
         {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, 0xfffffffdu, 0xfffffffeu, 0xffffffffu}) {
      const Resolution found = file.resolve(NodeId(GraphId{id}, LocalId{local}));
      const Resolution expected = plain_resolve(file, id, local);
      RC_ASSERT(found.annotation == expected.annotation && found.origin == expected.origin);
    }
  }
}

// A torch file's graphs, written in graphtag's schema, resolve as before.
RC_GTEST_PROP(AnnotationFile, ImportedNodesSurviveConversion, ()) {
  std::map<std::uint64_t, std::string> names;
  for (int i = 0; i < 12; ++i) {
    const auto graph = *rc::gen::element<std::uint64_t>(0, 1, 7, 0xffffffff);
    const auto local = *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 5, 0xfffffffe, 0xffffffff);
    names[graph << 32 | local] = *rc::gen::element<std::string>("a", "b");
  }
  Json json = Json::object();
  for (const auto& [node, name] : names) json[std::to_string(node)] = Json::array({name});
  const auto imported = parse_annotation_file(json.dump(), "x");
  if (!imported) RC_FAIL(imported.error().to_string());
  const auto converted = parse_annotation_file(write_annotation_file(*imported), "y");
  if (!converted) RC_FAIL(converted.error().to_string());
  for (const std::uint64_t graph : {0ull, 1ull, 7ull, 0xffffffffull}) {
    for (const std::uint64_t local : {0ull, 1ull, 2ull, 3ull, 4ull, 5ull, 6ull, 0xfffffffdull, 0xfffffffeull, 0xffffffffull}) {
      const std::uint64_t node = graph << 32 | local;
      const auto name = names.find(node);
      const AnnotationFile* const files[] = {&*imported, &*converted};
      for (const AnnotationFile* file : files) {
        const Resolution found = file->resolve(NodeId(node));
        RC_ASSERT(file->annotations[found.annotation].name == (name == names.end() ? "" : name->second));
        RC_ASSERT(is_provenance(found.origin) == (name != names.end()));
      }
    }
  }
}

}  // namespace
}  // namespace graphtag
