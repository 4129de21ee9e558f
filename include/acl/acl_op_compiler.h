/* Where programs look for the functions that compile operators; they are declared beside the others. */
#ifndef TENSORTAP_ACL_OP_COMPILER_H_
#define TENSORTAP_ACL_OP_COMPILER_H_

#include "acl/acl_op.h"

#endif /* TENSORTAP_ACL_OP_COMPILER_H_ */
