/* What the parts of the preloaded stub share: messages, and the libraries that they load. The C library alone. */

#ifndef TENSORTAP_SOURCE_PRELOAD_LOADING_H_
#define TENSORTAP_SOURCE_PRELOAD_LOADING_H_

/* Writes "tensortap: " and the three parts as one line on stderr. */
void say(const char* first, const char* second, const char* third);

/* The function of the library that the variable names. Null without a request, or when the function is missing, which is reported. */
void* function_of_library(const char* variable, const char* function);

#endif /* TENSORTAP_SOURCE_PRELOAD_LOADING_H_ */
