// The C functions of include/tensortap/pytorch.h.

#include <tensortap/pytorch.h>
