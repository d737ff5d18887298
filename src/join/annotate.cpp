#include "join/annotate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "join/ambiguous_sources.h"
#include "join/args_names.h"
#include "join/earlier_run.h"
#include "join/lanes.h"
#include "join/member_shapes.h"
#include "join/overlay.h"
#include "join/own_names.h"
#include "join/tokens.h"

namespace graphtag {
namespace {

bool is_graphed(const Event& event) {
  return is_gpu_operation(event.kind) && event.graph_id != 0;
}

bool are_all_among(const std::vector<std::string>& all, const std::vector<std::string>& keys) {
  const std::unordered_set<std::string_view> known(all.begin(), all.end());
  return std::all_of(keys.begin(), keys.end(), [&known](const std::string& key) { return known.contains(key); });
}

// What does not change while a trace is read: the annotations that fit it, and where its operations belong.
class Job {
 public:
  Job(const std::string& trace_path, const AnnotateOptions& options) : trace_path_(trace_path), options_(options) {}

  Result<void> open(const std::vector<AnnotationSource>& sources) {
    ReadOptions read = options_.read;
    read.survey = true;  // the keys are written before the events
    Result<FitResult> fit = choose_sources_for(trace_path_, sources, options_.force ? Fit::forced : options_.fit, read);
    if (!fit) return fit.error();
    passed_over = std::move(fit->passed_over);
    unlisted_keys = fit->info.unlisted_keys;
    fitting_ = fit->fitting;
    ambiguity = ambiguity_of(fitting_);
    annotations = AnnotationSet(fit->fitting, fit->info.annotation_keys);
    const std::optional<EarlierRun> earlier = earlier_run(fit->info);
    // Keys that an earlier run did not have from these files were the trace's own: what it wrote of them stays.
    const bool stays = earlier && earlier->same_inputs(annotations.inputs()) && !are_all_among(annotations.keys(), earlier->keys);
    if (stays) annotations = AnnotationSet(fit->fitting, earlier->keys);
    own_names_.emplace(annotations);
    if (stays) {
      args_names_.emplace(*earlier, annotations.annotations());
      overlay_.emplace(annotations.annotations());
    }
    if (options_.lanes == Lanes::all && annotations.empty() && fit->info.annotations == nullptr) {
      return fail(
          "lanes are made from annotations, and there are none for this trace; give their file with -a, or leave --lanes out");
    }
    goes_back_ = options_.lanes == Lanes::none && earlier && earlier->lanes == Lanes::all;
    return check_not_annotated(fit->info);
  }

  // After reading: what the trace says behind its events.
  Result<void> check_again(const TraceInfo& info) const {
    if (Result<void> fits = require_still_fit(fitting_, info, options_.force ? Fit::forced : options_.fit); !fits) return fits;
    return check_not_annotated(info);
  }

  // Asked again after reading: the mark may stand behind the events.
  Result<void> check_not_annotated(const TraceInfo& info) const {
    constexpr const char* kAdvice = "; annotate the trace as the profiler wrote it, or this one all the same with --force";
    if (options_.force) return {};
    if (const std::optional<EarlierRun> run = earlier_run(info)) {
      if (!run->same_inputs(annotations.inputs())) {
        return fail(
            std::string("annotated already, ") +
            (annotations.empty()
                 ? "and no annotation file is given; give those that its names came from with -a"
                 : "not from these annotation files; give those that it was, or annotate the trace as the profiler wrote it") +
            "; --force annotates this one anew, without the names that it has");
      }
      if (!run->same_lanes(options_.lanes, options_.default_stream))
        return fail(std::string("annotated already, with other lanes") + kAdvice);
    } else if (info.annotated) {
      return fail(std::string("annotated already, by PyTorch's exporter") + kAdvice);
    }
    return {};
  }

  void begin(const TraceInfo& info) { own_names_->begin(info); }
  Resolution resolve(const Event& event) {
    Resolution resolution = own_names_->resolve(event);
    if (!args_names_) return resolution;
    if (resolution.origin == Origin::no_annotations) resolution.origin = Origin::outside_scope;
    args_names_->look_at(event);
    const AnnotationId in_args = args_names_->annotation();
    if (in_args == AnnotationId::none) return resolution;
    if (!is_provenance(resolution.origin)) resolution.origin = Origin::callback;  // whoever wrote it knew the node
    resolution.annotation = overlay_->lay(resolution.annotation, in_args);
    return resolution;
  }
  bool has_names() const { return own_names_->any() || !annotations.empty(); }

  // Whether operations move at all. Then a first pass says which.
  bool moves() const { return options_.lanes == Lanes::all || goes_back_; }

  // The lane that an operation moves to; nothing if it stays.
  std::optional<std::int64_t> lane_of(const Event& event, AnnotationId id) {
    if (!moves() || !is_graphed(event)) return std::nullopt;
    std::optional<std::int64_t> lane = options_.default_stream;
    if (goes_back_) {
      lane = original_stream(event);
    } else if (const auto& asked = annotations.annotations()[id].stream) {
      lane = asked;
    }
    const bool there = !lane || (integer_of(event.text(event.tid)) == lane && (!event.stream || event.stream == lane));
    return there ? std::nullopt : lane;
  }

  // What an annotation calls the lane that it asks for; empty if it does not ask, or has no name for it.
  std::string_view lane_name(AnnotationId id) {
    const auto [found, added] = lane_names_.try_emplace(id);
    if (added && annotations.annotations()[id].stream) {
      const Json& object = *annotations.annotations()[id].object;
      if (const auto name = object.find("Process Group Description"); name != object.end()) {
        found->second = name->is_string() ? name->get<std::string>() : dump_json(*name);
      }
    }
    return found->second;
  }

  AnnotationSet annotations;
  std::vector<std::string> passed_over;
  std::optional<std::string> ambiguity;
  std::uint64_t unlisted_keys = 0;

 private:
  Result<void> fail(std::string message) const { return Error{ErrorCode::invalid_argument, std::move(message), trace_path_, {}}; }

  // Where an earlier run with lanes moved the operation from.
  std::optional<std::int64_t> original_stream(const Event& event) {
    const int index = shapes_.of(event).index_of("original_stream");
    return index < 0 ? std::nullopt : integer_of(event.text(event.members[static_cast<std::size_t>(index)].value));
  }

  const std::string& trace_path_;
  const AnnotateOptions& options_;
  std::vector<const AnnotationSource*> fitting_;
  bool goes_back_ = false;               // nothing is to be moved, and an earlier run moved
  std::optional<OwnNames> own_names_;    // from open() on
  std::optional<ArgsNames> args_names_;  // where what an earlier run wrote stays
  std::optional<Overlay> overlay_;       // with args_names_
  MemberShapes shapes_;
  boost::unordered_flat_map<AnnotationId, std::string> lane_names_;
};

// First pass: which operations move, and which lanes there are.
class Collector final : public EventVisitor {
 public:
  Collector(Job& job, LanePlan& plan) : job_(job), plan_(plan) {}

  Result<void> on_events_begin(const TraceInfo& info) override {
    job_.begin(info);
    return {};
  }

  Result<void> on_event(const Event& event) override {
    if (is_gpu_operation(event.kind)) {
      const AnnotationId id = job_.resolve(event).annotation;
      plan_.add_operation(event, job_.lane_of(event, id), job_.lane_name(id));
    } else if (event.kind == EventKind::metadata) {
      plan_.add_metadata(event);
    }
    return {};
  }

 private:
  Job& job_;
  LanePlan& plan_;
};

// The pass that hands the events on.
class Annotator final : public EventVisitor {
 public:
  Annotator(Job& job, LanePlan* plan, const AnnotateOptions& options, NamedEventConsumer& consumer)
      : job_(job), plan_(plan), options_(options), consumer_(consumer) {}

  Result<void> on_member(std::string_view key, std::string_view value, bool after_events) override {
    return consumer_.member(key, value, after_events);
  }

  Result<void> on_events_begin(const TraceInfo& info) override {
    job_.begin(info);
    return consumer_.begin({&info, &job_.annotations, options_.lanes, options_.default_stream});
  }

  Result<void> on_event(const Event& event) override {
    NamedEvent named{event, AnnotationId::none, Origin::no_node_id, std::nullopt};
    if (is_gpu_operation(event.kind)) {
      const Resolution resolution = job_.resolve(event);
      named.annotation = resolution.annotation;
      named.origin = resolution.origin;
      if (plan_ != nullptr) named.lane = job_.lane_of(event, resolution.annotation);
      count(event, resolution);
    } else if (plan_ != nullptr && event.kind == EventKind::flow_end) {
      named.lane = plan_->lane_of_flow_end(event);
    } else if (plan_ != nullptr && event.kind == EventKind::gpu_annotation && plan_->lost_all_work(event)) {
      ++dropped_slices;
      return {};
    }
    return consumer_.event(named);
  }

  Coverage coverage;
  std::uint64_t dropped_slices = 0;

 private:
  void count(const Event& event, const Resolution& resolution) {
    if (!event.start_ns || event.duration_ns < 0) return;  // the reader has noted it
    if (event.graph_id == 0) {
      ++coverage.outside_graphs;
      return;
    }
    ++coverage.records;
    coverage.sum_ns = saturating_add(coverage.sum_ns, event.duration_ns);
    if (is_provenance(resolution.origin)) {
      ++coverage.named;
      coverage.named_sum_ns = saturating_add(coverage.named_sum_ns, event.duration_ns);
    } else {
      ++coverage.unnamed[resolution.origin];
    }
  }

  Job& job_;
  LanePlan* plan_;  // null: nothing moves
  const AnnotateOptions& options_;
  NamedEventConsumer& consumer_;
};

std::string warning_about(const Coverage& coverage, const Job& job) {
  if (coverage.named != 0) return {};
  if (coverage.records == 0) return "the trace has no GPU record of a CUDA graph: profile a stretch in which graphs are replayed";
  const auto without_id = coverage.unnamed.find(Origin::no_node_id);
  if (without_id != coverage.unnamed.end() && without_id->second == coverage.records) {
    return "the GPU records of graphs carry no node id: let the profiler trace graphs node by node";
  }
  if (job.annotations.empty() && job.has_names()) {
    return "no NVTX range was open when the nodes of the graphs were created, as far as the trace knows: record the capture of "
           "the graphs as well, "
           "with NVTX, or give annotations with -a";
  }
  return std::string(!job.annotations.empty() ? "no node id of the trace is in the annotations: "
                                              : "no annotations for this trace: give their file with -a; where there is none, ") +
         "record them in the process that is profiled, open the scopes while its graphs are captured, and write the annotation "
         "file after the last graph is instantiated";
}

// Of one of several passes over a file, as if they were one.
ReadOptions pass_of(const ReadOptions& options, std::uint64_t pass, std::uint64_t passes) {
  if (!options.progress || passes == 1) return options;
  ReadOptions part = options;
  part.progress = [progress = options.progress, pass, passes](std::uint64_t consumed, std::uint64_t size) {
    progress((pass * size + consumed) / passes, size);
  };
  return part;
}

}  // namespace

Result<AnnotateOutcome> annotate_trace(const std::string& trace_path, const std::vector<AnnotationSource>& sources,
                                       const AnnotateOptions& options, NamedEventConsumer& consumer) {
  Job job(trace_path, options);
  if (Result<void> opened = job.open(sources); !opened) return opened.error();
  const std::uint64_t passes = job.moves() ? 2 : 1;
  LanePlan plan;
  if (job.moves()) {
    Collector collector(job, plan);
    if (Result<ReadResult> read = read_trace(trace_path, collector, pass_of(options.read, 0, passes)); !read) return read.error();
    plan.finish_collecting();
  }
  Annotator annotator(job, job.moves() ? &plan : nullptr, options, consumer);
  Result<ReadResult> read = read_trace(trace_path, annotator, pass_of(options.read, passes - 1, passes));
  if (!read) return read.error();
  if (Result<void> checked = job.check_again(read->info); !checked) return checked.error();
  if (Result<void> finished = consumer.finish(plan.new_lanes(), annotator.coverage, *read); !finished) return finished.error();

  AnnotateOutcome outcome;
  outcome.read = *std::move(read);
  outcome.coverage = std::move(annotator.coverage);
  outcome.passed_over = std::move(job.passed_over);
  outcome.dropped_slices = annotator.dropped_slices;
  if (std::string warning = warning_about(outcome.coverage, job); !warning.empty())
    outcome.warnings.push_back(std::move(warning));
  if (job.ambiguity) outcome.warnings.push_back(*std::move(job.ambiguity));
  if (job.unlisted_keys != 0)
    outcome.warnings.push_back("the annotations have too many keys: " + std::to_string(job.unlisted_keys) +
                               " times one is written that what is written does not list as an annotation's");
  return outcome;
}

}  // namespace graphtag
