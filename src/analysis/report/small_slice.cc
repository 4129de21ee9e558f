#include "report/small_slice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace tensortap {
namespace {

constexpr uint32_t kMagic = 0x534c4943;
constexpr size_t kWords = 10;
using Header = std::array<uint32_t, kWords>;
enum Word : size_t { kMagicWord, kRows, kColumns, kRowsPerCell, kColumnsPerCell };

// Rounded up.
uint32_t parts_of(uint32_t count, uint32_t size) { return count / size + (count % size == 0 ? 0 : 1); }

float stronger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  return std::abs(b) > std::abs(a) ? b : a;
}

}  // namespace

Result<std::string> small_slice(std::string_view slice, uint32_t most) {
  Header header{};
  if (slice.size() < sizeof header) return corrupt("a slice of values is cut");
  std::memcpy(header.data(), slice.data(), sizeof header);
  const uint64_t rows = header[kRows];
  const uint64_t columns = header[kColumns];
  const uint64_t values = (slice.size() - sizeof header) / sizeof(float);
  if (header[kMagicWord] != kMagic || (columns != 0 && rows > values / columns)) return corrupt("a slice of values is damaged");
  if (rows * columns == 0 || (rows <= most && columns <= most)) return std::string(slice);
  const uint32_t high = parts_of(header[kRows], most);
  const uint32_t wide = parts_of(header[kColumns], most);
  Header small = header;
  small[kRows] = parts_of(header[kRows], high);
  small[kColumns] = parts_of(header[kColumns], wide);
  small[kRowsPerCell] = std::max(1U, header[kRowsPerCell]) * high;
  small[kColumnsPerCell] = std::max(1U, header[kColumnsPerCell]) * wide;
  std::vector<float> cells(size_t{small[kRows]} * small[kColumns], 0.0F);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      float value = 0;
      std::memcpy(&value, slice.data() + sizeof header + (row * columns + column) * sizeof value, sizeof value);
      float& cell = cells[row / high * small[kColumns] + column / wide];
      cell = row % high == 0 && column % wide == 0 ? value : stronger(cell, value);
    }
  }
  std::string bytes(sizeof header + cells.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), small.data(), sizeof small);
  if (!cells.empty()) std::memcpy(bytes.data() + sizeof small, cells.data(), cells.size() * sizeof(float));
  return bytes;
}

}  // namespace tensortap
