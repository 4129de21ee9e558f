/*
 * Between libtensortap_pytorch.so, which knows no torch version, and the adapter, which is compiled against the headers of one torch
 * minor release and one C++ string ABI. Plain C data only: the two sides may disagree about std::string.
 *
 * The adapter registers torch's callbacks, picks the calls that count as operators and turns what torch holds into the structures below.
 * The tracker behind the interface names, counts, links and reports them to a session of capture.h. No function throws. Every pointer is
 * borrowed for the call. Functions may be called from any thread; begin and end of a call come from the same one.
 */
#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_ADAPTER_INTERFACE_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_ADAPTER_INTERFACE_H_

#include <stddef.h>
#include <stdint.h>
#include <tensortap/asking.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with anything in this file; an adapter of another number is not loaded. */
#define TENSORTAP_ADAPTER_INTERFACE_VERSION 12

/* Properties of an operator, from its schema; described once. */
enum {
  TENSORTAP_TORCH_OP_VIEW = 1u,         /* its outputs share memory with its inputs */
  TENSORTAP_TORCH_OP_UNWRITTEN = 2u,    /* its outputs are memory as the allocator gave it: empty and similar operators */
  TENSORTAP_TORCH_OP_INTENDED_INF = 4u, /* non-finite values may be meant: masks, fills */
  TENSORTAP_TORCH_OP_SEES_VALUE = 8u,   /* hands a value to the program: item, isfinite */
  TENSORTAP_TORCH_OP_COLLECTIVE = 16u,  /* its outputs are complete when its c10d::Work is */
  TENSORTAP_TORCH_OP_REARRANGES = 32u,  /* writes nothing, and its outputs are elements of its inputs where they lie */
  TENSORTAP_TORCH_OP_TESTS_VALUE = 64u, /* reports which of its inputs' elements are finite: isnan, the check of gradient scaling */
  TENSORTAP_TORCH_OP_SEES_LOSS = 128u,  /* a backward pass begins with it, and its input is the loss: ones_like */
  TENSORTAP_TORCH_OP_HOST_FILLED = 256u /* its input holds what the program filled in without an operator: torch.tensor() */
};

typedef struct tensortap_torch_op {
  uint32_t size;
  uint32_t flags;
  const char* name;                  /* "aten::add" */
  const char* overload;              /* "Tensor", "" for the default */
  const char* const* argument_names; /* "" for arguments that are no tensor; those at the end are left out */
  uint32_t argument_count;
  uint32_t return_count;
  uint64_t overwritten; /* bit n: the operator writes all of argument n and reads nothing of it, as of `out=` */
  uint64_t written;     /* bit n: by its schema the operator writes into argument n */
} tensortap_torch_op;

/* How far a tensor can be looked into. */
enum tensortap_torch_kind {
  TENSORTAP_TORCH_STRIDED = 0, /* dims, strides and data are set */
  TENSORTAP_TORCH_UNDEFINED,
  TENSORTAP_TORCH_WRAPPER, /* of functorch, functionalisation, a subclass: the inner call has the real tensors */
  TENSORTAP_TORCH_META,    /* meta and fake tensors */
  TENSORTAP_TORCH_SPARSE,
  TENSORTAP_TORCH_NESTED,
  TENSORTAP_TORCH_MKLDNN,
  TENSORTAP_TORCH_ZERO,
  TENSORTAP_TORCH_DEVICE, /* the same, but data and storage_data are addresses that the device alone may read */
  TENSORTAP_TORCH_OTHER
};

enum {
  TENSORTAP_TORCH_TENSOR_WRITTEN = 1u,   /* the operator writes into it */
  TENSORTAP_TORCH_TENSOR_CONJUGATE = 2u, /* bytes are those of the conjugate */
  TENSORTAP_TORCH_TENSOR_NEGATIVE = 4u,
  TENSORTAP_TORCH_TENSOR_QUANTIZED = 8u,
  TENSORTAP_TORCH_TENSOR_READ = 16u,         /* an argument of the call; whether it is a parameter of the model is known: the next flag */
  TENSORTAP_TORCH_TENSOR_PARAMETER = 32u,    /* a leaf that requires a gradient */
  TENSORTAP_TORCH_TENSOR_SCATTERED = 64u,    /* elements of less than a byte that are not contiguous */
  TENSORTAP_TORCH_TENSOR_UNFINISHED = 128u,  /* a collective that is not complete writes into it: its values are not to be read */
  TENSORTAP_TORCH_TENSOR_OVERWRITTEN = 256u, /* of collective_done(): something else may have written into it: likewise */
  /* In host memory: a copy from a device fills it and may not be complete yet. Cleared when the program has waited for the copy. */
  TENSORTAP_TORCH_TENSOR_UNFILLED = 512u
};

typedef struct tensortap_torch_tensor {
  const void* storage; /* identity of its StorageImpl, null when it has none */
  const void* storage_data;
  uint64_t storage_bytes;
  const void* data;
  /* Null when finding them would run code of the program. A pair of torch's float4 elements counts as two, and a complex32 element as two
   * float16 elements, in a separate dimension. */
  const int64_t* dims;
  const int64_t* strides; /* null = contiguous */
  uint32_t rank;
  uint32_t dtype;  /* enum tensortap_dtype */
  uint32_t kind;   /* enum tensortap_torch_kind */
  uint32_t flags;  /* TENSORTAP_TORCH_TENSOR_* */
  uint32_t slot;   /* position among the arguments or returns of the schema */
  int32_t element; /* position in a list of tensors, -1 = no list */
  /* Fetches the elements during the call, with this structure as the source. For kind DEVICE and for UNFILLED tensors; otherwise
   * null. */
  const tensortap_device* device;
  const void* tensor; /* its TensorImpl, for kind DEVICE */
} tensortap_torch_tensor;

enum {
  TENSORTAP_TORCH_CALL_GRAD_MODE = 1u, /* gradients are being recorded */
  TENSORTAP_TORCH_CALL_KERNEL = 2u,    /* computes without help: level "kernel"; reported when it ended, begin and end at once */
  TENSORTAP_TORCH_CALL_COMPOSITE = 4u, /* the program's own call, looked through by the level "op": level "api" */
  TENSORTAP_TORCH_CALL_RAISED = 8u,    /* at end: an exception left the call */
  TENSORTAP_TORCH_CALL_LATER = 16u,    /* at end: the tensors come with collective_done() */
  TENSORTAP_TORCH_CALL_DIRECT = 32u    /* an operator that is the program's own call: also level "api" */
};

/* Reports the arguments of a call as they are now, as far as they still exist, with `slot` and `element` as at its begin. Sets *tensors
 * to an array that is valid until the end of the call was reported, and returns their number. */
typedef uint32_t (*tensortap_torch_show_arguments)(void* arguments, const tensortap_torch_tensor** tensors);

/* One call of an operator. At begin `tensors` are its arguments. At the end of a call that raised, they are its arguments that still exist.
 * At any other end they are its returns, followed by the arguments that it wrote and does not return (flagged
 * TENSORTAP_TORCH_TENSOR_WRITTEN; `slot` is that of the argument). */
typedef struct tensortap_torch_call {
  uint32_t size;
  uint32_t op;    /* tracker->describe_op() */
  uint32_t flags; /* TENSORTAP_TORCH_CALL_* */
  uint32_t tensor_count;
  const tensortap_torch_tensor* tensors;
  int64_t sequence_number;                       /* of autograd, -1 = none */
  void* token;                                   /* at end: what begin returned */
  const void* arguments;                         /* at begin: for attributes(); otherwise null */
  tensortap_torch_show_arguments show_arguments; /* at an end with returns; otherwise null. To be called once at most. */
  void* shown_arguments;                         /* its first argument */
} tensortap_torch_call;

/* One autograd node while it runs. */
typedef struct tensortap_torch_node {
  uint32_t size;
  uint32_t reserved;
  const char* name;        /* "MulBackward0" */
  int64_t sequence_number; /* -1 = none (AccumulateGrad) */
  uint64_t forward_thread; /* torch's number of the thread whose call has this sequence number */
} tensortap_torch_node;

/* The tracker's side, for the adapter. */
typedef struct tensortap_torch_tracker {
  uint32_t size;
  uint32_t version; /* TENSORTAP_ADAPTER_INTERFACE_VERSION */
  /* Number of an operator, from 0; once per operator. */
  uint32_t (*describe_op)(const tensortap_torch_op* op);
  /* Returns a token for end(), null when the call is not needed: end() is then called only if it raises. */
  void* (*begin)(const tensortap_torch_call* call, uint64_t torch_thread);
  void (*end)(const tensortap_torch_call* call);
  void (*node_begin)(const tensortap_torch_node* node);
  void (*node_end)(void);
  /* A named scope of the program or of torch itself, such as "Optimizer.step#Adam.step". */
  void (*scope_begin)(const char* name);
  void (*scope_end)(const char* name);
  /* The tensors that a collective returned and wrote, once it is complete or given up; on any thread. `token`: what begin returned.
   * `error`: why it failed, null when it did not. After a failure the tensors mean nothing. */
  void (*collective_done)(void* token, const tensortap_torch_tensor* tensors, uint32_t count, const char* error);
  /* A dump node of a compiled graph runs: its number, and its tensors in its order, including undefined ones. Their `slot` and `element`
   * mean nothing. */
  void (*dump_node)(int64_t site, const tensortap_torch_tensor* tensors, uint32_t count);
  /* Our kernel of statistics, for a tensor on a device. How many bytes of host memory it writes, and how many parts these are. 0: no
   * kernel measures it now, *reason says why, and *never is 1 if none ever will on this device. Never waits. */
  uint64_t (*kernel_bytes)(const tensortap_torch_tensor* tensor, uint64_t* parts, const char** reason, int* never);
  /* Queues it on the stream, the driver's handle; `wanted`: TENSORTAP_MEASURE_*. Null, or why nothing was queued. `results`: memory that
   * the device can write into. */
  const char* (*launch_kernel)(const tensortap_torch_tensor* tensor, uint32_t wanted, void* stream, void* results);
  /* Turns what the device wrote into `parts` of them. 0 if it did not write them. */
  int (*read_kernel)(const void* results, uint64_t parts, tensortap_measured* measured);
} tensortap_torch_tracker;

/* The adapter's side, for the tracker. */
typedef struct tensortap_torch_adapter {
  uint32_t size;
  uint32_t version;          /* TENSORTAP_ADAPTER_INTERFACE_VERSION */
  const char* torch_version; /* of the headers that it was compiled with, "2.13.0" */
  /* Prevents the reuse of a storage's identity without keeping its memory; drop_storage() ends that. */
  void (*hold_storage)(const void* storage);
  void (*drop_storage)(const void* storage);
  int (*storage_expired)(const void* storage); /* 1 when only holds are left of it */
  /* Turns the callbacks for operators on or off; those for scopes stay on. `levels`: 1 << TENSORTAP_LEVEL_* of capture.h; operators are
   * reported in any case. */
  void (*observe)(int enabled, uint32_t levels);
  /* Runs task(context, i) for i in [0, count) on the threads of torch's own pool. */
  void (*parallel_for)(void* pool, void (*task)(void* context, size_t index), size_t count, void* context);
  /* Writes the arguments that are no tensors as a JSON object, with a zero at its end, if it is shorter than `capacity`; returns its
   * length, 0 when there are none. During begin(), of its call. Beside the arguments, by their names: "intended_inf": true when a number
   * among them is infinite, "parameters": the slots that hold a leaf that requires a gradient, "quantized": those that hold quantised
   * tensors, "pairs": those that hold complex32 tensors, "placements": how those are placed that are parts of DTensors.
   * docs/layouts/tap.md has the forms of values. */
  size_t (*attributes)(const tensortap_torch_call* call, char* text, size_t capacity);
  /* Runs known tensors through the whole adapter; returns null, or the error. Not while operators of the program run. */
  const char* (*self_test)(void);
  /* Registers our operators, once: tensortap::dump(Tensor(a!)[] tensors, int site) -> (), which calls tracker->dump_node(), and
   * tensortap::name_group(Any group, str name) -> (), after which attributes() has this name for a process group among the arguments.
   * Returns nonzero on failure. Null in an adapter that has none. */
  int (*define_operators)(void);
  /* The tracker's number of an operator by its schema's names ("aten::add", "Tensor"), described first if it is new; -1 = there is none. */
  int64_t (*find_op)(const char* name, const char* overload);
  /* Between begin and end no operator of this thread is reported: a graph reports its nodes itself. Nests. Sets torch's number of the
   * thread, and the sequence number that the thread's next autograd node will have. */
  void (*graph_begin)(uint64_t* thread, int64_t* sequence_number);
  void (*graph_end)(void);
  /* Calls that differ in arguments that are no tensors have different numbers; 0 = not known. During begin(), of its call. */
  uint64_t (*arguments_digest)(const tensortap_torch_call* call);
} tensortap_torch_adapter;

/* The one symbol of an adapter. Registers the callbacks (disabled) and fills *adapter. Nonzero when the versions do not fit. */
typedef int (*tensortap_torch_adapter_attach_function)(const tensortap_torch_tracker* tracker, tensortap_torch_adapter* adapter);
#define TENSORTAP_TORCH_ADAPTER_ATTACH "tensortap_torch_adapter_attach"

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_SOURCE_PYTORCH_ADAPTER_ADAPTER_INTERFACE_H_ */
