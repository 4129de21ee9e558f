/*
 * The C interface of tensortap: how a runtime, or any C or C++ engine, reports the operators that it runs.
 *
 * An engine opens a session, registers each operator once, and calls tensortap_on_op() after (or before) each execution. The session
 * decides what is kept, computes statistics, copies and writes; the engine neither filters nor names files: examples/engine, sixty lines.
 *
 * Rules that hold for every function here:
 *  - No function throws, exits, aborts, prints on stdout or changes a tensor. Whatever goes wrong, the engine goes on; the failure is
 *    reported once on stderr and in the session's report.
 *  - Every pointer passed in is borrowed for the call only. Every string is UTF-8 (other bytes are kept as they are).
 *  - Structures begin with their size, set by the caller to sizeof. Fields and functions are only ever appended, so that a caller
 *    compiled against an older header goes on working; fields that the caller's size does not reach count as zero.
 *  - Functions are thread-safe unless they say otherwise. A null session is accepted everywhere and does nothing.
 *  - After fork() the session is off in the child and stays as it was in the parent.
 */
#ifndef TENSORTAP_CAPTURE_H_
#define TENSORTAP_CAPTURE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TENSORTAP_NOEXCEPT noexcept
extern "C" {
#else
#define TENSORTAP_NOEXCEPT
#endif

#define TENSORTAP_API __attribute__((visibility("default")))
#define TENSORTAP_CAPTURE_VERSION 1

/* Element types. The numbers are permanent: files contain them (column "dtype" of records.npy). */
enum tensortap_dtype {
  TENSORTAP_UNDEFINED = 0,
  TENSORTAP_BOOL = 1,
  TENSORTAP_INT8 = 2,
  TENSORTAP_INT16 = 3,
  TENSORTAP_INT32 = 4,
  TENSORTAP_INT64 = 5,
  TENSORTAP_UINT8 = 6,
  TENSORTAP_UINT16 = 7,
  TENSORTAP_UINT32 = 8,
  TENSORTAP_UINT64 = 9,
  TENSORTAP_FLOAT16 = 10,
  TENSORTAP_BFLOAT16 = 11,
  TENSORTAP_FLOAT32 = 12,
  TENSORTAP_FLOAT64 = 13,
  TENSORTAP_COMPLEX64 = 14,
  TENSORTAP_COMPLEX128 = 15,
  TENSORTAP_FLOAT8_E4M3FN = 16,
  TENSORTAP_FLOAT8_E4M3FNUZ = 17,
  TENSORTAP_FLOAT8_E5M2 = 18,
  TENSORTAP_FLOAT8_E5M2FNUZ = 19,
  TENSORTAP_FLOAT8_E8M0 = 20,
  TENSORTAP_INT4 = 21, /* two elements to a byte, the first in the low bits */
  TENSORTAP_UINT4 = 22,
  TENSORTAP_INT2 = 23, /* four elements to a byte, the first in the lowest bits */
  TENSORTAP_UINT2 = 24,
  TENSORTAP_UINT1 = 25, /* eight elements to a byte, the first in the lowest bit */
  TENSORTAP_FLOAT4_E2M1 = 26,
  TENSORTAP_STRING = 27, /* data points to tensortap_string[numel] */
  TENSORTAP_DTYPE_COUNT = 28
};

/* Which tensor of an operator. */
enum tensortap_slot_kind { TENSORTAP_SLOT_OUTPUT = 0, TENSORTAP_SLOT_INPUT = 1, TENSORTAP_SLOT_WEIGHT = 2, TENSORTAP_SLOT_GRADIENT = 3 };

enum tensortap_phase {
  TENSORTAP_PHASE_INFERENCE = 0,
  TENSORTAP_PHASE_FORWARD = 1,
  TENSORTAP_PHASE_BACKWARD = 2,
  TENSORTAP_PHASE_UPDATE = 3,
  TENSORTAP_PHASE_LOAD = 4 /* weights, seen once when a model is loaded */
};

/* When the tensors of an event were looked at: an operator that writes into its input has both. */
enum tensortap_moment { TENSORTAP_MOMENT_AFTER = 0, TENSORTAP_MOMENT_BEFORE = 1 };

enum tensortap_status {
  TENSORTAP_OK = 0,
  TENSORTAP_INVALID_ARGUMENT = 1, /* wrong usage or wrong config */
  TENSORTAP_NOT_FOUND = 2,
  TENSORTAP_UNSUPPORTED = 3,
  TENSORTAP_CORRUPT = 4,
  TENSORTAP_IO = 5,
  TENSORTAP_EXHAUSTED = 6, /* disk or memory budget full */
  TENSORTAP_INTERNAL = 7
};

typedef struct tensortap_session tensortap_session;

/* Number of a registered operator in its session, from 0. */
typedef uint32_t tensortap_op_id;
#define TENSORTAP_NO_OP 0xffffffffu

typedef struct tensortap_string {
  const char* data;
  uint64_t size;
} tensortap_string;

/* Runs task(context, i) for i in [0, count) on threads of the runtime, and returns when all are done: big tensors are split over them. */
typedef void (*tensortap_parallel_for)(void* pool, void (*task)(void* context, size_t index), size_t count, void* context);

typedef struct tensortap_session_options {
  uint32_t size;
  uint32_t version;        /* TENSORTAP_CAPTURE_VERSION */
  const char* config;      /* text of a dump config in any dialect; null or "" = statistics of everything (docs/capture_config.md) */
  const char* config_name; /* what to call the config in messages, such as its path; may be null */
  const char* source;      /* runtime and version, such as "onnxruntime 1.31.1" */
  const char* program;     /* the program or model in words, for run.json; may be null */
  int32_t rank;            /* number of this process among the ranks of a job, 0 when alone */
  int32_t world_size;      /* 0 and 1 both mean alone */
  uint32_t flags;          /* TENSORTAP_SESSION_* */
  uint32_t model_id;       /* number of the model among those of the process, from 1; 0 = unknown */
  const char* model;       /* name of the model, for selections by model and for trees that have a folder per model; may be null */
  int32_t device;          /* number of the device that runs it */
  uint32_t threads;        /* of the runtime, for one op; 0 = not known */
  const char* timestamp;   /* YYYYmmddHHMMSS at which capture was asked for, shared by the models that it covers; null = now */
  const char* graph;       /* name of the model's graph, by which it may be selected as well; may be null */
} tensortap_session_options;

/* The source reports events after an op only: a config that asks for tensors before it is refused instead of giving nothing. */
#define TENSORTAP_SESSION_AFTER_ONLY 1u
/* Equal storage and version do not mean equal bytes: every tensor is measured and written for itself. */
#define TENSORTAP_SESSION_CONTENT_UNKNOWN 2u
/* The source registers the kernels of an op as ops of level 1, and functions that the program calls, made of several ops, as ops of level
 * 4, as far as tensortap_levels() has them. Without this flag an op counts as its own kernel, and as the function that is called. */
#define TENSORTAP_SESSION_KERNELS 4u
/* The source registers modules as ops of level 2 and whole models as ops of level 3, and reports their calls as events, as far as
 * tensortap_levels() has them. Without this flag a config that asks for these levels is refused instead of giving nothing. */
#define TENSORTAP_SESSION_MODULES 8u

/* An operator as the graph or the program has it, described once. Only name and type are required. */
typedef struct tensortap_op {
  uint32_t size;
  uint32_t level;               /* 0 op, 1 kernel, 2 module, 3 model, 4 api */
  const char* name;             /* stable from process to process, unique in the session ("#2" is appended where it is not) */
  const char* type;             /* operator type, such as "Conv"; "Input" and "Initializer" for a graph's inputs and weights */
  const char* domain;           /* operator set, may be null */
  const char* graph;            /* path of the (nested) graph that holds it, "" for the main graph */
  const char* module;           /* module path of the author's program, may be null */
  const char* source_location;  /* "train.py:41", may be null */
  const char* const* originals; /* names of the author's nodes that this op executes; empty = not known */
  uint64_t original_count;
  const char* const* original_types; /* as many as originals, or null */
  const char* const* inputs;         /* names of the input values, "" where skipped */
  const tensortap_op_id* producers;  /* for each input the op that makes it, or TENSORTAP_NO_OP; may be null */
  const uint32_t* producer_slots;    /* for each input the output number of its producer; may be null */
  uint64_t input_count;
  const char* const* outputs; /* names of the output values, "" where skipped */
  uint64_t output_count;
  const char* attributes;  /* JSON object text, may be null */
  tensortap_op_id parent;  /* the op whose body holds this one, or TENSORTAP_NO_OP */
  uint32_t flags;          /* TENSORTAP_OP_* */
  uint32_t occurrence;     /* which call of this op within one call of its parent, from 0; only where tensortap_identity() asks for it */
  uint32_t model_phase;    /* enum tensortap_model_phase: what the model that runs the op does; only where tensortap_identity() asks */
  const char* id;          /* place in the tree of operations, "3_1" for child 1 of root operation 3; null = the session numbers it */
  const char* source_text; /* the line at `source_location`, without blanks around it; may be null */
} tensortap_op;

/* What a model does in one call of it. */
enum tensortap_model_phase {
  TENSORTAP_MODEL_PHASE_NONE = 0,
  TENSORTAP_MODEL_PHASE_PREFILL = 1,
  TENSORTAP_MODEL_PHASE_DECODE = 2,
  TENSORTAP_MODEL_PHASE_TRAIN = 3,
  TENSORTAP_MODEL_PHASE_WARM_UP = 4 /* its result is not used; later calls are faster for it */
};

#define TENSORTAP_LEVEL_OP 0u
#define TENSORTAP_LEVEL_KERNEL 1u
#define TENSORTAP_LEVEL_MODULE 2u
#define TENSORTAP_LEVEL_MODEL 3u
#define TENSORTAP_LEVEL_API 4u

#define TENSORTAP_OP_INSERTED_BY_RUNTIME 1u /* no node of the author's: the runtime made it */
#define TENSORTAP_OP_SINGLE 2u              /* called by itself, outside every model */

/* The runtime stores the channels, the second dimension, in blocks of `size` (2 to 255): dims [N, C, H, W] are stored as
 * [N, C / size, H, W, size]. Only for contiguous tensors without strides. */
#define TENSORTAP_TENSOR_CHANNEL_BLOCK(size) ((size)*256u)
#define TENSORTAP_TENSOR_CHANNEL_BLOCK_OF(flags) ((flags) / 256u % 256u)
/* Nothing was written to the memory since it was allocated: only the description is kept, and that counts as captured. */
#define TENSORTAP_TENSOR_UNWRITTEN 1u
/* Every op that reads the value shows it again (show_reads): a session that asked for that need not keep it until they have run. */
#define TENSORTAP_TENSOR_SHOWN_AGAIN 2u
/* For a tensor that tensortap_show_reads lists: its memory is gone, or holds something else. A loss if the op is kept. */
#define TENSORTAP_TENSOR_GONE 4u

/* One tensor of one event. */
typedef struct tensortap_tensor {
  uint32_t size;
  uint32_t dtype;         /* enum tensortap_dtype */
  const void* data;       /* first element, in host memory; null = description only. Any alignment. */
  const int64_t* dims;    /* rank numbers, none negative; of more than 32 only a description is kept, as a loss */
  const int64_t* strides; /* in elements, rank numbers; null = contiguous, last dimension fastest */
  uint32_t rank;
  uint32_t slot_kind; /* enum tensortap_slot_kind */
  uint32_t slot_index;
  uint32_t flags;   /* TENSORTAP_TENSOR_* */
  const char* name; /* value name, may be null when the op's registration has it */
  int64_t element;  /* element number of a sequence, otherwise -1 */
  /* The block of memory that holds the tensor: a number from 1, unique in the process and never given to another block; 0 = unknown.
   * Stands in the record, so that a value is found again under the names of its views. */
  uint64_t storage;
  /* Which content of the block this is: changes whenever an op writes into the block. Tensors of equal storage (not 0), version, data,
   * dtype, dims and strides hold equal bytes: they are measured and written once. */
  uint64_t version;
  const struct tensortap_device* device; /* where `data` is null: has the elements (asking.h); null = description only */
  const void* source;                    /* for its fetch() */
  const void* identity;                  /* the address that replaces `data` where equal bytes and views are recognised by it */
} tensortap_tensor;

/* Tells what the op read: sets *tensors to an array of the kind TENSORTAP_SLOT_INPUT, valid until tensortap_on_op() returns, and returns
 * their number. */
typedef uint64_t (*tensortap_show_reads)(void* reads, const tensortap_tensor** tensors);

/* One execution of one operator. */
typedef struct tensortap_op_event {
  uint32_t size;
  tensortap_op_id op;
  int64_t step;
  uint64_t run;        /* which of several runs at the same time; any number, equal for the events of one run */
  uint32_t phase;      /* enum tensortap_phase */
  uint32_t moment;     /* enum tensortap_moment */
  int64_t duration_ns; /* of the op itself; -1 = not measured */
  const tensortap_tensor* tensors;
  uint64_t tensor_count;
  tensortap_parallel_for parallel_for; /* may be null */
  void* pool;
  uint32_t flags; /* TENSORTAP_EVENT_* */
  uint32_t call;  /* 1 + how many times the op had run in this step and run before; 0 = the session counts */
  /* For an event after the op: shows the op's inputs, which are unchanged; of those that an event TENSORTAP_EVENT_READ_FIRST reported
   * (same slot_index and element) the reported values count. Called within tensortap_on_op(), at most once; may be null. */
  tensortap_show_reads show_reads;
  void* reads;          /* its first argument */
  uint32_t model_phase; /* enum tensortap_model_phase: what the model does in this step; 0 = not known */
} tensortap_op_event;

/* What the op read, reported before it runs: an event with the same op, step, run, phase and call follows with what it made, or says that
 * it failed. The values count as looked at after the op, except for those that the op writes into, which hold what it read. Where
 * tensortap_wants_reads() is 1 and the second event has show_reads, it is enough to report what the op may write over. */
#define TENSORTAP_EVENT_READ_FIRST 1u

/* ---- session ---------------------------------------------------------------------------------------------------------------- */

/* Opens a session and creates its output folder. On failure returns a status, leaves *session null, and writes a message (what, where,
 * how to fix it) to `message`, cut to `capacity` bytes and always terminated. Starts no thread. */
TENSORTAP_API int tensortap_session_open(const tensortap_session_options* options, tensortap_session** session, char* message,
                                         size_t capacity) TENSORTAP_NOEXCEPT;

/* Finishes writing, ends the writer thread, writes run.json. The session is gone afterwards. Not to be called while
 * another thread still uses the session. Returns the first error of the session, if any. */
TENSORTAP_API int tensortap_session_close(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Ends the session like close and removes the files and folders that it made: for a program that found out after opening that it cannot
 * run at all. The session is gone afterwards. */
TENSORTAP_API void tensortap_session_discard(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Turns capture off and on. Off costs one load and one branch per event. */
TENSORTAP_API void tensortap_session_enable(tensortap_session* session, int enabled) TENSORTAP_NOEXCEPT;

/* Waits until everything captured so far is written. Returns the first error of the session, if any. */
TENSORTAP_API int tensortap_session_flush(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* The session's report so far as JSON text (keys: docs/layouts/tap.md, run.json): coverage, losses, governor, first non-finite value.
 * Flushes. The caller frees the text with tensortap_free(). Null when there is no memory. */
TENSORTAP_API char* tensortap_session_report(tensortap_session* session) TENSORTAP_NOEXCEPT;

TENSORTAP_API void tensortap_free(void* text) TENSORTAP_NOEXCEPT;

/* ---- operators -------------------------------------------------------------------------------------------------------------- */

/* Registers an operator. Returns TENSORTAP_NO_OP when the session is off or out of memory; events of that id are ignored. */
TENSORTAP_API tensortap_op_id tensortap_register_op(tensortap_session* session, const tensortap_op* op) TENSORTAP_NOEXCEPT;

/* Ends the registration of a graph: selections are bound, names that match nothing are an error with the nearest ones
 * (TENSORTAP_INVALID_ARGUMENT and `message`). An engine that learns its ops as they run never calls this; each op is then bound when
 * registered, and names that matched nothing are reported at the end. */
TENSORTAP_API int tensortap_bind(tensortap_session* session, char* message, size_t capacity) TENSORTAP_NOEXCEPT;

/* Replaces what is captured, from the next tensortap_step_begin() on; a step that runs goes on as it began. `config` is the text of a
 * config in the session's dialect. Returns TENSORTAP_INVALID_ARGUMENT, with a message as tensortap_session_open() writes it, when the
 * config is wrong or changes what belongs to the session as a whole (layout, folder, dialect, levels, trigger, limits), and
 * TENSORTAP_UNSUPPORTED under the triggers overflow and watch and for layouts that take no changes. The session then goes on as before.
 * While steps from before the last change still run, a change waits for them, and only the latest is applied. A source that remembers what
 * tensortap_wants_op() returned asks again. */
TENSORTAP_API int tensortap_replace_plan(tensortap_session* session, const char* config, const char* config_name, char* message,
                                         size_t capacity) TENSORTAP_NOEXCEPT;

/* Turns the capture of one op on or off, on behalf of the program itself (MindSpore's set_dump). Ops begin off under the trigger
 * "on-request". Under any other trigger this changes nothing, and the report has a note about it. TENSORTAP_NO_OP: an op that is still to
 * come. */
TENSORTAP_API void tensortap_request_op(tensortap_session* session, tensortap_op_id op, int enabled) TENSORTAP_NOEXCEPT;

/* The levels that were asked for, as bits 1 << level. */
TENSORTAP_API uint32_t tensortap_levels(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* What makes two calls one op, as tensortap_identity() returns it. */
enum tensortap_identity_kind {
  TENSORTAP_IDENTITY_PLACE = 0, /* their place in the program: the same operator of the same line and module */
  /* The parent, the place, which call it is within one call of the parent (tensortap_op::occurrence), and the phase of the model. A step is
   * a round of a phase then: tensortap_step_begin() gets the number of calls of the model in this phase before, and as `run` the phase. */
  TENSORTAP_IDENTITY_CALL = 1
};

/* Which of them the session's layout needs. A source that cannot tell calls apart may go on as with TENSORTAP_IDENTITY_PLACE. */
TENSORTAP_API int tensortap_identity(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Says that an op, or one of its values, cannot be captured, and why, for the coverage report. `reason` is a short class such as
 * "sequence output"; equal reasons are counted together. */
TENSORTAP_API void tensortap_not_captured(tensortap_session* session, tensortap_op_id op, const char* reason) TENSORTAP_NOEXCEPT;

/* Whether anything of this op may be kept in some step: 0 no, 1 yes. A source may leave unwanted ops without a callback. */
TENSORTAP_API int tensortap_wants_op(tensortap_session* session, tensortap_op_id op) TENSORTAP_NOEXCEPT;

/* What tensortap_wants_reads() returns, as bits. */
#define TENSORTAP_WANTS_READS 1u
/* Ops that only move values count in every execution. Without this bit, one event of such an op is enough: it makes no NaN or Inf of finite
 * inputs. */
#define TENSORTAP_WANTS_PASSED_ON 2u

/* Whether the session would rather be shown what an op read when the op has run (tensortap_op_event::show_reads) than keep every value
 * until its readers have: 0 no, otherwise TENSORTAP_WANTS_READS and further bits. A source that can show it asks once, when the ops are
 * bound or, where they become known as they run, before the first event. Only values with the flag TENSORTAP_TENSOR_SHOWN_AGAIN are not
 * kept then. */
TENSORTAP_API int tensortap_wants_reads(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* ---- execution -------------------------------------------------------------------------------------------------------------- */

/* Begins a step. Returns whether anything may be captured in it, if only an op that fails: 0 no (filter or governor), 1 yes. Optional;
 * needed for --budget. */
TENSORTAP_API int tensortap_step_begin(tensortap_session* session, int64_t step, uint64_t run) TENSORTAP_NOEXCEPT;
/* The same for a step of a known kind: a budget compares captured steps with others of their kind, which take the same time by themselves.
 * `kind` is any number, such as a hash of the shapes of the inputs; 0 = unknown. A step that the runtime refused begins again. */
TENSORTAP_API int tensortap_step_begin_kind(tensortap_session* session, int64_t step, uint64_t run, uint64_t kind) TENSORTAP_NOEXCEPT;
TENSORTAP_API void tensortap_step_end(tensortap_session* session, int64_t step, uint64_t run) TENSORTAP_NOEXCEPT;

/* Whether whole steps may be left out (a budget, chosen steps): 0 no, 1 yes. A source can prepare to run those without callbacks. */
TENSORTAP_API int tensortap_skips_steps(tensortap_session* session) TENSORTAP_NOEXCEPT;
/* Adds a sentence, once, to the notes of the report. */
TENSORTAP_API void tensortap_note(tensortap_session* session, const char* text) TENSORTAP_NOEXCEPT;

/* Whether an event of this op in this step would be kept: 0 no, 1 yes. Costs one load; lets a source skip the work of filling the event.
 * To be asked once for an execution: one that the governor leaves out is counted here. */
TENSORTAP_API int tensortap_wants(tensortap_session* session, tensortap_op_id op, int64_t step) TENSORTAP_NOEXCEPT;

/* Reports one execution. Statistics are computed and copies made before it returns. An event made while the same thread
 * is inside this function is ignored. */
TENSORTAP_API void tensortap_on_op(tensortap_session* session, const tensortap_op_event* event) TENSORTAP_NOEXCEPT;

/* Reports that an op failed, with the runtime's message; the tensors of the event are the inputs that it had. They are kept whatever the
 * selection says. */
TENSORTAP_API void tensortap_op_failed(tensortap_session* session, const tensortap_op_event* event, const char* error) TENSORTAP_NOEXCEPT;

/* Reads a dump config without opening anything. Returns enum tensortap_status and, always, a JSON object in *report, for tensortap_free():
 * {"error": message or null, "code": the number that the config's own system gives to the error, 0 = none, "init_code": that where the
 * system reads its config when it starts, "dialect": name, "captures": whether anything would be captured, "kind": "none", "model",
 * "single-op", "overflow", "exception" or "watch", "spec": the config in our own language, "models", "operators": whether ops of models,
 * and ops called by themselves, may be among it, "scene": of an exception dump "brief", "norm" or "detail", otherwise "", "layout": name,
 * "out": folder or ""}. `name` is what to call the config in messages; `dialect` "" = recognised by the content. */
TENSORTAP_API int tensortap_check_config(const char* text, const char* name, const char* dialect, char** report) TENSORTAP_NOEXCEPT;

/* One tensor of tensortap_write_exception(). The elements of an array of these are as far apart as the first one's size says. */
typedef struct tensortap_exception_tensor {
  uint32_t size;
  uint32_t role;  /* 0 input, 1 output, 2 workspace */
  int32_t type;   /* number of the element type in AscendCL's interface (aclDataType); an unknown one becomes "undefined" */
  int32_t format; /* number of the order of elements (aclFormat) */
  const void* data;
  uint64_t bytes;
  const uint64_t* dims;
  const uint64_t* original_dims; /* may be null without original_rank */
  uint32_t rank;
  uint32_t original_rank;
} tensortap_exception_tensor;

/* The file that tensortap_write_exception() makes. */
typedef struct tensortap_exception_file {
  uint32_t size;
  uint32_t reserved;
  const char* path; /* must not exist yet; its folder must */
  const char* name; /* of the op, in the file */
  const char* tag;  /* the attribute "user_tag", null = none */
  const tensortap_exception_tensor* tensors;
  uint64_t tensor_count;
} tensortap_exception_file;

/* Makes a DumpData file (docs/formats/dump_data.md) of tensors that a program saves when something failed. The file has mode 0400 and is
 * there as a whole or not at all. On failure returns a status and a message as tensortap_session_open() does; TENSORTAP_UNSUPPORTED when
 * the path exists. */
TENSORTAP_API int tensortap_write_exception(const tensortap_exception_file* file, char* message, size_t capacity) TENSORTAP_NOEXCEPT;

/* Version of the library, such as "0.1.0". */
TENSORTAP_API const char* tensortap_version(void) TENSORTAP_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_CAPTURE_H_ */
