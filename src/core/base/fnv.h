// FNV-1a: a hash that is the same in every process and on every machine, for names and for things that are known again. Not against those
// who want two to meet.

#ifndef TENSORTAP_BASE_FNV_H_
#define TENSORTAP_BASE_FNV_H_

#include <cstdint>
#include <string_view>

namespace tensortap {

// Of nothing; hash_more() adds to it.
inline constexpr uint64_t kFirstHash = 0xcbf29ce484222325;

// A number counts as one part.
constexpr uint64_t hash_more(uint64_t hash, uint64_t number) { return (hash ^ number) * 0x100000001b3; }

constexpr uint64_t hash_more(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = hash_more(hash, uint64_t{static_cast<unsigned char>(c)});
  return hash;
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FNV_H_
