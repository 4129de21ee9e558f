#include "tree/exception_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr mode_t kExceptionFileMode = 0400;

std::vector<DumpDataTensor> descriptions_of(const std::vector<ExceptionTensor>& tensors) {
  std::vector<DumpDataTensor> descriptions;
  for (const ExceptionTensor& tensor : tensors) descriptions.push_back(tensor.description);
  return descriptions;
}

Status write_content(File& file, const ExceptionFile& content) {
  DumpDataFile head;
  head.time_us = wall_clock_us();
  head.op_name = content.name;
  if (!content.tag.empty()) head.attributes.push_back({"user_tag", content.tag});
  head.inputs = descriptions_of(content.inputs);
  head.outputs = descriptions_of(content.outputs);
  head.workspaces = descriptions_of(content.workspaces);
  TENSORTAP_ASSIGN_OR_RETURN(const std::string bytes, make_dump_data_head(head));
  TENSORTAP_RETURN_IF_ERROR(file.write(bytes));
  for (const auto* tensors : {&content.inputs, &content.outputs, &content.workspaces}) {
    for (const ExceptionTensor& tensor : *tensors) TENSORTAP_RETURN_IF_ERROR(file.write(tensor.payload));
  }
  if (::fchmod(file.fd(), kExceptionFileMode) != 0) return errno_status(file.path(), errno);
  return file.close();
}

}  // namespace

Status write_exception_file(const std::string& path, const ExceptionFile& content) {
  const std::string temporary = concat(path, ".tensortap-", ::getpid());
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open_at(AT_FDCWD, temporary, path, O_WRONLY | O_CREAT | O_EXCL));
  Status status = write_content(file, content);
  if (status.ok() && ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    status = errno == EEXIST ? unsupported(concat(quote(path), " exists already")) : errno_status(path, errno);
  }
  if (!status.ok()) (void)::unlink(temporary.c_str());
  return status;
}

}  // namespace tensortap
