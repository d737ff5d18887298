// graphtag for C++20: a thin layer over graphtag.h, which explains what everything means.
//
//   gt::Window window;                                     // before the capture begins
//   cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
//   {
//     gt::Scope scope{"decoder.attention"};                // every node created from here to the brace is "decoder.attention"
//     attention<<<grid, block, 0, stream>>>(...);
//   }
//   cudaStreamEndCapture(stream, &graph);
//   cudaGraphInstantiate(&exec, graph, 0);
//   window.close();
//   gt::snapshot("app.annotations.json");
//
// Errors: each function throws gt::Error, or takes a std::error_code& as its last argument and does not throw.
#ifndef GRAPHTAG_GRAPHTAG_HPP
#define GRAPHTAG_GRAPHTAG_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "graphtag/graphtag.h"

namespace gt {

// --- Errors ---

inline const std::error_category& error_category() noexcept {
  class Category final : public std::error_category {
    const char* name() const noexcept override { return "graphtag"; }
    std::string message(int status) const override {
      const char* text = gt_status_name(status);
      return text == nullptr ? "unknown status" : text;
    }
  };
  static const Category category;
  return category;
}

inline std::error_code to_error_code(gt_status status) noexcept {
  return {status, error_category()};
}

// code() is the gt_status, what() says what went wrong and what to do.
class Error : public std::system_error {
 public:
  explicit Error(gt_status status) : std::system_error(to_error_code(status), gt_last_error()) {}
  gt_status status() const noexcept { return code().value(); }
};

namespace detail {

inline void check(gt_status status) {
  if (status != GT_OK) throw Error(status);
}
inline void store(gt_status status, std::error_code& error) noexcept {
  error = to_error_code(status);
}

// A "text out" of graphtag.h as a string; it may grow between the two calls.
template <typename Ask>
gt_status take_text(std::string& text, Ask ask) {
  std::size_t length = 0;
  gt_status status = ask(nullptr, 0, &length);
  while (status == GT_OK) {
    text.resize(length + 1);
    status = ask(text.data(), text.size(), &length);
    if (status == GT_OK) {
      text.resize(length);
      return status;
    }
    if (status == GT_ERROR_BUFFER_TOO_SMALL) status = GT_OK;
  }
  text.clear();
  return status;
}

}  // namespace detail

// --- Can it work here? ---

enum class Observer : std::uint32_t {
  automatic = GT_OBSERVER_AUTO,
  callbacks = GT_OBSERVER_CALLBACKS,
  boundary = GT_OBSERVER_BOUNDARY,
  none = GT_OBSERVER_NONE  // keeps scopes for windows that open within them
};

// Whether recording can work here; if not, `why` (where given) says why not.
inline bool available(Observer observer = Observer::automatic) noexcept {
  return gt_available(static_cast<gt_observer>(observer)) == GT_OK;
}
inline bool available(Observer observer, std::string& why) {
  const bool works = available(observer);
  why = works ? "" : gt_last_error();
  return works;
}

// Whether scopes count now: one relaxed load.
inline bool active() noexcept {
  return gt_active() != 0;
}

// JSON; `flags` of GT_DOCTOR_*.
inline std::string doctor(std::uint32_t flags = 0) {
  std::string text;
  detail::check(
      detail::take_text(text, [flags](char* b, std::size_t c, std::size_t* l) { return gt_doctor_json(flags, b, c, l); }));
  return text;
}

// --- Annotations ---

// A JSON object, stored once in the process: a number to pass around.
class Annotation {
 public:
  Annotation() = default;  // none
  explicit Annotation(gt_annotation handle) noexcept : handle_(handle) {}
  // {"name": name}
  explicit Annotation(std::string_view name) { detail::check(gt_annotation_from_name(name.data(), name.size(), &handle_)); }
  Annotation(std::string_view name, std::error_code& error) noexcept {
    detail::store(gt_annotation_from_name(name.data(), name.size(), &handle_), error);
  }
  Annotation(std::nullptr_t) = delete;

  // From a JSON object, or a JSON string that names.
  static Annotation from_json(std::string_view json) {
    Annotation annotation;
    detail::check(gt_annotation_from_json(json.data(), json.size(), &annotation.handle_));
    return annotation;
  }
  static Annotation from_json(std::string_view json, std::error_code& error) noexcept {
    Annotation annotation;
    detail::store(gt_annotation_from_json(json.data(), json.size(), &annotation.handle_), error);
    return annotation;
  }
  // `inner` laid over this one.
  Annotation with(Annotation inner) const {
    Annotation merged;
    detail::check(gt_annotation_merge(handle_, inner.handle_, &merged.handle_));
    return merged;
  }

  explicit operator bool() const noexcept { return handle_.value != 0; }
  gt_annotation handle() const noexcept { return handle_; }
  // The object as JSON; with GT_JSON_PATH its path too.
  std::string json(std::uint32_t flags = 0) const {
    std::string text;
    detail::check(detail::take_text(
        text, [&](char* b, std::size_t c, std::size_t* l) { return gt_annotation_json(handle_, flags, b, c, l); }));
    return text;
  }
  friend bool operator==(Annotation a, Annotation b) noexcept { return a.handle_.value == b.handle_.value; }

 private:
  gt_annotation handle_{0};
};

// A name that is looked up once: for a scope that is entered often.
//
//   static gt::Name attention{"decoder.attention"};
//   gt::Scope scope{attention};
//
// Keeps a pointer to the text, so it takes literals alone.
class Name {
 public:
  template <std::size_t N>
  constexpr explicit Name(const char (&literal)[N]) noexcept : text_(literal), length_(N - 1) {}
  explicit Name(const std::string&) = delete;
  explicit Name(std::string&&) = delete;
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;

  // The annotation {"name": text}.
  gt_status get(gt_annotation& annotation) noexcept {
    annotation.value = handle_.load(std::memory_order_relaxed);
    if (annotation.value != 0) return GT_OK;
    return look_up(annotation);
  }
  // Looks it up anew: after fork() the old handle is not valid.
  gt_status look_up(gt_annotation& annotation) noexcept {
    const gt_status status = gt_annotation_from_name(text_, length_, &annotation);
    if (status == GT_OK) handle_.store(annotation.value, std::memory_order_relaxed);
    return status;
  }

 private:
  const char* text_;
  std::size_t length_;
  std::atomic<std::uint64_t> handle_{0};
};

// --- Scopes ---

// From its construction to its destruction, on one thread, nodes get the annotation. One relaxed load while nothing is recorded.
class [[nodiscard]] Scope {
 public:
  [[nodiscard]] explicit Scope(std::string_view name) {
    if (gt_active()) detail::check(open(name));
  }
  [[nodiscard]] explicit Scope(Annotation annotation) {
    if (gt_active()) detail::check(gt_scope_open(annotation.handle(), &handle_));
  }
  [[nodiscard]] explicit Scope(Name& name) {
    if (gt_active()) detail::check(open(name));
  }
  [[nodiscard]] Scope(std::string_view name, std::error_code& error) noexcept {
    error.clear();
    if (gt_active()) detail::store(open(name), error);
  }
  [[nodiscard]] Scope(Annotation annotation, std::error_code& error) noexcept {
    error.clear();
    if (gt_active()) detail::store(gt_scope_open(annotation.handle(), &handle_), error);
  }
  [[nodiscard]] Scope(Name& name, std::error_code& error) noexcept {
    error.clear();
    if (gt_active()) detail::store(open(name), error);
  }
  Scope(std::nullptr_t) = delete;
  Scope(Name&&) = delete;  // a Name that is not kept is looked up every time
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { end(); }

  // Ends it now.
  void end() noexcept {
    if (handle_.value != 0) gt_scope_close(std::exchange(handle_, gt_scope{0}));
  }

  // The merged scopes of this thread, to be opened on another one.
  static Annotation current() {
    gt_annotation annotation{0};
    detail::check(gt_scope_current(&annotation));
    return Annotation(annotation);
  }

 private:
  gt_status open(std::string_view name) noexcept {
    gt_annotation annotation;
    const gt_status status = gt_annotation_from_name(name.data(), name.size(), &annotation);
    return status == GT_OK ? gt_scope_open(annotation, &handle_) : status;
  }
  gt_status open(Name& name) noexcept {
    gt_annotation annotation;
    gt_status status = name.get(annotation);
    if (status == GT_OK) status = gt_scope_open(annotation, &handle_);
    if (status != GT_ERROR_INVALID_HANDLE) return status;
    status = name.look_up(annotation);
    return status == GT_OK ? gt_scope_open(annotation, &handle_) : status;
  }

  gt_scope handle_{0};
};

// --- Windows ---

struct WindowOptions {
  Observer observer = Observer::automatic;
  bool all_streams = false;            // `streams` and add_stream name every stream that captures
  std::vector<const void*> streams{};  // CUstream or cudaStream_t
};

// While it lives, nodes are observed.
class [[nodiscard]] Window {
 public:
  [[nodiscard]] Window() : Window(WindowOptions{}) {}
  [[nodiscard]] explicit Window(const WindowOptions& options) { detail::check(open(options)); }
  // Not open if `error` is set.
  [[nodiscard]] Window(const WindowOptions& options, std::error_code& error) noexcept { detail::store(open(options), error); }
  Window(Window&& other) noexcept : handle_(std::exchange(other.handle_, gt_window{0})) {}
  Window& operator=(Window&& other) noexcept {
    if (this != &other) {
      close();
      handle_ = std::exchange(other.handle_, gt_window{0});
    }
    return *this;
  }
  ~Window() { close(); }

  void close() noexcept {
    if (handle_.value != 0) gt_window_close(std::exchange(handle_, gt_window{0}));
  }
  explicit operator bool() const noexcept { return handle_.value != 0; }
  gt_window handle() const noexcept { return handle_; }

  void add_stream(const void* stream) { detail::check(gt_window_add_stream(handle_, stream)); }
  void add_stream(const void* stream, std::error_code& error) noexcept {
    detail::store(gt_window_add_stream(handle_, stream), error);
  }
  // Observer::callbacks or boundary; none while only windows with that are open.
  Observer observer() const {
    gt_observer observer = GT_OBSERVER_AUTO;
    detail::check(gt_window_observer(handle_, &observer));
    return static_cast<Observer>(observer);
  }

 private:
  gt_status open(const WindowOptions& options) noexcept {
    gt_window_options c{};
    c.size = sizeof c;
    c.observer = static_cast<gt_observer>(options.observer);
    c.flags = options.all_streams ? GT_WINDOW_ALL_STREAMS : 0;
    c.streams = options.streams.data();
    c.stream_count = options.streams.size();
    return gt_window_open(&c, &handle_);
  }

  gt_window handle_{0};
};

// --- Recordings ---

// Another profiler of the process is about to start: a recording that goes on writes everything and ends, and CUPTI is free (gt_make_way).
inline void make_way() {
  detail::check(gt_make_way());
}
inline void make_way(std::error_code& error) noexcept {
  detail::store(gt_make_way(), error);
}

struct RecordingOptions {
  bool api = true;                                           // CUDA calls of the host too
  bool annotations = false;                                  // an annotation file beside it at the end
  std::uint64_t max_bytes{};                                 // 0: no limit
  std::uint32_t buffer_count{}, buffer_bytes{}, flush_ms{};  // 0: as graphtag.h has them
  std::string metadata{};                                    // a JSON object; empty: none
};

// While it lives, what the GPUs do goes into a Perfetto trace.
class [[nodiscard]] Recording {
 public:
  [[nodiscard]] explicit Recording(std::string_view path, const RecordingOptions& options = {}) {
    detail::check(begin(path, options));
  }
  // Not going on if `error` is set.
  [[nodiscard]] Recording(std::string_view path, const RecordingOptions& options, std::error_code& error) noexcept {
    detail::store(begin(path, options), error);
  }
  Recording(Recording&& other) noexcept : handle_(std::exchange(other.handle_, gt_recording{0})) {}
  Recording& operator=(Recording&& other) noexcept {
    if (this != &other) {
      std::error_code ignored;
      end(ignored);
      handle_ = std::exchange(other.handle_, gt_recording{0});
    }
    return *this;
  }
  ~Recording() {
    std::error_code ignored;
    end(ignored);
  }

  explicit operator bool() const noexcept { return handle_.value != 0; }
  gt_recording handle() const noexcept { return handle_; }

  // Ends it now. Throws where something could not be written.
  gt_record_stats end() {
    gt_record_stats stats = empty_stats();
    if (handle_.value != 0) detail::check(gt_record_end(std::exchange(handle_, gt_recording{0}), &stats));
    return stats;
  }
  gt_record_stats end(std::error_code& error) noexcept {
    gt_record_stats stats = empty_stats();
    error.clear();
    if (handle_.value != 0) detail::store(gt_record_end(std::exchange(handle_, gt_recording{0}), &stats), error);
    return stats;
  }
  void flush(std::uint32_t timeout_ms) { detail::check(gt_record_flush(handle_, timeout_ms)); }
  void flush(std::uint32_t timeout_ms, std::error_code& error) noexcept {
    detail::store(gt_record_flush(handle_, timeout_ms), error);
  }
  gt_record_stats stats() const {
    gt_record_stats stats = empty_stats();
    detail::check(gt_record_stats_get(handle_, &stats));
    return stats;
  }

 private:
  static gt_record_stats empty_stats() noexcept {
    gt_record_stats stats{};
    stats.size = sizeof stats;
    return stats;
  }
  gt_status begin(std::string_view path, const RecordingOptions& options) noexcept {
    gt_record_options c{};
    c.size = sizeof c;
    c.flags =
        (options.api ? 0U : std::uint32_t{GT_RECORD_NO_API}) | (options.annotations ? std::uint32_t{GT_RECORD_ANNOTATIONS} : 0U);
    c.buffer_count = options.buffer_count;
    c.buffer_bytes = options.buffer_bytes;
    c.flush_ms = options.flush_ms;
    c.max_bytes = options.max_bytes;
    c.path = path.data();
    c.path_length = path.size();
    c.metadata = options.metadata.empty() ? nullptr : options.metadata.data();
    c.metadata_length = options.metadata.size();
    return gt_record_begin(&c, &handle_);
  }

  gt_recording handle_{0};
};

// --- Graphs: handles of the CUDA driver or runtime ---

inline void label_graph(const void* graph, std::string_view json) {
  detail::check(gt_label_graph(graph, json.data(), json.size()));
}
inline void label_graph(const void* graph, std::string_view json, std::error_code& error) noexcept {
  detail::store(gt_label_graph(graph, json.data(), json.size()), error);
}
inline void link_exec(const void* exec, const void* graph) {
  detail::check(gt_link_exec(exec, graph));
}
inline void link_exec(const void* exec, const void* graph, std::error_code& error) noexcept {
  detail::store(gt_link_exec(exec, graph), error);
}
inline void link_body(const void* node, std::initializer_list<const void*> bodies) {
  detail::check(gt_link_body(node, bodies.begin(), bodies.size()));
}
inline void link_body(const void* node, std::initializer_list<const void*> bodies, std::error_code& error) noexcept {
  detail::store(gt_link_body(node, bodies.begin(), bodies.size()), error);
}

// --- Answers ---

struct Resolution {
  Annotation annotation;
  gt_origin origin = GT_ORIGIN_UNKNOWN_GRAPH;
  std::string_view origin_name() const noexcept {
    const char* name = gt_origin_name(origin);
    return name == nullptr ? std::string_view{} : name;
  }
};

// What a record with this node id, at this Unix time in ns, is to be called.
inline Resolution resolve(std::uint64_t node_id, std::int64_t time_ns = GT_NOW) {
  gt_resolution c{};
  c.size = sizeof c;
  detail::check(gt_resolve(node_id, time_ns, &c));
  return {Annotation(c.annotation), c.origin};
}

inline void snapshot(std::string_view path) {
  detail::check(gt_snapshot_file(path.data(), path.size()));
}
inline void snapshot(std::string_view path, std::error_code& error) noexcept {
  detail::store(gt_snapshot_file(path.data(), path.size()), error);
}
// The same as a text.
inline std::string snapshot_text() {
  std::string text;
  detail::check(detail::take_text(text, [](char* b, std::size_t c, std::size_t* l) { return gt_snapshot_buffer(b, c, l); }));
  return text;
}

inline void forget() {
  detail::check(gt_forget());
}

inline gt_counters counters() {
  gt_counters c{};
  c.size = sizeof c;
  detail::check(gt_counters_get(&c));
  return c;
}

}  // namespace gt

#endif
