/* Finer control of dumps: where they go, arguments of single operators, chunks instead of files. */
#ifndef TENSORTAP_ACL_DUMP_H_
#define TENSORTAP_ACL_DUMP_H_

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_DUMP_MAX_FILE_PATH_LENGTH 4096
#define ACL_OP_DUMP_OP_AICORE_ARGS 0x00000001U
#define ACL_DUMP_MAX_SHAPE_NUM 25

typedef enum { AIC_ERR_BRIEF_DUMP = 1, AIC_ERR_NORM_DUMP = 2, AIC_ERR_DETAIL_DUMP = 3, DATA_DUMP = 4, OVERFLOW_DUMP = 5 } acldumpType;

typedef enum { ACL_DUMP_TENSOR_INPUT = 0, ACL_DUMP_TENSOR_OUTPUT, ACL_DUMP_TENSOR_WORKSPACE } acldumpTensorType;
typedef enum { ACL_DUMP_ADDR_PTR = 0, ACL_DUMP_ADDR_PTR_PTR, ACL_DUMP_ADDR_RAW } acldumpTensorAddressType;
typedef enum { ACL_DUMP_PLACEMENT_DEVICE = 0, ACL_DUMP_PLACEMENT_HOST, ACL_DUMP_PLACEMENT_END } acldumpTensorPlacement;

/* A tensor for acldumpSaveExceptionInfo(): of its enumerations only ACL_DUMP_ADDR_RAW and ACL_DUMP_PLACEMENT_DEVICE are accepted. */
typedef struct acldumpTensorInfo {
  acldumpTensorType type;
  size_t tensorSize; /* in bytes, not 0 */
  int32_t format;    /* aclFormat */
  int32_t dataType;  /* aclDataType */
  int64_t* tensorAddr;
  acldumpTensorAddressType addrType;
  acldumpTensorPlacement placement;
  uint32_t argsOffset; /* not used: the tensor's place in the array counts */
  uint32_t shapeNum;
  uint32_t originShapeNum;
  uint64_t shape[ACL_DUMP_MAX_SHAPE_NUM];
  uint64_t originShape[ACL_DUMP_MAX_SHAPE_NUM];
} acldumpTensorInfo;

/* A piece of a file that would have been written; `dataBuf` has `bufLen` bytes. */
typedef struct acldumpChunk {
  char fileName[ACL_DUMP_MAX_FILE_PATH_LENGTH];
  uint32_t bufLen;
  uint32_t isLastChunk;
  int64_t offset; /* -1 = behind what came before */
  int32_t flag;
  uint8_t dataBuf[1]; /* as long as bufLen says */
} acldumpChunk;

/* The folder that dumps of a kind go to, with a slash at its end, or null when none are asked for. Valid until the next call in this
 * thread. */
ACL_FUNC_VISIBILITY const char* acldumpGetPath(acldumpType dumpType);

/* `flag` must be 0; null or another flag is ACL_ERROR_FAILURE, a second registration is ignored. Files of dumps of models that are loaded
 * from then on go to the callback, after each run, and not to the disk; the second argument is the size of the chunk with its bytes. A
 * statistics file comes as one text with its end. An answer that is not 0 means that the chunk is lost. */
ACL_FUNC_VISIBILITY aclError acldumpRegCallback(int32_t (*messageCallback)(const acldumpChunk*, int32_t), int32_t flag);
ACL_FUNC_VISIBILITY void acldumpUnregCallback(void);

/* Writes tensors of the program into the folder of acldumpGetExceptionInfoPath(), as the file `fileName`.custom.YYYYmmddHHMMSSmmm, which
 * `tensortap convert` and the vendor's tools read. `fileName` is relative and without ".."; its folders are made. `userTag` may be null; it
 * becomes the attribute "user_tag" of the file. ACL_ERROR_INVALID_PARAM for a wrong name or tensor, and for memory that was not allocated
 * here; ACL_ERROR_FAILURE when no exception dump is on, and when the file cannot be written. */
ACL_FUNC_VISIBILITY aclError acldumpSaveExceptionInfo(const char* fileName, const char* userTag, const acldumpTensorInfo* tensors,
                                                      size_t tensorCount);
/* The folder of exception dumps of the thread's device, with a slash at its end. ACL_ERROR_INVALID_PARAM for a null `path` and where
 * `maxLen` bytes do not hold it; ACL_ERROR_FAILURE when no exception dump is on. */
ACL_FUNC_VISIBILITY aclError acldumpGetExceptionInfoPath(char* path, size_t maxLen);

/* Keeps the tensors of single operators, in and out, from now on under `path`. ACL_ERROR_FAILURE for a type without
 * ACL_OP_DUMP_OP_AICORE_ARGS, a path that cannot be made or written to, and a second start. */
ACL_FUNC_VISIBILITY aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);
ACL_FUNC_VISIBILITY aclError aclopStopDumpArgs(uint32_t dumpType);

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_ACL_DUMP_H_ */
