// Writes a native dump for tests/native_layout_test.py: write_dump_program FOLDER [die]. With "die" it ends without finishing.
//
// One op per dtype, its output of shape (2, 3) in two steps; byte i of the packed values is (i * 151 + dtype + 50 * step) mod 256.

#include <cstdio>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr int kSteps = 2;

bool add_strings(LayoutWriter& writer, RecordRow& row) {
  static constexpr std::string_view kTexts[] = {"", "a", "größe", "\xff", "two words", "end"};
  std::vector<StringElement> elements;
  for (const std::string_view text : kTexts) elements.push_back({text.data(), text.size()});
  const TensorView view{row.desc(), elements.data(), nullptr};
  return writer.add_record(row, &view, nullptr).ok();
}

bool add(LayoutWriter& writer, DType dtype, int step) {
  const auto number = static_cast<OpId>(dtype);
  RecordRow row;
  row.op = number - 1;
  row.step = step;
  row.sequence = uint64_t{number} * kSteps + static_cast<uint64_t>(step);
  row.set_desc({dtype, {2, 3}});
  if (dtype == DType::kString) return add_strings(writer, row);
  std::vector<uint8_t> values(row.bytes);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 151 + number + 50 * static_cast<size_t>(step));
  row.stats.min = -1.5;
  row.stats.nan = number;
  row.stats.valid = kStatMin | kStatNan;
  ExponentHistogram histogram;
  histogram.bins[number] = 7;
  histogram.inf = number;
  const TensorView view{row.desc(), values.data(), nullptr};
  return writer.add_record(row, &view, step == 0 ? &histogram : nullptr).ok();
}

bool write_all(LayoutWriter& writer) {
  for (int number = 1; number < kDTypeCount; ++number) {
    OpInfo op;
    op.name = concat("/graph/", dtype_name(static_cast<DType>(number)));
    op.type = "Test";
    op.attributes = "{\"number\": 1}";
    if (!writer.add_op(static_cast<OpId>(number - 1), op).ok()) return false;
    for (int step = 0; step < kSteps; ++step) {
      if (!add(writer, static_cast<DType>(number), step)) return false;
    }
  }
  return true;
}

int run(std::string_view folder, bool die) {
  DumpInfo info;
  info.folder = folder;
  const auto writer = find_layout("tap")->create(info, CaptureSpec());
  if (!writer.ok()) {
    std::fprintf(stderr, "%s\n", writer.status().message().c_str());
    return 1;
  }
  if (!write_all(**writer)) return 1;
  if (die) return 0;
  return (*writer)->finish("{\"program\": \"write_dump_program\"}\n").ok() ? 0 : 1;
}

}  // namespace
}  // namespace tensortap

int main(int count, char** arguments) {
  if (count < 2) return 2;
  return tensortap::run(arguments[1], count > 2 && std::string_view(arguments[2]) == "die");
}
