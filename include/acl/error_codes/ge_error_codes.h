/* Codes of the graph layer, as far as this library gives them. */
#ifndef TENSORTAP_ACL_GE_ERROR_CODES_H_
#define TENSORTAP_ACL_GE_ERROR_CODES_H_

#define ACL_ERROR_GE_PARAM_INVALID 145000

#endif /* TENSORTAP_ACL_GE_ERROR_CODES_H_ */
