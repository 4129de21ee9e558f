/*
 * The ONNX Runtime source as a C library (libtensortap_onnxruntime.so): loads a released libonnxruntime with dlopen, runs a model under
 * capture, verifies and measures. The command line and the Python module call it; the capture itself goes through capture.h.
 *
 * No function here throws, exits or prints on stdout. Thread-safe: each call has its own runtime environment.
 */
#ifndef TENSORTAP_ONNXRUNTIME_H_
#define TENSORTAP_ONNXRUNTIME_H_

#include "tensortap/capture.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one tensortap_onnxruntime_input is. The parts of a value follow each other, with the same name and step. */
enum tensortap_onnxruntime_input_kind {
  TENSORTAP_INPUT_TENSOR = 0,  /* a tensor, also as the value of an optional or as the only element of a sequence */
  TENSORTAP_INPUT_ELEMENT = 1, /* number `tensor.element` of a sequence; element 0 begins a new one */
  TENSORTAP_INPUT_EMPTY = 2,   /* a sequence without elements, or an optional without a value; only name and slot_index of `tensor` count */
  TENSORTAP_INPUT_MAP_KEYS = 3,   /* the keys of a map, one dimension; begins a new one */
  TENSORTAP_INPUT_MAP_VALUES = 4, /* its values, in the order of the keys */
};

/* An input of the model for one step, or a part of it. `tensor.name` null or "" = by position `tensor.slot_index`. The elements of an array
 * of these are as far apart as the first one's size says. */
typedef struct tensortap_onnxruntime_input {
  uint32_t size;
  uint32_t kind; /* enum tensortap_onnxruntime_input_kind */
  int64_t step;  /* -1 = every step */
  tensortap_tensor tensor;
  const char* origin; /* where it comes from, for messages and the summary: "inputs.npz"; may be null */
} tensortap_onnxruntime_input;

typedef struct tensortap_onnxruntime_run_options {
  uint32_t size;
  uint32_t reserved;
  /* JSON object; unknown keys are an error. All but "model" optional:
   *   "model": path            "runtime": path of a libonnxruntime, else searched for (docs/environment.md)
   *   "config": text of the capture config (capture.h), "config_name": its name in messages
   *   "capture": false = run plain        "dims": {"N": 4}       "seed": 0        "runs": 1        "threads": 0 = the runtime's default
   *   "optimize": "none" | "basic" | "extended" | "all"          "as_written": false
   *   "carry": {"output": "input"}: an output of one step is an input of the next
   *   "range": [low, high] of all inputs that are made      "ranges": {"input": [low, high]} of single ones
   *   "all_inputs_from": an origin (tensortap_onnxruntime_input) that must hold all inputs: none is made
   *   "custom_ops": [paths of libraries with custom operators]  "session_config": {"key": "value"} of the runtime's sessions
   *   "verify": false          "overhead": false                  "program": text for run.json
   *   "noise": N: afterwards N further runs of the same inputs, and of the state that is carried, whose numbers are moved by their last
   *     bit, up or down at random from the seed; dumps noise1, noise2... in the folder of the dump, named by "noise" of the report */
  const char* request;
  const tensortap_onnxruntime_input* inputs;
  uint64_t input_count;
  /* Called for each output of each run of the captured session, in order; may be null. */
  void (*on_output)(void* user, int64_t step, const tensortap_tensor* output);
  /* Called between stages and runs; `done` of `total`, total 0 = unknown; may be null. */
  void (*on_progress)(void* user, const char* stage, uint64_t done, uint64_t total);
  void* user;
  /* Asked between runs: nonzero = run no more and finish the dump as far as it goes; the call then returns TENSORTAP_INTERNAL and "error"
   * says "interrupted". May be null. */
  int (*should_stop)(void* user);
} tensortap_onnxruntime_run_options;

/* Runs a model. Returns enum tensortap_status and a JSON object in *report, always, to be freed with tensortap_free():
 *   on success the summary of docs/command_line.md (the object that `tensortap run --json` prints);
 *   on failure {"error": message, "failed_op": {...} or null, "dump": path or null}.
 * A wrong model, input, selection or runtime is TENSORTAP_INVALID_ARGUMENT; a failure of the runtime while running is TENSORTAP_INTERNAL.
 * */
TENSORTAP_API int tensortap_onnxruntime_run(const tensortap_onnxruntime_run_options* options, char** report) TENSORTAP_NOEXCEPT;

/* Describes a model without running it: {"name": of its graph, "inputs": [...], "outputs": [...], "ops": [{"name", "type", "graph",
 * "originals"...}]} of the graph that would run. `request` has the keys above that make sense. */
TENSORTAP_API int tensortap_onnxruntime_describe(const char* request, char** report) TENSORTAP_NOEXCEPT;

/* What this library finds on this machine: {"runtimes": [{"path", "version", "usable", "reason", "self_test"}]}. */
TENSORTAP_API int tensortap_onnxruntime_doctor(const char* request, char** report) TENSORTAP_NOEXCEPT;

/* ---- programs that use ONNX Runtime themselves, under `tensortap exec`. For the preloaded library and the Python side of this package
 * alone ---- */

/* The OrtApiBase to give to the program instead of the library's own, `api_base`: the same, where nothing is to be captured. */
TENSORTAP_API const void* tensortap_onnxruntime_wrap(const void* api_base) TENSORTAP_NOEXCEPT;
/* Called when the interpreter is about to load ONNX Runtime's module, with the GIL: brings the Python side in. */
TENSORTAP_API void tensortap_onnxruntime_start_python(void) TENSORTAP_NOEXCEPT;

/* How another binding makes a session. The functions run on the calling thread; each returns 0, or another number when it failed, and calls
 * tensortap_onnxruntime_answer() with what it has to give, or with its error. */
typedef struct tensortap_onnxruntime_maker {
  uint32_t size;
  uint32_t reserved;
  const char* path;  /* of the model; null = `model` */
  const void* model; /* its bytes */
  uint64_t model_size;
  const char* version; /* of the runtime */
  /* Has the graph that would run written to `path`, as ONNX, at `level` (-1 = the program's). `weights` names the file beside it that takes
   * the large weights; "" = they go into the model. */
  int (*optimise)(void* user, int level, const char* path, const char* weights);
  /* The program's session of these bytes, not to be optimised. `folder` holds its weights in files; "" = there are none. */
  int (*load)(void* user, const void* model, uint64_t size, const char* folder);
  /* The same for a second session, of a graph without taps, which runs what is not captured. Its failure costs only time. */
  int (*load_twin)(void* user, const void* model, uint64_t size, const char* folder);
  int (*reorder)(void* user, const void* model,
                 uint64_t size); /* output "y", as floats, of input "x" = 0, 1 ... 255, float[1, 128, 1, 2] */
  void* user;
  /* A session as the program asked for it, for the lines that it logs, which are ours; it is thrown away. */
  int (*make_plain)(void* user);
} tensortap_onnxruntime_maker;

/* Makes a session with taps. Null when there is none: the program then makes its own session, and reports it with
 * tensortap_onnxruntime_runs_plain(). */
TENSORTAP_API void* tensortap_onnxruntime_capture(const tensortap_onnxruntime_maker* maker) TENSORTAP_NOEXCEPT;
TENSORTAP_API void tensortap_onnxruntime_answer(const void* data, uint64_t size) TENSORTAP_NOEXCEPT;
/* After the last tensortap_onnxruntime_capture() of this thread gave null and the runtime did make the plain session: says and counts what
 * is not captured. */
TENSORTAP_API void tensortap_onnxruntime_runs_plain(const tensortap_onnxruntime_maker* maker) TENSORTAP_NOEXCEPT;
/* The program has no more use for a session; runs that are under way may end. */
TENSORTAP_API void tensortap_onnxruntime_release(void* session) TENSORTAP_NOEXCEPT;
/* A run of the session on this thread, which must also end it. `kind`: as for tensortap_step_begin_kind(). Sets *by_twin to 1 when what
 * load_twin() made is to run, since nothing of the run is captured, otherwise to 0; null = it cannot. `error` is the runtime's message,
 * null = none. */
TENSORTAP_API void* tensortap_onnxruntime_run_begins(void* session, uint64_t kind, int* by_twin) TENSORTAP_NOEXCEPT;
TENSORTAP_API void tensortap_onnxruntime_run_ends(void* run, const char* error) TENSORTAP_NOEXCEPT;
/* Before tensortap_onnxruntime_run_ends(), whose `error` is null then: the run failed with the runtime's message. Returns 1 when the caller
 * is to make it once more on this thread, on the session with taps, with the same inputs, and without a line of the runtime about it: this
 * shows what the op read that failed. Then tensortap_onnxruntime_ran_again() gets the message of that run, null = it did not fail.
 * `obstacle`: why the caller cannot do that, for people; "" = it can. */
TENSORTAP_API int tensortap_onnxruntime_run_failed(void* run, const char* error, const char* obstacle) TENSORTAP_NOEXCEPT;
TENSORTAP_API void tensortap_onnxruntime_ran_again(void* run, const char* error) TENSORTAP_NOEXCEPT;

/* Options of a session that were given this library as one with custom operators, by this thread, since the last call: for the next three
 * functions; null = none were. To be released before the runtime releases the options. */
TENSORTAP_API void* tensortap_onnxruntime_registered_options(void) TENSORTAP_NOEXCEPT;
TENSORTAP_API void tensortap_onnxruntime_release_options(void* options) TENSORTAP_NOEXCEPT;
/* Gives these options the operators of taps; once. */
TENSORTAP_API void tensortap_onnxruntime_give_taps(void* options) TENSORTAP_NOEXCEPT;
/* Who prints the lines that sessions with these options log: we (`ours` 1), who print those of the program's own session, or the runtime
 * itself (0), as is usual. Returns 1 if that is so now. */
TENSORTAP_API int tensortap_onnxruntime_take_lines(void* options, int ours) TENSORTAP_NOEXCEPT;

/* ---- a model that stays loaded ------------------------------------------------------------------------------------------------ */

typedef struct tensortap_onnxruntime_model tensortap_onnxruntime_model;

typedef struct tensortap_onnxruntime_model_options {
  uint32_t size;
  uint32_t model_id; /* as in tensortap_session_options */
  /* JSON object with the keys of a run that make sense: "model", "runtime", "config", "config_name", "program", "capture", "threads",
   * "optimize". */
  const char* request;
  const void* bytes; /* the model itself; null = it is read from the path "model". Copied. */
  uint64_t byte_count;
  const char* name; /* of the model in selections and trees; null = the name of its graph */
  int32_t device;
  uint32_t op_flags;     /* of every op: TENSORTAP_OP_SINGLE for an op that is called by itself */
  const char* timestamp; /* as in tensortap_session_options */
  int32_t rank;          /* both as in tensortap_session_options */
  int32_t world_size;
} tensortap_onnxruntime_model_options;

/* Loads a model and, unless "capture" is false, opens a capture session for it. Returns enum tensortap_status and a JSON object in *report,
 * always, to be freed with tensortap_free():
 *   on success {"name", "source": "onnxruntime 1.31.1", "inputs": [{"name", "kind", "dtype", "shape"}], "outputs": [...],
 *   "ops": [{"name", "type", "originals"...}], "capture": whether a session is open, "capture_error": why none is though one was asked
 *   for, or null, "unmatched": [what the config selects and the model does not have, in sentences], "other_models": [as in run.json]};
 *   "ops", "unmatched" and "other_models" are empty without a session;
 *   on failure {"error": message}; *model is then null.
 * A config that cannot be followed does not keep the model from running: it runs plain, and "capture_error" reports it. */
TENSORTAP_API int tensortap_onnxruntime_model_open(const tensortap_onnxruntime_model_options* options, tensortap_onnxruntime_model** model,
                                                   char** report) TENSORTAP_NOEXCEPT;

/* Runs the model once on inputs in any order (by name, or by position where the name is null). Runs are steps, counted from 0 in the order
 * in which they begin; any number of threads may run at the same time. `on_output` is called for each output, in order, before this
 * returns; its tensor is borrowed. On failure *report is {"error": message, "failed_op": {...} or null}, to be freed with tensortap_free();
 * null on success. */
TENSORTAP_API int tensortap_onnxruntime_model_run(tensortap_onnxruntime_model* model, const tensortap_tensor* inputs, uint64_t input_count,
                                                  void (*on_output)(void* user, int64_t step, const tensortap_tensor* output), void* user,
                                                  char** report) TENSORTAP_NOEXCEPT;

/* Waits until everything that has been captured so far is written. Returns the first error of the session, if any. */
TENSORTAP_API int tensortap_onnxruntime_model_flush(tensortap_onnxruntime_model* model) TENSORTAP_NOEXCEPT;

/* Finishes the dump; the model stays loaded and runs on without capture. Waits for the runs that are going on. */
TENSORTAP_API int tensortap_onnxruntime_model_end_capture(tensortap_onnxruntime_model* model) TENSORTAP_NOEXCEPT;

/* Finishes the dump and unloads the model. Not to be called while a run is going on. Returns the first error of the session, if any; null
 * is fine. */
TENSORTAP_API int tensortap_onnxruntime_model_close(tensortap_onnxruntime_model* model) TENSORTAP_NOEXCEPT;

/* ---- what a program that uses ONNX Runtime itself chooses to have captured (MindSpore's set_dump) ----------------------------------- */

/* Turns the capture of ops on or off. Counts under the trigger "on-request" ("dump_mode": 2 of a MindSpore config), where nothing is
 * captured before; from the ops that run next on. `session`: the program's OrtSession. `name`: of an op as the dump has it, of a node of
 * the model or of a value, with all ops below it; a scope, the beginning of such names up to a "/"; or else a type of ops. Null or "" =
 * every op. Sessions of one model are one dump and share the choice. Without a capture nothing happens, so that the call may stay in the
 * program; a program not started by `tensortap exec` is not captured. Returns TENSORTAP_INVALID_ARGUMENT for an unknown name, or for what
 * is no session, and writes a message (what, the nearest names) to `message`, cut to `capacity` bytes and always terminated; it may be
 * null. Link with -ltensortap_onnxruntime of the installation whose `tensortap exec` starts the program. */
TENSORTAP_API int tensortap_onnxruntime_set_dump(const void* session, const char* name, int enabled, char* message,
                                                 size_t capacity) TENSORTAP_NOEXCEPT;
/* The same for a session of tensortap_onnxruntime_capture(). */
TENSORTAP_API int tensortap_onnxruntime_request(void* session, const char* name, int enabled, char* message,
                                                size_t capacity) TENSORTAP_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_ONNXRUNTIME_H_ */
