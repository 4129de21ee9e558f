/*
 * For engines over capture.h that know which tensors they would report before they fetch them, and whose own interface names the files
 * beside the tensors: they ask the session first, and then report only what it wants. And what else such files, and run.json, are given.
 * The rules of capture.h hold.
 */
#ifndef TENSORTAP_ASKING_H_
#define TENSORTAP_ASKING_H_

#include <tensortap/capture.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of tensortap_session_options::flags. The engine asks tensortap_would_keep(): every op of every step that it reports is kept, as far as
 * the config wants its slots and its moment. It begins no steps. */
#define TENSORTAP_SESSION_ASKS 16u

/* Of tensortap_tensor::flags. The number by which the runtime calls the order of the elements, from -1 to 252, for trees that store it.
 * The bytes stay as they are. */
#define TENSORTAP_TENSOR_ORDER(number) (((number) + 2u) * 65536u)
#define TENSORTAP_TENSOR_ORDER_OF(flags) ((flags) / 65536u % 256u) /* 2 + the number; 0 = not given */

/* Further flags of tensortap_tensor, of what an op reads. Whether the tensor is a parameter of the model is known, and the second flag says
 * whether it is one. */
#define TENSORTAP_TENSOR_ROLE_KNOWN 8u
#define TENSORTAP_TENSOR_PARAMETER 16u
/* The name that the op's registration has for this slot is the tensor's own, that of a parameter or buffer; or it is that of the tensor of
 * another call. Neither: it names the slot. */
#define TENSORTAP_TENSOR_OWN_NAME 32u
#define TENSORTAP_TENSOR_OTHER_NAME 64u
/* The elements are in memory that the host cannot read, or are not complete yet. If `data` is null, the record was not looked at, and no
 * answer about the dump covers it. */
#define TENSORTAP_TENSOR_ON_DEVICE 128u

/* What a device measured of a part of a tensor. `first_nonfinite` counts from the first element of the part, -1 = none. */
typedef struct tensortap_measured {
  int64_t elements;
  int64_t nan;
  int64_t pos_inf;
  int64_t neg_inf;
  int64_t zero; /* both signs */
  int64_t neg_zero;
  int64_t negative;  /* finite ones */
  int64_t subnormal; /* if asked for */
  int64_t first_nonfinite;
  int64_t min_integer; /* of integers */
  int64_t max_integer;
  double min; /* this and what follows are of the finite elements; undefined if there are none */
  double max;
  double sum;
  double deviations; /* sum of the squared distances from the mean */
  double magnitudes; /* sum of the absolute values, if asked for */
} tensortap_measured;

/* What a device began to measure. The parts follow each other in the order of the elements. */
typedef struct tensortap_measuring {
  void* ticket;
  uint64_t parts;
  uint64_t launches; /* pieces of work that the device was given */
  uint64_t kernels;  /* of these, kernels that measure a whole tensor */
} tensortap_measuring;
#define TENSORTAP_MEASURE_MAGNITUDES 1u
#define TENSORTAP_MEASURE_SUBNORMAL 2u
#define TENSORTAP_MEASURE_BY_KERNEL 4u /* by such a kernel if there is one */

/* Memory that the host cannot read, such as that of a GPU. Of a source; lives as long as its session. */
typedef struct tensortap_device {
  uint32_t size;
  int32_t index;    /* number of the device among those of the same type */
  const char* name; /* of the type, such as "cuda" */
  void* memory;     /* the source's own */
  /* Copies the elements of a tensor of a running event, and waits for them. Returns the address of the first one, in host memory. If it
   * sets *packed to 1, the elements are contiguous, otherwise they have the strides of the tensor. Null on failure: *reason is then a text
   * as tensortap_not_captured() takes it. The result is valid until release(), or until the op of the event ended. On the thread of the
   * event, within the call that reports it. */
  const void* (*fetch)(const struct tensortap_device* device, const void* source, int* packed, const char** reason);
  void (*release)(const struct tensortap_device* device, const void* data); /* may be null */
  /* Null, or as fetch(), but without waiting: queues the copy behind the work that makes the elements, and returns one of
   * TENSORTAP_DEVICE_*. The copy is at *ticket, which belongs to the caller until drop(). *reason is for TENSORTAP_DEVICE_FAILED. */
  int (*queue)(const struct tensortap_device* device, const void* source, int* packed, void** ticket, const char** reason);
  /* What became of a ticket: 1 if the elements came, and *data is the address of the first one until drop(); 0 if they may come; -1 if
   * they will not. Any thread; never waits. */
  int (*poll)(const struct tensortap_device* device, void* ticket, const void** data);
  /* Ends a ticket, whatever became of it. Any thread; never waits. */
  void (*drop)(const struct tensortap_device* device, void* ticket);
  /* Null, or as queue(), for statistics that the device computes where the elements are: poll() gives the address of the first
   * tensortap_measured. `wanted`: TENSORTAP_MEASURE_*. TENSORTAP_DEVICE_FETCH_ONLY: the device cannot measure this tensor, and *reason says
   * why; it may be copied. TENSORTAP_DEVICE_QUEUED without a kernel that was asked for: *reason says why there is none. */
  int (*measure)(const struct tensortap_device* device, const void* source, uint32_t wanted, tensortap_measuring* begun,
                 const char** reason);
} tensortap_device;
#define TENSORTAP_DEVICE_QUEUED 0
#define TENSORTAP_DEVICE_FETCH_ONLY 1 /* fetch() may have the elements: they cannot be had without waiting */
#define TENSORTAP_DEVICE_NO_ROOM 2    /* too much is under way */
#define TENSORTAP_DEVICE_FAILED 3

/* For an output: its NaN and Inf were in the memory before the op; nothing was written to that memory since it was allocated. */
#define TENSORTAP_TENSOR_LEFT 0x1000000u
/* The op ran in compiled code, in which kernels that are no ops read and write between the ops. */
#define TENSORTAP_TENSOR_IN_COMPILED_CODE 0x2000000u
/* Nothing was written to some of its elements since the memory was allocated. */
#define TENSORTAP_TENSOR_PARTLY_UNWRITTEN 0x4000000u

/* What an engine may ask of such a session. */
typedef struct tensortap_question {
  uint32_t size;
  uint32_t flags;   /* TENSORTAP_QUESTION_*, the fields that count */
  const char* id;   /* of an operation, "3_1" */
  const char* type; /* and its type; both are needed for TENSORTAP_QUESTION_OP */
  int64_t step;
  int32_t device; /* -1 = not known, which no list of devices has */
  uint32_t reserved;
} tensortap_question;
#define TENSORTAP_QUESTION_OP 1u
#define TENSORTAP_QUESTION_STEP 2u
#define TENSORTAP_QUESTION_DEVICE 4u

/* Whether the config selects all that the question names: 0 no, 1 yes. 0 in a session that is off. A config that is followed is looked at,
 * at most once a second, so that answers change while the program runs. */
TENSORTAP_API int tensortap_would_keep(tensortap_session* session, const tensortap_question* question) TENSORTAP_NOEXCEPT;

/* A file that belongs to the dump and is no tensor. */
typedef struct tensortap_document {
  uint32_t size;
  uint32_t flags;   /* TENSORTAP_DOCUMENT_* */
  const char* path; /* below the dump's folder: letters, digits, '_', '-', '.' and '/'; no part begins with '.' */
  const void* data;
  uint64_t bytes;
} tensortap_document;
/* Appends to the file. Without this flag an existing file stays as it is. */
#define TENSORTAP_DOCUMENT_APPEND 1u

/* Writes it before returning: the whole file, or nothing. Returns TENSORTAP_UNSUPPORTED if the layout cannot store such files. A failure
 * is one of the session's.
 * The path "attributes.bin" is for serialised values of attributes, given once, before the first op is registered: `attributes` of
 * tensortap_op then refer to them as {"ref": [offset, size]}. Only the native layout keeps them. */
TENSORTAP_API int tensortap_add_document(tensortap_session* session, const tensortap_document* document) TENSORTAP_NOEXCEPT;

/* Whether the dump can store the arguments of calls that are no tensors, and keeps the tensors that belong to them: 0 no, 1 yes. */
TENSORTAP_API int tensortap_wants_arguments(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Whether the event after an op also has to contain the op's inputs, as the op left them: 0 no, 1 yes. Inputs as they were before the op
 * are reported as usual (TENSORTAP_EVENT_READ_FIRST). */
TENSORTAP_API int tensortap_wants_reads_after(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Reports the arguments of a call that are no tensors, if they differ from `attributes` of the op's registration: `json` is the text of an
 * object that replaces all arguments among them. `step` and `call` are those of the call's event, `call` as tensortap_op_event::call has
 * it. To be called before that event. A failure is one of the session's, and run.json contains the first step without arguments. */
TENSORTAP_API int tensortap_add_arguments(tensortap_session* session, tensortap_op_id op, int64_t step, uint32_t call,
                                          const char* json) TENSORTAP_NOEXCEPT;

/* Reports a fact about the engine or its job: a member of the object "runtime" of run.json. `json` is the text of a JSON value of at most
 * 64 KiB; it replaces an earlier one of that name. Returns TENSORTAP_INVALID_ARGUMENT for other text. */
TENSORTAP_API int tensortap_add_fact(tensortap_session* session, const char* name, const char* json) TENSORTAP_NOEXCEPT;

/* Reports that the calling thread goes on after an op that failed on it: the exception of the op was caught. */
TENSORTAP_API void tensortap_failure_was_caught(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* An exception ended the program: its text, and the lines of the program that it came through, the innermost last, as
 * tensortap_op::source_location has them. Returns 1 when an op failed at one of them: that op ended the program; otherwise 0. */
TENSORTAP_API int tensortap_program_raised(tensortap_session* session, const char* text, const char* const* lines,
                                           uint64_t line_count) TENSORTAP_NOEXCEPT;

/* Whether the calls of some modules are the steps (`step_at` of the config): 0 no, 1 yes. */
TENSORTAP_API int tensortap_has_step_modules(tensortap_session* session) TENSORTAP_NOEXCEPT;
/* Whether a module of this path and class is one of them: 0 no, 1 yes. Each module is asked about once; the report lists some of them when
 * none is one. */
TENSORTAP_API int tensortap_is_step_module(tensortap_session* session, const char* path, const char* type) TENSORTAP_NOEXCEPT;
/* One of them is called. */
TENSORTAP_API void tensortap_step_module_called(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Closes like tensortap_session_close(), and gives the last report as JSON text: what run.json says, or what it would say when it could not
 * be written. *report is for tensortap_free(); null when there is no session or no memory. */
TENSORTAP_API int tensortap_session_end(tensortap_session* session, char** report) TENSORTAP_NOEXCEPT;

/* Whether the session compares steps of one kind, for its budget: 0 no, 1 yes. If not, tensortap_step_begin_kind() needs no kind. */
TENSORTAP_API int tensortap_compares_kinds(tensortap_session* session) TENSORTAP_NOEXCEPT;

/* Reports the requests that a serving engine calls its model for in a step, which has begun: `json` is the text of an object, whose members
 * docs/layouts/tap.md has (requests.jsonl). `model_phase` is that of the call. Returns TENSORTAP_UNSUPPORTED if the layout cannot store
 * them, TENSORTAP_INVALID_ARGUMENT for other text. */
TENSORTAP_API int tensortap_add_requests(tensortap_session* session, int64_t step, uint32_t model_phase,
                                         const char* json) TENSORTAP_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_ASKING_H_ */
