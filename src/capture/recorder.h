// What happens in the process is recorded here: windows say when, scopes say what nodes are called, one of two observers says
// which nodes there are, and the registry remembers.
//
//   thread 7   begin "decoder"   begin "attention"      end         end
//   graph 3         |   node 0, 1      |   node 2, 3     |   node 4  |
//   registry    3: (0, decoder) (2, decoder/attention) (4, decoder)
//
// A node gets the merged scopes of the thread that creates it, laid over those open on the thread that began the capture (that
// made the graph, for a graph built by hand). All calls may come from any thread at any time, never from a GraphObserver. None
// throws. While no window is open a scope costs one relaxed load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "capture/node_hook.h"
#include "driver/driver.h"
#include "model/annotation.h"
#include "model/ids.h"
#include "registry/registry.h"

namespace graphtag {

enum class RecordStatus : std::uint8_t {
  ok,
  unavailable,     // the driver lacks what this needs, or refused it
  busy,            // callbacks were asked for, and somebody else holds the CUPTI subscription
  invalid_handle,  // a window or a scope that is not open, or was never
  no_scope,        // an end without a begin
  wrong_thread,    // a scope is ended on the thread on which it began
  refused,         // the driver did not know the graph, node or exec graph
  not_a_body,      // a graph that holds the node, or that another node holds
  out_of_memory,
};

enum class ObserverChoice : std::uint8_t {
  automatic,
  callbacks,
  boundary,
  none,  // nothing is observed for this window: it keeps scopes, for windows that open within them
};

struct WindowOptions {
  ObserverChoice observer = ObserverChoice::automatic;
  bool all_streams = false;  // `streams` and add_stream name every stream that captures
  std::span<const StreamHandle> streams;
};

// Numbers, so that a stale or made-up one is found out; 0 is none.
enum class WindowId : std::uint64_t { none = 0 };
enum class ScopeId : std::uint64_t { none = 0 };

struct RecorderCounters {  // since the recorder began
  std::uint64_t windows_opened = 0;
  std::uint64_t scopes_begun = 0;
  std::uint64_t nodes_seen = 0;       // by callbacks, at their creation
  std::uint64_t boundaries_read = 0;  // by the boundary observer
  std::uint64_t failures = 0;         // events that could not be recorded: no memory, or a call that the driver refused
};

class Recorder {
 public:
  // `numbering_checked`: number_nested() holds on this driver (see numbering_checked()). `active_windows` is kept at the number
  // of open windows, for callers that test it inline; null: a counter of its own. Both driver and registry outlive the recorder,
  // and a recorder that ever subscribed outlives every thread that may be inside a callback.
  Recorder(Driver driver, Registry& registry, bool numbering_checked, std::uint32_t* active_windows = nullptr);
  // A better driver was found since (a library was loaded later). Only while nothing is observed; ignored else.
  void set_driver(Driver driver, bool numbering_checked) noexcept;
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // --- windows ---

  // The first open window that wants an observer chooses it, and those that open beside it share it: a window that asks for the boundary
  // observer while callbacks run gets callbacks, and one that asks for callbacks ends a boundary observer's work.
  RecordStatus open_window(const WindowOptions& options, WindowId& window) noexcept;
  // The last one that has an observer gives the CUPTI subscription back; the last one of all ends all scopes.
  RecordStatus close_window(WindowId window) noexcept;
  // Gives the CUPTI subscription back at once, to somebody else who is about to take it: windows that are open go on with the boundary observer.
  void make_way() noexcept;
  RecordStatus add_stream(WindowId window, StreamHandle stream) noexcept;
  // ObserverChoice::callbacks or boundary; none while nothing is observed.
  RecordStatus observer_of(WindowId window, ObserverChoice& observer) const noexcept;
  bool active() const noexcept { return __atomic_load_n(active_windows_, __ATOMIC_RELAXED) != 0; }

  // --- scopes of the calling thread ---

  RecordStatus begin_scope(AnnotationId annotation) noexcept;
  // Ends the innermost scope that begin_scope began; no_scope if there is none, or if nothing is recorded and so nothing was
  // begun.
  RecordStatus end_scope() noexcept;
  // `scope` is none while nothing is recorded.
  RecordStatus open_scope(AnnotationId annotation, ScopeId& scope) noexcept;
  // In any order. invalid_handle: closed already; none, and scopes of a window that is gone, are ok.
  RecordStatus close_scope(ScopeId scope) noexcept;
  // The same on any thread.
  RecordStatus close_scope_of_any_thread(ScopeId scope) noexcept;
  // The merged scopes of this thread.
  AnnotationId current() noexcept;

  // --- what the caller knows better than any observer ---

  // `exec` was just made from `graph`. The boundary observer counts the graph's nodes for the last time here.
  RecordStatus link_exec(ExecHandle exec, GraphHandle graph) noexcept;
  // `bodies` are those of the conditional `node`, in order.
  RecordStatus link_bodies(NodeHandle node, std::span<const GraphHandle> bodies) noexcept;

  // Is told of each node that a callback tells of, from now on; null: nobody.
  void set_node_hook(NodeHook hook) noexcept;

  // Brings the registry up to date: reads a boundary, counts nodes by kind. Call it before a snapshot or a resolve.
  void settle() noexcept;

  RecorderCounters counters() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::uint32_t* active_windows_;
};

// True for the drivers on which number_nested() was compared with the ids in CUPTI's records of replayed random graphs
// (tests/gpu): `driver_version` as cuDriverGetVersion says it, such as 13000.
bool numbering_checked(int driver_version);

}  // namespace graphtag
