// The C functions of acl_mdl.h about data sets.

#include <memory>
#include <mutex>

#include "base/text.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/objects.h"

namespace tensortap::acl_source {
namespace {

// A data set holds a copy of a description, with a separate handle, because the program may ask for it.
void hold_description(aclmdlDataset::Entry& entry, std::shared_ptr<aclTensorDesc> description) {
  if (entry.description) live<aclTensorDesc>().remove(entry.description.get());
  entry.description = std::move(description);
  if (entry.description) live<aclTensorDesc>().add(entry.description);
}

// A data set with its lock, for as long as it is used.
struct LockedDataset {
  std::shared_ptr<aclmdlDataset> dataset;
  std::unique_lock<std::mutex> lock;
};

LockedDataset lock_dataset(const aclmdlDataset* handle) {
  LockedDataset locked{live<aclmdlDataset>().find(handle), {}};
  if (locked.dataset) locked.lock = std::unique_lock(locked.dataset->mutex);
  return locked;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;
using tensortap::acl_source::lock_dataset;

extern "C" {

aclmdlDataset* aclmdlCreateDataset(void) {
  return answer_or<aclmdlDataset*>(nullptr, [] { return live<aclmdlDataset>().add(std::make_shared<aclmdlDataset>()); });
}

aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  return answer([&]() -> aclError {
    const auto gone = live<aclmdlDataset>().remove(dataset);
    if (!gone) return bad_handle("data set");
    const std::lock_guard lock(gone->mutex);
    for (auto& entry : gone->entries) tensortap::acl_source::hold_description(entry, nullptr);
    return ACL_SUCCESS;
  });
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* dataBuffer) {
  return answer([&]() -> aclError {
    const auto locked = lock_dataset(dataset);
    if (!locked.dataset) return bad_handle("data set");
    if (!live<aclDataBuffer>().find(dataBuffer)) return bad_handle("data buffer");
    locked.dataset->entries.push_back({dataBuffer, nullptr});
    return ACL_SUCCESS;
  });
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) {
  return answer_or<size_t>(0, [&]() -> size_t {
    const auto locked = lock_dataset(dataset);
    return locked.dataset ? locked.dataset->entries.size() : 0;
  });
}

aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  return answer_or<aclDataBuffer*>(nullptr, [&]() -> aclDataBuffer* {
    const auto locked = lock_dataset(dataset);
    return locked.dataset && index < locked.dataset->entries.size() ? locked.dataset->entries[index].buffer : nullptr;
  });
}

aclError aclmdlSetDatasetTensorDesc(aclmdlDataset* dataset, aclTensorDesc* tensorDesc, size_t index) {
  return answer([&]() -> aclError {
    const auto locked = lock_dataset(dataset);
    if (!locked.dataset) return bad_handle("data set");
    if (index >= locked.dataset->entries.size())
      return fail(ACL_ERROR_INVALID_PARAM, tensortap::concat("the data set has no buffer ", index));
    std::shared_ptr<aclTensorDesc> copy;
    if (tensorDesc != nullptr) {
      const auto given = live<aclTensorDesc>().find(tensorDesc);
      if (!given) return bad_handle("tensor description");
      copy = std::make_shared<aclTensorDesc>(*given);
      copy->siblings.clear();
    }
    tensortap::acl_source::hold_description(locked.dataset->entries[index], std::move(copy));
    return ACL_SUCCESS;
  });
}

aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* dataset, size_t index) {
  return answer_or<aclTensorDesc*>(nullptr, [&]() -> aclTensorDesc* {
    const auto locked = lock_dataset(dataset);
    return locked.dataset && index < locked.dataset->entries.size() ? locked.dataset->entries[index].description.get() : nullptr;
  });
}
}
