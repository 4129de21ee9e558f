/*
 * The AscendCL interface on ONNX Runtime (libtensortap_acl.so): a program written for AscendCL compiles against these headers, links
 * -ltensortap_acl, and loads an ONNX model where it used to load an .om file. docs/acl.md lists what is the same and what differs.
 *
 * The headers are tensortap's own: functions, numbers and structures are those of the interface, the rest is not. They are plain C and
 * C++11. No function throws, ends the program or prints on stdout. A handle, a model id or an address that is not one of this library is
 * answered with an error code. Functions are thread-safe; one object is for one thread at a time, as in the original.
 */
#ifndef TENSORTAP_ACL_ACL_H_
#define TENSORTAP_ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 15
#define ACL_PATCH_VERSION 0

#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

typedef enum aclCANNPackageName {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME,
  ACL_PKG_NAME_COMPILER,
  ACL_PKG_NAME_HCCL,
  ACL_PKG_NAME_TOOLKIT,
  ACL_PKG_NAME_OPP,
  ACL_PKG_NAME_OPP_KERNEL,
  ACL_PKG_NAME_DRIVER
} aclCANNPackageName;

typedef struct aclCANNPackageVersion {
  char version[ACL_PKG_VERSION_MAX_SIZE]; /* whole, such as "8.5.0" */
  char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/* Begins. `configPath` may be null or "": no config. Its "dump" applies to the models that are loaded until aclFinalize(). A second call
 * counts, and gives ACL_ERROR_REPEAT_INITIALIZE. A file that cannot be used: ACL_ERROR_INVALID_FILE, ACL_ERROR_PARSE_FILE; a wrong "dump":
 * ACL_ERROR_INVALID_DUMP_CONFIG; another config than that of the first aclInit() of the process: ACL_ERROR_INVALID_PARAM. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/* Ends, however often aclInit() was called, and finishes all dumps. ACL_ERROR_REPEAT_FINALIZE when nothing is to be ended. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);
/* Ends one aclInit(); the last one ends all. `refCount` gets how many are left. */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion);
/* The name of the processor that really computes. It does not begin with "Ascend", since programs choose a chip by such names. Static. */
ACL_FUNC_VISIBILITY const char* aclrtGetSocName(void);
/* The release of CANN whose interface this library follows, as the version of the packages CANN, runtime and toolkit. The other packages
 * are not installed: ACL_ERROR_INVALID_FILE, as in CANN. ACL_ERROR_INVALID_PARAM for an unknown package or a null `version`. */
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version);
/* What went wrong last in this thread, in words, or null. Valid until the thread's next call; asking takes it away. */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_ACL_ACL_H_ */
