// What ops of a type do with infinite numbers and with memory, in any framework's spelling of the type. Private to this folder.

#ifndef TENSORTAP_FIND_OP_SEMANTICS_H_
#define TENSORTAP_FIND_OP_SEMANTICS_H_

#include <string_view>

namespace tensortap {

// The op gives the same result for +Inf and for every number that is too large. It bounds or saturates (clamp, tanh), or it chooses
// among elements (where, max, gather). So an overflow before it does no harm.
bool bounds_or_chooses(std::string_view type);
// Divides by what it reads, or may: 1 / Inf is 0, and 1 / 0 is Inf in every type.
bool may_divide(std::string_view type);
// Makes infinities of finite numbers in every type, as log(0) is. With may_divide(), all that do.
bool has_poles(std::string_view type);

// Reads nothing of a tensor but its type and its shape.
bool reads_shape_only(std::string_view type);
// Copies elements and computes nothing.
bool only_copies(std::string_view type);
// Shows or copies the elements of its inputs in another shape or order, or some of them, and computes nothing: views, too.
bool only_moves(std::string_view type);
// Makes the same numbers whatever the elements of its inputs are: zeros_like, full, fill_.
bool makes_constants(std::string_view type);
// Gives one number for all elements of its inputs, to which each of them adds.
bool sums_up(std::string_view type);
// Writes some elements of its first input in place and reads none of it.
bool writes_parts(std::string_view type);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_OP_SEMANTICS_H_
