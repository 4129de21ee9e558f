// What kind of file is this? An AscendCL program that asks magika's model, written as programs for AscendCL are.
//
// usage: acl_classify MODEL LABELS FILE...        LABELS: a text file, a name a line, in the order of the model's output
//
// With an acl.json in the current folder it is initialised by that, as the tools of AscendCL are: its "dump" then writes what every
// operator made.

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "acl/acl.h"

#define ERROR_LOG(what, code) std::cerr << "[ERROR] " << (what) << ": " << (code) << "\n"

namespace {

const size_t kBlock = 4096;  // as much of the beginning and of the end is looked at
const size_t kKept = 1024;   // as much of each the model takes
const int32_t kPadding = 256;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool read_file(const std::string& path, std::string& content) {
  std::ifstream file(path.c_str(), std::ios::binary);
  if (!file) return false;
  content.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return true;
}

bool read_lines(const std::string& path, std::vector<std::string>& lines) {
  std::ifstream file(path.c_str());
  std::string line;
  while (std::getline(file, line)) lines.push_back(line);
  return !lines.empty();
}

// The bytes of the beginning and of the end, without white space outside, padded.
std::vector<int32_t> features(const std::string& content) {
  std::vector<int32_t> values(2 * kKept, kPadding);
  const std::string head = content.substr(0, kBlock);
  size_t begin = 0;
  while (begin < head.size() && is_space(head[begin])) ++begin;
  for (size_t i = 0; i < kKept && begin + i < head.size(); ++i) values[i] = static_cast<unsigned char>(head[begin + i]);
  const std::string tail = content.substr(content.size() < kBlock ? 0 : content.size() - kBlock);
  size_t end = tail.size();
  while (end > 0 && is_space(tail[end - 1])) --end;
  for (size_t i = 1; i <= kKept && i <= end; ++i) values[2 * kKept - i] = static_cast<unsigned char>(tail[end - i]);
  return values;
}

// One loaded model with the buffers of its first input and first output.
class Classifier {
 public:
  Classifier() : id_(0), loaded_(false), desc_(nullptr), input_(nullptr), output_(nullptr) {}

  ~Classifier() {
    release(input_);
    release(output_);
    if (desc_ != nullptr) aclmdlDestroyDesc(desc_);
    if (loaded_) aclmdlUnload(id_);
  }

  bool load(const char* path) {
    aclError code = aclmdlLoadFromFile(path, &id_);
    if (code != ACL_SUCCESS) return failed("load model", code);
    loaded_ = true;
    desc_ = aclmdlCreateDesc();
    code = aclmdlGetDesc(desc_, id_);
    if (code != ACL_SUCCESS) return failed("describe model", code);
    return make(aclmdlGetInputSizeByIndex(desc_, 0), input_) && make(aclmdlGetOutputSizeByIndex(desc_, 0), output_);
  }

  bool classify(const std::vector<int32_t>& values, std::vector<float>& scores) {
    aclDataBuffer* buffer = aclmdlGetDatasetBuffer(input_, 0);
    const size_t bytes = values.size() * sizeof(int32_t);
    aclError code =
        aclrtMemcpy(aclGetDataBufferAddr(buffer), aclGetDataBufferSizeV2(buffer), values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    if (code != ACL_SUCCESS) return failed("copy the input", code);
    code = aclmdlExecute(id_, input_, output_);
    if (code != ACL_SUCCESS) return failed("execute", code);
    buffer = aclmdlGetDatasetBuffer(output_, 0);
    const size_t made = aclGetDataBufferSizeV2(buffer);
    scores.resize(made / sizeof(float));
    code = aclrtMemcpy(scores.data(), made, aclGetDataBufferAddr(buffer), made, ACL_MEMCPY_DEVICE_TO_HOST);
    return code == ACL_SUCCESS || failed("copy the output", code);
  }

 private:
  Classifier(const Classifier&);
  Classifier& operator=(const Classifier&);

  static bool failed(const char* what, aclError code) {
    const char* message = aclGetRecentErrMsg();
    ERROR_LOG(what, message != nullptr ? std::string(message) : std::to_string(code));
    return false;
  }

  static bool make(size_t size, aclmdlDataset*& dataset) {
    void* memory = nullptr;
    const aclError code = aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
    if (code != ACL_SUCCESS) return failed("allocate", code);
    dataset = aclmdlCreateDataset();
    return aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(memory, size)) == ACL_SUCCESS;
  }

  static void release(aclmdlDataset* dataset) {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); ++i) {
      aclDataBuffer* buffer = aclmdlGetDatasetBuffer(dataset, i);
      aclrtFree(aclGetDataBufferAddr(buffer));
      aclDestroyDataBuffer(buffer);
    }
    if (dataset != nullptr) aclmdlDestroyDataset(dataset);
  }

  uint32_t id_;
  bool loaded_;
  aclmdlDesc* desc_;
  aclmdlDataset* input_;
  aclmdlDataset* output_;
};

bool classify_files(int count, char** arguments) {
  std::vector<std::string> labels;
  Classifier classifier;
  if (!read_lines(arguments[2], labels)) {
    ERROR_LOG("no labels in", arguments[2]);
    return false;
  }
  if (!classifier.load(arguments[1])) return false;
  for (int i = 3; i < count; ++i) {
    std::string content;
    std::vector<float> scores;
    if (!read_file(arguments[i], content)) {
      ERROR_LOG("cannot read", arguments[i]);
      return false;
    }
    if (!classifier.classify(features(content), scores)) return false;
    size_t best = 0;
    for (size_t kind = 1; kind < scores.size(); ++kind) {
      if (scores[kind] > scores[best]) best = kind;
    }
    std::cout << arguments[i] << ": " << (best < labels.size() ? labels[best] : "?") << " " << scores[best] << "\n";
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::cerr << "usage: acl_classify MODEL LABELS FILE...\n";
    return 2;
  }
  const char* config = std::ifstream("acl.json") ? "acl.json" : nullptr;
  aclError code = aclInit(config);
  if (code != ACL_SUCCESS) {
    const char* message = aclGetRecentErrMsg();
    ERROR_LOG("aclInit", message != nullptr ? message : "failed");
    return 1;
  }
  code = aclrtSetDevice(0);
  const bool fine = code == ACL_SUCCESS && classify_files(count, arguments);
  aclrtResetDevice(0);
  aclFinalize();
  return fine ? 0 : 1;
}
