// Dumps switched on, replaced and off while models are loaded, run by several threads, and unloaded. Each model's number is said.
//
// usage: dump_flow COMMAND...   init FILE|- | initdump | setdump FILE | enddump | load MODEL | run NUMBER TIMES THREADS | unload NUMBER |
// end
//                               | path | callback | corrupt: buffers that are not ours

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_dump.h"

static int32_t take_chunk(const acldumpChunk* chunk, int32_t size) {
  const bool whole = static_cast<size_t>(size) == sizeof(acldumpChunk) + chunk->bufLen;
  std::cout << "chunk " << chunk->fileName << " " << chunk->bufLen << " " << chunk->isLastChunk << (whole ? "" : " of a wrong size")
            << "\n";
  return 0;
}

static aclmdlDataset* make_dataset(aclmdlDesc* desc, bool is_input) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  const size_t count = is_input ? aclmdlGetNumInputs(desc) : aclmdlGetNumOutputs(desc);
  for (size_t i = 0; i < count; ++i) {
    const size_t size = is_input ? aclmdlGetInputSizeByIndex(desc, i) : aclmdlGetOutputSizeByIndex(desc, i);
    void* memory = nullptr;
    if (aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    aclrtMemset(memory, size, 0, size);
    aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(memory, size));
  }
  return dataset;
}

static void run_times(uint32_t model, int times, aclError* result) {
  aclmdlDesc* desc = aclmdlCreateDesc();
  *result = aclmdlGetDesc(desc, model);
  aclmdlDataset* input = make_dataset(desc, true);
  aclmdlDataset* output = make_dataset(desc, false);
  for (int i = 0; i < times && *result == ACL_SUCCESS; ++i) *result = aclmdlExecute(model, input, output);
  aclmdlDestroyDesc(desc);
}

static aclError run_threads(uint32_t model, int times, int threads) {
  std::vector<std::thread> running;
  std::vector<aclError> results(static_cast<size_t>(threads), ACL_SUCCESS);
  for (int i = 0; i < threads; ++i) running.push_back(std::thread(run_times, model, times, &results[static_cast<size_t>(i)]));
  for (std::thread& thread : running) thread.join();
  for (aclError result : results) {
    if (result != ACL_SUCCESS) return result;
  }
  return ACL_SUCCESS;
}

static aclError run_on_foreign_memory(uint32_t model) {
  static char foreign[1 << 16];
  aclmdlDesc* desc = aclmdlCreateDesc();
  aclmdlGetDesc(desc, model);
  aclmdlDataset* output = make_dataset(desc, false);
  aclmdlDataset* input = aclmdlCreateDataset();
  aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(foreign, aclmdlGetInputSizeByIndex(desc, 0)));
  return aclmdlExecute(model, input, output);
}

int main(int count, char** arguments) {
  int at = 1;
  while (at < count) {
    const std::string command = arguments[at++];
    aclError code = ACL_SUCCESS;
    if (command == "init") {
      const std::string file = arguments[at++];
      code = aclInit(file == "-" ? nullptr : file.c_str());
    } else if (command == "device") {
      code = aclrtSetDevice(std::atoi(arguments[at++]));
    } else if (command == "initdump") {
      code = aclmdlInitDump();
    } else if (command == "setdump") {
      code = aclmdlSetDump(arguments[at++]);
    } else if (command == "enddump") {
      code = aclmdlFinalizeDump();
    } else if (command == "load") {
      uint32_t model = 0;
      code = aclmdlLoadFromFile(arguments[at++], &model);
      std::cout << "model " << model << "\n";
    } else if (command == "run") {
      code = run_threads(static_cast<uint32_t>(std::atoi(arguments[at])), std::atoi(arguments[at + 1]), std::atoi(arguments[at + 2]));
      at += 3;
    } else if (command == "corrupt") {
      code = run_on_foreign_memory(static_cast<uint32_t>(std::atoi(arguments[at++])));
    } else if (command == "unload") {
      code = aclmdlUnload(static_cast<uint32_t>(std::atoi(arguments[at++])));
    } else if (command == "callback") {
      code = acldumpRegCallback(take_chunk, 0);
    } else if (command == "path") {
      const char* path = acldumpGetPath(DATA_DUMP);
      std::cout << "path " << (path != nullptr ? path : "none") << "\n";
    } else if (command == "end") {
      code = aclFinalize();
    } else {
      return 2;
    }
    std::cout << command << " " << code << "\n";
  }
  return 0;
}
