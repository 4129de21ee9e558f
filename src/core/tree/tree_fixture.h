// What the tests of trees of npy files share: a folder to write them into, and the names of their records.

#ifndef TENSORTAP_TREE_TREE_FIXTURE_H_
#define TENSORTAP_TREE_TREE_FIXTURE_H_

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "format/npy/npy_header.h"
#include "trace/dump_index.h"
#include "trace/record_row.h"

namespace tensortap {

// An npy file of one dimension.
inline std::string tensor_file(const std::vector<float>& values, std::string_view descr = "'<f4'") {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(values.size())};
  std::string file = make_npy_header(descr, shape);
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return file;
}

class TreeFixture : public testing::Test {
 protected:
  // `name`: relative to the folder; may contain further folders.
  void write(const std::string& name, std::string_view content) {
    const std::string path = join_path(folder_.path(), name);
    ASSERT_TRUE(make_directories(parent_path(path)).ok());
    ASSERT_TRUE(write_file_atomically(path, content).ok());
  }
  static std::vector<std::string> names(const DumpIndex& dump) {
    std::vector<std::string> all;
    for (const RecordRow& row : dump.rows()) all.push_back(record_name(row, op_of(dump, row).name));
    return all;
  }

  TemporaryFolder folder_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_TREE_FIXTURE_H_
