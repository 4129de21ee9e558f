// In the style of the asynchronous sample: a thread processes callbacks, many runs are put into one stream, each callback looks at its
// result.
//
// usage: async_flow MODEL RUNS       the model has one float input and one float output of the same size: y = f(x), x = run, run + 1, ...

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "acl/acl.h"

#define CHECK(call)                                                                              \
  do {                                                                                           \
    aclError check_code = (call);                                                                \
    if (check_code != ACL_SUCCESS) {                                                             \
      const char* check_text = aclGetRecentErrMsg();                                             \
      std::cerr << #call << ": " << check_code << " " << (check_text ? check_text : "") << "\n"; \
      return 1;                                                                                  \
    }                                                                                            \
  } while (false)

static std::atomic<bool> running(true);
static std::atomic<int> seen(0);

struct Request {
  int number;
  aclmdlDataset* input;
  aclmdlDataset* output;
};

static void* process_callbacks(void* context) {
  aclrtSetCurrentContext(context);
  while (running) aclrtProcessReport(100);
  return nullptr;
}

static void look_at_result(void* user) {
  const Request* request = static_cast<const Request*>(user);
  aclDataBuffer* buffer = aclmdlGetDatasetBuffer(request->output, 0);
  std::vector<float> values(aclGetDataBufferSizeV2(buffer) / sizeof(float));
  if (aclrtMemcpy(values.data(), values.size() * sizeof(float), aclGetDataBufferAddr(buffer), values.size() * sizeof(float),
                  ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS) {
    return;
  }
  std::cout << request->number << " " << values[0] << "\n";
  ++seen;
}

static aclmdlDataset* make_dataset(size_t size, float first) {
  void* memory = nullptr;
  if (aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
  std::vector<float> values(size / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  aclrtMemcpy(memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
  aclmdlDataset* dataset = aclmdlCreateDataset();
  aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(memory, size));
  return dataset;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int runs = std::atoi(arguments[2]);
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtContext context;
  CHECK(aclrtGetCurrentContext(&context));
  aclrtStream stream;
  CHECK(aclrtCreateStream(&stream));
  uint32_t model = 0;
  CHECK(aclmdlLoadFromFile(arguments[1], &model));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));

  pthread_t thread;
  if (pthread_create(&thread, nullptr, process_callbacks, context) != 0) return 1;
  CHECK(aclrtSubscribeReport(static_cast<uint64_t>(thread), stream));
  std::vector<Request> requests(static_cast<size_t>(runs));
  for (int i = 0; i < runs; ++i) {
    Request& request = requests[static_cast<size_t>(i)];
    request.number = i;
    request.input = make_dataset(aclmdlGetInputSizeByIndex(desc, 0), static_cast<float>(i));
    request.output = make_dataset(aclmdlGetOutputSizeByIndex(desc, 0), 0);
    CHECK(aclmdlExecuteAsync(model, request.input, request.output, stream));
    CHECK(aclrtLaunchCallback(look_at_result, &request, ACL_CALLBACK_BLOCK, stream));
  }
  CHECK(aclrtSynchronizeStream(stream));
  running = false;
  pthread_join(thread, nullptr);
  CHECK(aclrtUnSubscribeReport(static_cast<uint64_t>(thread), stream));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclmdlUnload(model));
  CHECK(aclFinalize());
  return seen == runs ? 0 : 1;
}
