// Parquet's hybrid of runs and packed bits, for numbers of up to 32 bits.

#ifndef TENSORTAP_FORMAT_PARQUET_RUNS_H_
#define TENSORTAP_FORMAT_PARQUET_RUNS_H_

#include <cstdint>
#include <span>
#include <string>

namespace tensortap::parquet {

// Bits that every number up to `most` fits into; at least 1.
int bits_for(uint32_t most);

// Appends `values`, each of `bits` bits.
void append_runs(std::span<const uint32_t> values, int bits, std::string& bytes);

}  // namespace tensortap::parquet

#endif  // TENSORTAP_FORMAT_PARQUET_RUNS_H_
