#include "write/outcome.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/version.h"

namespace graphtag {

bool is_outcome_member(std::string_view key) {
  return key == "cudaGraphInlineAnnotated" || key == "graphtag" || key == "graphtagCoverage";
}

std::string describe_run(const AnnotatedTrace& trace) {
  Json inputs = Json::array();
  for (const AnnotationInput& input : trace.annotations->inputs())
    inputs.push_back({{"name", input.name}, {"sha256", input.sha256}});
  return dump_json({{"version", kVersion},
                    {"keys", trace.annotations->keys()},
                    {"lanes", trace.lanes == Lanes::all ? "all" : "none"},
                    {"default_stream", trace.default_stream},
                    {"inputs", std::move(inputs)}});
}

std::string describe_coverage(const Coverage& coverage) {
  Json unnamed = Json::object();
  for (const auto& [origin, records] : coverage.unnamed) unnamed[std::string(to_string(origin))] = records;
  return dump_json({{"records", coverage.records},
                    {"named", coverage.named},
                    {"sum_ns", coverage.sum_ns},
                    {"named_sum_ns", coverage.named_sum_ns},
                    {"unnamed", std::move(unnamed)},
                    {"outside_graphs", coverage.outside_graphs}});
}

}  // namespace graphtag
