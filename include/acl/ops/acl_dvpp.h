/* For programs that include it: image and video operators are not provided, its memory functions are. */
#ifndef TENSORTAP_ACL_DVPP_H_
#define TENSORTAP_ACL_DVPP_H_

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclError acldvppMalloc(void** devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError acldvppFree(void* devPtr);

#ifdef __cplusplus
}
#endif
#endif /* TENSORTAP_ACL_DVPP_H_ */
