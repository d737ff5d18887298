#include "join/launch_names.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/json.h"
#include "base/utf8.h"
#include "join/tokens.h"

namespace graphtag {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// With each %XX as the byte that it stands for.
std::string decoded_text(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) {
      plain.push_back(text[i]);
    } else {
      plain.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return valid_utf8(plain);
}

Json decoded(const Json& value) {
  if (value.is_string()) return decoded_text(value.get_ref<const std::string&>());
  Json plain = value;
  if (value.is_array()) {
    for (Json& item : plain) item = decoded(item);
  } else if (value.is_object()) {
    plain = Json::object();
    for (const auto& item : value.items()) plain[decoded_text(item.key())] = decoded(item.value());
  }
  return plain;
}

// The object that a range's name is: JSON in single quotes, with quotes, backslashes, control characters, % and all that is not ASCII in its texts as %XX, since profilers write
// names without escaping them, or change these characters.
std::optional<Json> object_in(std::string_view name) {
  if (!name.starts_with("{'")) return std::nullopt;
  std::string text(name);
  std::replace(text.begin(), text.end(), '\'', '"');
  const Result<Json> parsed = parse_json(text, {}, JsonLimits{std::size_t{1} << 16, 64});
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return decoded(*parsed);
}

bool starts_before(const HostPoint& a, const HostPoint& b) {
  return std::tie(a.thread, a.time_ns) < std::tie(b.thread, b.time_ns);
}

}  // namespace

std::uint32_t LaunchNames::thread_of(const Event& event) {
  key_.assign(event.text(event.pid)).push_back(' ');
  key_.append(event.text(event.tid));
  return threads_.try_emplace(key_, static_cast<std::uint32_t>(threads_.size())).first->second;
}

// A range that is called by an object is that annotation: graphtag.torch.region({...}).
AnnotationId LaunchNames::annotation_of(std::string_view name) {
  if (name.empty() || name.starts_with("ProfilerStep#")) return AnnotationId::none;
  const auto [found, added] = annotations_.try_emplace(std::string(name), AnnotationId::none);
  if (!added) return found->second;
  const Result<AnnotationId> id = table_.intern(object_in(name).value_or(Json{{"name", name}}));
  if (id) found->second = *id;
  return found->second;
}

void LaunchNames::add_host(const Event& event) {
  if (!event.start_ns || event.duration_ns < 0) return;
  if (event.kind == EventKind::flow_start || event.kind == EventKind::flow_end) return add_flow(event);
  if (event.kind != EventKind::host_slice) return;
  if (event.correlation) {
    launches_.push_back({*event.correlation, {*event.start_ns, thread_of(event)}});
    return;
  }
  const std::string_view category = event.text(event.category);
  const HostRange range{*event.start_ns, saturating_add(*event.start_ns, event.duration_ns), 0, AnnotationId::none};
  if (category == "\"user_annotation\"") {
    const AnnotationId id = annotation_of(unescape(event.text(event.name), storage_));
    if (id != AnnotationId::none) ranges_.push_back({range.start_ns, range.end_ns, thread_of(event), id});
  } else if (category == "\"cpu_op\"" && unescape(event.text(event.name), storage_).starts_with(kEngine)) {
    operators_.push_back({range.start_ns, range.end_ns, thread_of(event), AnnotationId::none});
  }
}

void LaunchNames::add_flow(const Event& event) {
  if (event.text(event.category) != "\"fwdbwd\"") return;
  const std::optional<std::uint64_t> id = integer_of<std::uint64_t>(event.text(event.id));
  if (!id) return;
  (event.kind == EventKind::flow_start ? forward_ : backward_).push_back({*id, {*event.start_ns, thread_of(event)}});
}

void LaunchNames::add_operation(std::uint32_t index, std::uint64_t correlation) {
  wanted_.push_back({correlation, index});
}

std::vector<std::pair<std::uint32_t, HostPoint>> LaunchNames::launched() {
  std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
    return std::tie(a.correlation, a.at.thread, a.at.time_ns) < std::tie(b.correlation, b.at.thread, b.at.time_ns);
  });
  std::vector<std::pair<std::uint32_t, HostPoint>> found;
  for (const Wanted& wanted : wanted_) {
    const auto less = [](const Launch& launch, std::uint64_t correlation) { return launch.correlation < correlation; };
    const Launch* const first = std::lower_bound(launches_.begin(), launches_.end(), wanted.correlation, less);
    if (first == launches_.end() || first->correlation != wanted.correlation) continue;
    const Launch* last = first;
    while (last + 1 != launches_.end() && last[1].correlation == wanted.correlation) ++last;
    if (last->at.thread == first->at.thread) found.emplace_back(wanted.index, first->at);
  }
  return found;
}

std::vector<std::uint32_t> LaunchNames::operators_around(const std::vector<HostPoint>& points) {
  std::vector<std::uint32_t> around(points.size(), kNone);
  visit_open_ranges(operators_, points, [&](std::size_t i, std::span<const std::uint32_t> open) {
    if (!open.empty()) around[i] = open.back();
  });
  return around;
}

boost::unordered_flat_map<std::uint32_t, AnnotationId> LaunchNames::forward_names(const std::vector<std::uint32_t>& used) {
  std::sort(backward_.begin(), backward_.end(), [](const FlowEnd& a, const FlowEnd& b) { return starts_before(a.at, b.at); });
  std::stable_sort(forward_.begin(), forward_.end(), [](const FlowEnd& a, const FlowEnd& b) { return a.id < b.id; });
  boost::unordered_flat_map<std::uint32_t, AnnotationId> names;
  std::vector<std::uint32_t> of;  // the backward operators whose forward is known
  std::vector<HostPoint> points;  // where it was
  for (const std::uint32_t i : used) {
    if (i == kNone || !names.try_emplace(i, AnnotationId::none).second) continue;
    const HostRange& slice = operators_[i];
    // The flow ends where the operator begins, within the engine's slice around it.
    const auto end = std::lower_bound(backward_.begin(), backward_.end(), HostPoint{slice.start_ns, slice.thread},
                                      [](const FlowEnd& flow, const HostPoint& at) { return starts_before(flow.at, at); });
    if (end == backward_.end() || end->at.thread != slice.thread || end->at.time_ns >= slice.end_ns) continue;
    const auto start = std::lower_bound(forward_.begin(), forward_.end(), end->id,
                                        [](const FlowEnd& flow, std::uint64_t id) { return flow.id < id; });
    if (start == forward_.end() || start->id != end->id) continue;
    of.push_back(i);
    points.push_back(start->at);
  }
  visit_open_ranges(ranges_, points, [&](std::size_t i, std::span<const std::uint32_t> open) {
    AnnotationId name = AnnotationId::none;
    for (const std::uint32_t range : open) name = table_.merge(name, ranges_[range].annotation);
    if (name == AnnotationId::none) return;
    const auto [known, added] = with_phase_.try_emplace(name, name);
    if (added) {
      Json object = *table_[name].object;
      object["autograd_phase"] = "backward";
      std::vector<std::string> path = table_[name].path;
      if (const Result<AnnotationId> id = table_.intern(std::move(object), std::move(path))) known->second = *id;
    }
    names[of[i]] = known->second;
  });
  return names;
}

void LaunchNames::name(GrowArray<GpuOperation>& operations) {
  if (ranges_.empty() || wanted_.empty()) return;
  const std::vector<std::pair<std::uint32_t, HostPoint>> where = launched();
  std::vector<HostPoint> points;
  points.reserve(where.size());
  for (const auto& [index, at] : where) points.push_back(at);
  const std::vector<std::uint32_t> around = operators_around(points);
  const boost::unordered_flat_map<std::uint32_t, AnnotationId> forward = forward_names(around);

  visit_open_ranges(ranges_, points, [&](std::size_t i, std::span<const std::uint32_t> open) {
    GpuOperation& operation = operations[where[i].first];
    if (operation.annotation != AnnotationId::none) return;
    const std::uint32_t backward = around[i];
    AnnotationId name = AnnotationId::none;
    std::size_t next = 0;
    // The scopes around the call of backward(), then those of the forward, then those within the backward operator.
    if (backward != kNone) {
      for (; next < open.size() && ranges_[open[next]].start_ns < operators_[backward].start_ns; ++next)
        name = table_.merge(name, ranges_[open[next]].annotation);
      name = table_.merge(name, forward.at(backward));
    }
    for (; next < open.size(); ++next) name = table_.merge(name, ranges_[open[next]].annotation);
    if (name == AnnotationId::none) return;
    operation.annotation = name;
    operation.origin = Origin::callback;  // the program itself said so
  });
}

}  // namespace graphtag
