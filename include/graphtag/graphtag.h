/* graphtag: names for the kernels of CUDA graphs.
 *
 * Remembers, for every node of a CUDA graph, the annotation that was open when the node was created, so that every record a
 * profiler writes about a replay of the node can be given that name.
 *
 *   gt_window_open(NULL, &window);                      before the capture begins
 *   cudaStreamBeginCapture(stream, mode);
 *   gt_enter_name("decoder.attention");                 everything created from here on, on whatever stream ...
 *   attention<<<grid, block, 0, stream>>>(args);
 *   gt_leave();                                         ... up to here is "decoder.attention"
 *   cudaStreamEndCapture(stream, &graph);
 *   cudaGraphInstantiate(&exec, graph, 0);              within the window, so that nested nodes are followed exactly
 *   gt_window_close(window);
 *   gt_snapshot_file("app.annotations.json", GT_NUL);   what `graphtag annotate` joins with a trace
 *
 * Every function may be called at any time from any thread, also where there is no GPU, and also with nonsense: wrong use is a
 * status, never a crash. None throws, prints, or changes a graph. Functions that return gt_status write their results only if the
 * status is GT_OK (buffers: see "Texts out"). Handles of graphtag are numbers, not addresses: a stale or made-up one is found
 * out. CUDA's own handles (CUgraph, CUgraphExec, CUgraphNode, CUstream; the runtime's are the same) are handed to CUDA as they
 * are, so they must be live ones. C11 or C++11 and newer.
 *
 * After fork() a child begins anew: no window, no scope, no graph, no recording, and handles of its own.
 */
#ifndef GRAPHTAG_GRAPHTAG_H
#define GRAPHTAG_GRAPHTAG_H

#include <stddef.h>
#include <stdint.h>

#define GT_VERSION_MAJOR 0
#define GT_VERSION_MINOR 1
#define GT_VERSION_PATCH 0
#define GT_VERSION (GT_VERSION_MAJOR * 10000 + GT_VERSION_MINOR * 100 + GT_VERSION_PATCH)

#if defined(__GNUC__)
#define GT_API __attribute__((visibility("default")))
#else
#define GT_API
#endif
#ifdef __cplusplus
#define GT_NOEXCEPT noexcept
extern "C" {
#else
#define GT_NOEXCEPT
#endif

/* ---- Statuses and versions ---- */

/* Numbers are never changed or used again; later versions may add some. */
typedef int32_t gt_status;
enum {
  GT_OK = 0,
  GT_ERROR_INVALID_ARGUMENT =
      1, /* a null pointer where none may be, an unknown flag or option, a name that is empty or not UTF-8 */
  GT_ERROR_INVALID_HANDLE = 2,   /* made up, or closed already */
  GT_ERROR_INVALID_SIZE = 3,     /* a struct's `size` is not that of any version of it */
  GT_ERROR_UNAVAILABLE = 4,      /* it cannot work on this machine or in this process; gt_last_error() says why */
  GT_ERROR_BUSY = 5,             /* callbacks or a recording were asked for, and another tool holds CUPTI's subscription; or a
                                    recording goes on already */
  GT_ERROR_NOT_FOUND = 6,        /* nothing is known under this id */
  GT_ERROR_NO_SCOPE = 7,         /* a scope was ended where none is open, or twice */
  GT_ERROR_WRONG_THREAD = 8,     /* a scope was ended on another thread than it began on */
  GT_ERROR_BUFFER_TOO_SMALL = 9, /* the length says how much is needed */
  GT_ERROR_MALFORMED = 10,       /* not JSON, or not of the form asked for; gt_last_error() says where */
  GT_ERROR_TOO_LARGE = 11,       /* beyond a stated bound */
  GT_ERROR_IO = 12,              /* the operating system refused a file */
  GT_ERROR_OUT_OF_MEMORY = 13,
  GT_ERROR_INTERNAL = 14, /* a mistake in graphtag; please report it with gt_last_error() */
  GT_ERROR_REFUSED = 15   /* CUDA does not know the graph, exec graph or node */
};

/* Stands for the length of a text that ends with a NUL. */
#define GT_NUL ((size_t)-1)

/* "GT_ERROR_BUSY"; NULL for an unknown number. */
GT_API const char* gt_status_name(gt_status status) GT_NOEXCEPT;

/* What this thread's last failing call did wrong and what to do about it; "" if none failed. Valid until the thread's next
 * failing call. */
GT_API const char* gt_last_error(void) GT_NOEXCEPT;

/* GT_VERSION, and "0.1.0", of the library that was loaded. */
GT_API uint32_t gt_version(void) GT_NOEXCEPT;
GT_API const char* gt_version_string(void) GT_NOEXCEPT;

/* ---- Can it work here? ---- */

/* How the creation of nodes is observed. */
typedef uint32_t gt_observer;
enum {
  GT_OBSERVER_AUTO = 0, /* callbacks if CUPTI's subscription is free when the window opens, else boundary */
  GT_OBSERVER_CALLBACKS =
      1, /* CUPTI tells of each node: exact everywhere, 0.5 us a node; no other subscriber while a window is open */
  GT_OBSERVER_BOUNDARY = 2, /* reads at scope boundaries how far graphs have grown; disturbs nobody; is told of streams */
  GT_OBSERVER_NONE = 3 /* nothing is observed: such a window keeps scopes, for windows that open within them; works anywhere */
};

/* GT_OK if recording with this observer can work here, else GT_ERROR_UNAVAILABLE, with the reason in gt_last_error(), such as
 * "unavailable: no libcuda". Loads libcuda and CUPTI if they are not in the process yet; does not initialise CUDA. Once it is
 * GT_OK the answer is cached. */
GT_API gt_status gt_available(gt_observer observer) GT_NOEXCEPT;

enum {
  GT_DOCTOR_INIT_CUDA = 1,    /* may initialise CUDA (cuInit), to list devices; children of fork() cannot use CUDA then */
  GT_DOCTOR_TRY_SUBSCRIBE = 2 /* may take CUPTI's subscription for a moment, to say whether it is free or who holds it */
};
/* A JSON object: which libraries were found, where, which versions, what is missing, and for each finding what to do. `flags` of
 * GT_DOCTOR_*; with 0 nothing in the process changes. Texts out. */
GT_API gt_status gt_doctor_json(uint32_t flags, char* buffer, size_t capacity, size_t* length) GT_NOEXCEPT;

/* Texts out: at most `capacity` bytes are written to `buffer`, a NUL after the text included, and `*length` becomes the text's
 * length without it. GT_ERROR_BUFFER_TOO_SMALL if it does not fit: then nothing is written but `*length`. A null buffer with
 * capacity 0 asks for the length alone and is GT_OK. A text may have grown between the two calls: ask again. */

/* ---- Annotations ---- */

/* A JSON object, stored once in the process for good: the same object gives the same handle. Nothing has to be freed. Handle 0:
 * no annotation. */
typedef struct gt_annotation {
  uint64_t value;
} gt_annotation;

/* {"name": name}. */
GT_API gt_status gt_annotation_from_name(const char* name, size_t length, gt_annotation* annotation) GT_NOEXCEPT;

/* From a JSON object, or from a JSON string, which stands for {"name": string}. Keys that mean something: "name" (string) names
 * the region, "stream" (integer) asks for a display lane, "autograd_phase" is reserved, "graphtag.path" (array of strings) gives
 * the names of the scopes around it, outermost first; all others are free. At most 1 MiB, nested at most 64 deep. */
GT_API gt_status gt_annotation_from_json(const char* json, size_t length, gt_annotation* annotation) GT_NOEXCEPT;

/* `inner` laid over `outer`, key by key, as a scope within a scope. */
GT_API gt_status gt_annotation_merge(gt_annotation outer, gt_annotation inner, gt_annotation* merged) GT_NOEXCEPT;

/* The object as JSON; with GT_JSON_PATH its path too, as "graphtag.path", if it has one. Texts out. */
enum { GT_JSON_PATH = 1 };
GT_API gt_status gt_annotation_json(gt_annotation annotation, uint32_t flags, char* buffer, size_t capacity,
                                    size_t* length) GT_NOEXCEPT;

/* ---- Windows: when nodes are observed ---- */

/* While at least one window is open in the process, scopes count and nodes are recorded. Open one before the capture begins, and
 * close it after the instantiation and before a profiler starts for the first time. A scope that began before the window is not
 * seen, unless another window was open already. Where captures are made somewhere within scopes, such as by a compiler at the first call, so
 * that windows open late, keep a window with GT_OBSERVER_NONE open all the while: it takes no subscription, and all that it costs is
 * that scopes cost what they do while something is recorded. */
typedef struct gt_window {
  uint64_t value;
} gt_window;

enum {
  GT_WINDOW_ALL_STREAMS = 1 /* `streams` and gt_window_add_stream name every stream that captures: boundaries are read from their
                               frontiers, and exact */
};

typedef struct gt_window_options {
  size_t size; /* sizeof(gt_window_options) */
  gt_observer observer;
  uint32_t flags;             /* GT_WINDOW_* */
  const void* const* streams; /* CUstreams that will capture, for the boundary observer; may be null */
  size_t stream_count;
} gt_window_options;

/* `options` may be null: everything zero. GT_ERROR_UNAVAILABLE as gt_available; GT_ERROR_BUSY only if callbacks were asked for.
 */
GT_API gt_status gt_window_open(const gt_window_options* options, gt_window* window) GT_NOEXCEPT;
GT_API gt_status gt_window_close(gt_window window) GT_NOEXCEPT;

/* The boundary observer reads the capture of this CUstream as well: at the scope boundaries of this thread, and of threads that name no
 * stream, which must not meet one while another thread adds to the capture. Callbacks need none; kept for when they make way. */
GT_API gt_status gt_window_add_stream(gt_window window, const void* stream) GT_NOEXCEPT;

/* Which observer AUTO came to: GT_OBSERVER_CALLBACKS or GT_OBSERVER_BOUNDARY; GT_OBSERVER_NONE while only windows with that are open. */
GT_API gt_status gt_window_observer(gt_window window, gt_observer* observer) GT_NOEXCEPT;

/* The number of windows open now. Read it with gt_active(). */
GT_API extern uint32_t gt_active_windows;

/* Non-zero while scopes count: for a caller that wants to skip its own work. One relaxed load. */
static inline int gt_active(void) GT_NOEXCEPT {
  return __atomic_load_n(&gt_active_windows, __ATOMIC_RELAXED) != 0;
}

/* ---- Scopes: what nodes are called ---- */

/* A scope is a stretch of one thread's program order. A node gets the merged scopes of the thread that creates it, laid over
 * those open on the thread that began the capture. Ending a scope does not need the stream or the graph. While nothing is
 * recorded, beginning and ending do nothing and are GT_OK. All scopes of a thread end when the last window closes. */

/* Stack form: gt_scope_end ends this thread's innermost scope; GT_ERROR_NO_SCOPE if there is none (which is harmless where a
 * window opened between a begin and its end). Scopes of the handle form are not ended by it. */
GT_API gt_status gt_scope_begin(gt_annotation annotation) GT_NOEXCEPT;
GT_API gt_status gt_scope_begin_name(const char* name, size_t length) GT_NOEXCEPT;
GT_API gt_status gt_scope_end(void) GT_NOEXCEPT;

/* The stack form with the test of gt_active() inline: where nothing is recorded, no call is made. */
static inline gt_status gt_enter(gt_annotation annotation) GT_NOEXCEPT {
  return gt_active() ? gt_scope_begin(annotation) : GT_OK;
}
static inline gt_status gt_enter_name(const char* name) GT_NOEXCEPT {
  return gt_active() ? gt_scope_begin_name(name, GT_NUL) : GT_OK;
}
static inline gt_status gt_leave(void) GT_NOEXCEPT {
  return gt_active() ? gt_scope_end() : GT_OK;
}

/* Handle form: scopes of one thread may end in any order; each ends on the thread it began on. Handle 0 (nothing was recorded at
 * the beginning) may be closed, which does nothing. */
typedef struct gt_scope {
  uint64_t value;
} gt_scope;
GT_API gt_status gt_scope_open(gt_annotation annotation, gt_scope* scope) GT_NOEXCEPT;
GT_API gt_status gt_scope_close(gt_scope scope) GT_NOEXCEPT;
/* The same on any thread: nodes that the scope's thread creates from here on are without it. (What that thread does outside graphs is
 * recorded under it until its next scope begins or ends.) */
GT_API gt_status gt_scope_close_anywhere(gt_scope scope) GT_NOEXCEPT;

/* The merged scopes of this thread, to be opened on another one (0 if there are none). */
GT_API gt_status gt_scope_current(gt_annotation* annotation) GT_NOEXCEPT;

/* Called for each node that a callback tells of (GT_OBSERVER_CALLBACKS), after it was recorded, on the thread that creates it, within
 * the CUDA call: it must not call CUDA, nor wait for anybody who does, nor throw. It may be told of the first node of a copy as well,
 * such as an instantiation makes, under an id that nothing else has. One a process; null ends it. A call may still be running on
 * another thread when this returns. */
typedef void (*gt_node_hook)(uint64_t node_id);
GT_API gt_status gt_set_node_hook(gt_node_hook hook) GT_NOEXCEPT;

/* ---- Graphs ---- */

/* The ids by which CUPTI's records call a CUgraph, CUgraphExec or CUgraphNode (its upper half is the graph's or exec graph's id).
 */
GT_API gt_status gt_graph_id(const void* graph, uint32_t* id) GT_NOEXCEPT;
GT_API gt_status gt_exec_id(const void* exec, uint32_t* id) GT_NOEXCEPT;
GT_API gt_status gt_node_id(const void* node, uint64_t* id) GT_NOEXCEPT;

/* Gives a graph (of which all exec graphs inherit it) a label: any JSON value, such as {"batch_size": 8}; at most 1 MiB. A later
 * one replaces it. */
GT_API gt_status gt_label_graph(const void* graph, const char* json, size_t length) GT_NOEXCEPT;

/* Says which CUgraph an exec graph was instantiated from, where no callback told: the boundary observer cannot know. Call it
 * right after the instantiation, before the graph changes; and with the new graph after each cudaGraphExecUpdate. */
GT_API gt_status gt_link_exec(const void* exec, const void* graph) GT_NOEXCEPT;

/* The CUgraph that this CUstream is capturing into: to label it, or to link it later. GT_ERROR_NOT_FOUND if it is not capturing. */
GT_API gt_status gt_capture_graph(const void* stream, const void** graph) GT_NOEXCEPT;

/* gt_link_exec where the graph is gone already: by its id (gt_graph_id). Nodes of child graphs and conditional bodies stay
 * unlinked. An instantiation that a callback told of is left as it is. GT_ERROR_NOT_FOUND: nothing was recorded of this graph. */
GT_API gt_status gt_link_exec_id(const void* exec, uint32_t graph_id) GT_NOEXCEPT;

/* Says that a graph or exec graph was destroyed while no window was open, or is about to be: it leaves gt_live_nodes, and goes on
 * resolving until the byte limit. An unknown id is no error. */
GT_API gt_status gt_destroyed(uint32_t graph_or_exec_id) GT_NOEXCEPT;

/* Says which graphs are the bodies of a conditional node, in order, where no callback told. Call it when they are made, before
 * they are filled. A graph that holds the node, or that another node has, is GT_ERROR_INVALID_ARGUMENT. */
GT_API gt_status gt_link_body(const void* node, const void* const* bodies, size_t body_count) GT_NOEXCEPT;

/* ---- Answers ---- */

/* How an annotation came to its node, or why there is none. */
typedef uint32_t gt_origin;
enum {
  GT_ORIGIN_CALLBACK = 0,             /* CUPTI told of the node when it was created */
  GT_ORIGIN_BOUNDARY = 1,             /* between two exact readings at scope boundaries */
  GT_ORIGIN_BOUNDARY_APPROXIMATE = 2, /* between two readings, of which one may be off: a capturing stream was not named */
  GT_ORIGIN_MODELLED = 3,             /* the id in the exec graph was predicted by a rule that holds on this driver */
  GT_ORIGIN_UPDATED = 4,              /* an update of the exec graph changed it */
  GT_ORIGIN_OUTSIDE_SCOPE = 5,        /* from here on reasons: no scope was open */
  GT_ORIGIN_CAPTURED_BEFORE_START = 6,
  GT_ORIGIN_UNLINKED_BODY = 7,
  GT_ORIGIN_STALE_ID = 8,
  GT_ORIGIN_UNKNOWN_GRAPH = 9,
  GT_ORIGIN_OUTSIDE_SCOPE_APPROXIMATE = 10 /* no scope was open, as far as a rule or a reading that may be off tells */
};
/* "boundary-approximate"; NULL for an unknown number. */
GT_API const char* gt_origin_name(gt_origin origin) GT_NOEXCEPT;

typedef struct gt_resolution {
  size_t size; /* sizeof(gt_resolution), set by the caller */
  gt_annotation annotation;
  gt_origin origin;
} gt_resolution;

#define GT_NOW INT64_MAX

/* What a record with this node id (graph or exec id << 32 | local id) at this time (Unix time, ns; or GT_NOW) is to be called.
 * GT_OK also where there is no annotation: then `origin` says why. */
GT_API gt_status gt_resolve(uint64_t node_id, int64_t time_ns, gt_resolution* resolution) GT_NOEXCEPT;

/* A node that has an annotation, in a graph or an exec graph that lives. */
typedef struct gt_node {
  uint64_t node_id;
  gt_annotation annotation;
  gt_origin origin;
  uint32_t template_id; /* of a node of an exec graph: the graph that it was made from, 0 if not known; else 0 */
} gt_node;

/* All of them, ordered by graph id, then exec id, then local id. `count` becomes how many there are; with `nodes` null that is all it does.
 * GT_ERROR_BUFFER_TOO_SMALL if `capacity` nodes do not hold them: then nothing is written but `count`. */
GT_API gt_status gt_live_nodes(gt_node* nodes, size_t capacity, size_t* count) GT_NOEXCEPT;

/* Everything recorded so far, graphs that were destroyed included, in the format graphtag.annotations/1 (JSON): to a file, which
 * appears whole or not at all, or to a buffer (Texts out). */
GT_API gt_status gt_snapshot_file(const char* path, size_t length) GT_NOEXCEPT;
GT_API gt_status gt_snapshot_buffer(char* buffer, size_t capacity, size_t* length) GT_NOEXCEPT;

/* Drops everything recorded so far. Graphs that are being captured go on. Annotation handles stay valid. */
GT_API gt_status gt_forget(void) GT_NOEXCEPT;

/* How many bytes of destroyed graphs are kept for traces still to come, beyond which the oldest are dropped (and counted).
 * Default 256 MiB. */
GT_API gt_status gt_set_retired_limit(uint64_t bytes) GT_NOEXCEPT;

/* Counts since the process began, unless said. Later versions add fields at the end. */
typedef struct gt_counters {
  size_t size; /* sizeof(gt_counters), set by the caller */
  uint64_t windows_opened;
  uint64_t scopes_begun;
  uint64_t nodes_seen;      /* by callbacks */
  uint64_t boundaries_read; /* by the boundary observer */
  uint64_t graphs_live;     /* now */
  uint64_t execs_live;      /* now */
  uint64_t graphs_retired;  /* destroyed and still resolvable, now; exec graphs included */
  uint64_t retired_bytes;   /* now */
  uint64_t retired_dropped; /* tables that went over the limit */
  uint64_t annotations;     /* distinct ones, merged ones included, now */
  uint64_t stale_ids;       /* answers of GT_ORIGIN_STALE_ID */
  uint64_t failures;        /* events that could not be recorded: out of memory, a call refused by the driver */
} gt_counters;
GT_API gt_status gt_counters_get(gt_counters* counters) GT_NOEXCEPT;

/* ---- Record ---- */

/* A recording writes what the GPUs do, and the CUDA calls and ranges of the host around it, to a Perfetto trace (.pftrace) while the
 * program runs: every kernel, copy and set, those of graphs with the annotations of their nodes, those outside graphs with the
 * scopes that were open on the launching thread (of scopes begun since the recording began). No profiler is needed, and none can run beside it: it holds CUPTI's subscription
 * and its activity records, and opens a window with callbacks (gt_window_open) for as long as it goes on. A program that starts a profiler of
 * its own meanwhile ends the recording before, or calls gt_make_way.
 *
 *   gt_record_options options = {sizeof options};
 *   options.path = "app.pftrace";
 *   options.path_length = GT_NUL;
 *   gt_record_begin(&options, &recording);
 *   ...
 *   gt_record_end(recording, &stats);
 *
 * What was recorded is in the file a second later, in whole packets, and readable from then on, whatever becomes of the program. One
 * recording a process at a time. It ends by itself when the process exits. In a child of fork() none goes on. Nothing on the
 * program's own threads waits for the disk, except in gt_record_flush and gt_record_end. docs/recording.md says what is in the file. */
typedef struct gt_recording {
  uint64_t value;
} gt_recording;

enum {
  GT_RECORD_NO_API = 1, /* without CUDA calls of the host (CUPTI's runtime and driver records); scopes outside graphs need them */
  GT_RECORD_ANNOTATIONS = 2 /* at the end, gt_snapshot_file beside the trace: its path with .annotations.json for .pftrace */
};

typedef struct gt_record_options {
  size_t size;           /* sizeof(gt_record_options) */
  uint32_t flags;        /* GT_RECORD_* */
  uint32_t buffer_count; /* buffers that CUPTI fills, all taken at the beginning: 2 to 4096; 0: 64 */
  uint32_t
      buffer_bytes; /* of each: 4 KiB to 64 MiB, in multiples of 8; 0: 512 KiB. A record takes about 200 bytes. When all are full, CUPTI
                            drops records, and counts them. */
  uint32_t flush_ms;  /* how often what was recorded is written: 10 to 60 000; 0: 1000 */
  uint64_t max_bytes; /* 0: no limit. Else at least 1 MiB: a ring of segments, "app.1.pftrace", "app.2.pftrace" ..., each of which
                            can be read alone (or all joined by `cat`), the oldest deleted when all together would be larger */
  const char* path;   /* a file that exists is replaced, and with max_bytes whatever is named as a segment of it */
  size_t path_length;
  const char* metadata; /* a JSON object that goes into the trace as it is, such as the command line; null: none */
  size_t metadata_length;
} gt_record_options;

/* GT_ERROR_UNAVAILABLE: no CUPTI with activity records here; GT_ERROR_BUSY: another tool holds the subscription, or a recording goes on;
 * GT_ERROR_IO: the file cannot be made; GT_ERROR_OUT_OF_MEMORY: the buffers, or the thread that writes, cannot be had. */
GT_API gt_status gt_record_begin(const gt_record_options* options, gt_recording* recording) GT_NOEXCEPT;

/* Why a recording writes no more. */
typedef uint32_t gt_record_state;
enum {
  GT_RECORD_RUNNING = 0,
  GT_RECORD_ENDED = 1,          /* gt_record_end, or the process exited */
  GT_RECORD_OTHER_PROFILER = 2, /* gt_make_way; or, with buffers_kept, another tool of the process took CUPTI's records over */
  GT_RECORD_FAILED = 3          /* CUPTI did not come back when the recording was to end: some of it may be missing */
};

/* Counts since gt_record_begin. Later versions add fields at the end. */
typedef struct gt_record_stats {
  size_t size; /* sizeof(gt_record_stats), set by the caller */
  gt_record_state state;
  uint32_t segments_deleted;
  uint64_t kernels; /* records that came, and were written but for records_lost: */
  uint64_t memcpys;
  uint64_t memsets;
  uint64_t api_calls;
  uint64_t overheads;        /* of CUPTI's own */
  uint64_t ranges;           /* and marks: gt_record_range */
  uint64_t graph_operations; /* of the kernels, copies and sets: those of graphs, */
  uint64_t graph_named;      /* and those of them that have an annotation */
  uint64_t other_named;      /* those outside graphs that have one */
  uint64_t bad_times; /* records written although their times are 0, end before they start, or lie outside of the recording */
  uint64_t dropped_by_cupti; /* records that CUPTI says it dropped, for want of a buffer or otherwise */
  uint64_t buffers_refused;  /* times that CUPTI asked for a buffer and all were in use */
  uint64_t buffers_kept;     /* buffers that CUPTI never gave back: what was in them is not known */
  uint64_t ranges_dropped;   /* for want of room until the next writing */
  uint64_t records_unknown;  /* of kinds that were not asked for */
  uint64_t records_lost;     /* read from CUPTI, and lost because the file could not be written */
  uint64_t write_errors;     /* failed writes; what could be written later was */
  uint64_t bytes_written;    /* deleted segments included */
  uint64_t bytes_deleted;
} gt_record_stats;
GT_API gt_status gt_record_stats_get(gt_recording recording, gt_record_stats* stats) GT_NOEXCEPT;

/* Writes at once what CUPTI has and the ranges so far, and waits for that at most `timeout_ms`. GT_ERROR_BUSY if it took
 * longer (it is written nonetheless); GT_ERROR_IO if it could not be written. Work that the GPU is still at is written as unfinished (a bad time), and
 * its end is not known later: synchronise before, or leave the writing to the recording. */
GT_API gt_status gt_record_flush(gt_recording recording, uint32_t timeout_ms) GT_NOEXCEPT;

/* Writes everything, closes the file and gives CUPTI back. `stats` may be null. GT_ERROR_IO if something could not be written (the
 * recording has ended nonetheless, and `stats` is written). Not inside a callback of CUPTI's. */
GT_API gt_status gt_record_end(gt_recording recording, gt_record_stats* stats) GT_NOEXCEPT;

/* Another profiler of the process is about to start: leaves CUPTI to it. A recording that goes on writes everything, as gt_record_end
 * does, and ends with GT_RECORD_OTHER_PROFILER (gt_record_end is still to be called); open windows go on with the boundary observer. When it
 * returns GT_OK, graphtag holds neither CUPTI's subscription nor its records. Not inside a callback of CUPTI's. */
GT_API gt_status gt_make_way(void) GT_NOEXCEPT;

/* Non-zero while a recording goes on: for a caller that wants to skip its own work. Read it with gt_recording_active(). */
GT_API extern uint32_t gt_active_recordings;
static inline int gt_recording_active(void) GT_NOEXCEPT {
  return __atomic_load_n(&gt_active_recordings, __ATOMIC_RELAXED) != 0;
}

/* The clock of recordings: Unix time, ns. */
GT_API int64_t gt_record_now(void) GT_NOEXCEPT;

enum {
  GT_RANGE_MARK = 1,      /* a point in time, at start_ns */
  GT_RANGE_OVERLAPS = 2,  /* ends in any order (NVTX start/end): drawn beside its thread's ranges, not among them */
  GT_RANGE_UNFINISHED = 4 /* it went on when it was written, end_ns being the time of writing */
};
typedef uint32_t gt_payload;
enum { GT_PAYLOAD_NONE = 0, GT_PAYLOAD_UINT64 = 1, GT_PAYLOAD_INT64 = 2, GT_PAYLOAD_DOUBLE = 3 };

/* A finished range of the host, such as NVTX's. Texts are UTF-8 (what is not is mended), pointer and length, or GT_NUL; null with length 0:
 * none. They are copied. */
typedef struct gt_range {
  size_t size;    /* sizeof(gt_range) */
  uint32_t flags; /* GT_RANGE_* */
  gt_payload payload_type;
  int64_t start_ns; /* gt_record_now() */
  int64_t end_ns;   /* likewise; not before start_ns */
  int64_t thread;   /* the operating system's thread id; 0: the calling thread's */
  union {
    uint64_t as_uint64;
    int64_t as_int64;
    double as_double;
  } payload;
  const char* text;
  size_t text_length; /* at most 4096 bytes of each are kept */
  const char* domain;
  size_t domain_length;
  const char* category;
  size_t category_length;
} gt_range;

/* Puts a range onto its thread's track of the recording that goes on; GT_OK and nothing where none does. Neither waits nor allocates: if there
 * is no room until the next writing, the range is dropped and counted, and that is GT_OK too. */
GT_API gt_status gt_record_range(const gt_range* range) GT_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
