// Which ops talk to other ranks, by their types in any framework's spelling.

#ifndef TENSORTAP_FIND_COLLECTIVE_TYPES_H_
#define TENSORTAP_FIND_COLLECTIVE_TYPES_H_

#include <string_view>

namespace tensortap {

// Whether ops of this type give every rank the sum, or another reduction, of what all ranks have.
bool is_all_reduce(std::string_view type);
// Whether what ops of this type give comes from other ranks, too; also true of what only waits for it.
bool is_collective(std::string_view type);
// Whether ops of this type send to one rank or receive from one, as stages of a pipeline do.
bool is_between_two(std::string_view type);
// Whether ops of this type may wait for other ranks: all of the above, and barriers.
bool may_wait(std::string_view type);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_COLLECTIVE_TYPES_H_
