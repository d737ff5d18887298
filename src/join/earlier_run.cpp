#include "join/earlier_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace graphtag {
namespace {

std::string string_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

bool EarlierRun::same_inputs(const std::vector<AnnotationInput>& others) const {
  return std::equal(inputs.begin(), inputs.end(), others.begin(), others.end(),
                    [](const AnnotationInput& a, const AnnotationInput& b) { return a.sha256 == b.sha256; });
}

bool EarlierRun::same_lanes(Lanes other, std::int64_t other_default_stream) const {
  return lanes == other && (lanes == Lanes::none || default_stream == other_default_stream);
}

std::optional<EarlierRun> earlier_run(const TraceInfo& info) {
  if (!info.graphtag_json) return std::nullopt;
  EarlierRun run;
  const Result<Json> parsed = parse_json(*info.graphtag_json);
  if (!parsed || !parsed->is_object()) return run;
  const Json& object = *parsed;
  if (const auto keys = object.find("keys"); keys != object.end() && keys->is_array()) {
    for (const Json& key : *keys) {
      if (key.is_string()) run.keys.push_back(key.get<std::string>());
    }
  }
  if (string_at(object, "lanes") == "all") run.lanes = Lanes::all;
  if (const auto stream = object.find("default_stream"); stream != object.end() && stream->is_number_integer()) {
    run.default_stream = stream->get<std::int64_t>();
  }
  if (const auto inputs = object.find("inputs"); inputs != object.end() && inputs->is_array()) {
    for (const Json& input : *inputs) {
      if (input.is_object()) run.inputs.push_back({string_at(input, "name"), string_at(input, "sha256")});
    }
  }
  return run;
}

}  // namespace graphtag
