// The command `tensortap` in this process, small models and dumps for it: what tests of the command line share.

#ifndef TENSORTAP_TESTS_COMMAND_COMMAND_H_
#define TENSORTAP_TESTS_COMMAND_COMMAND_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace command {

using Json = nlohmann::json;

// How a command ended, and what it said.
struct Done {
  int code = 0;
  std::string out;
  std::string err;
  [[nodiscard]] Json object() const;                // the one JSON object of `out`; a failed test and null where there is none
  [[nodiscard]] std::vector<Json> objects() const;  // one a line
  [[nodiscard]] std::string said() const { return out + err; }
};

struct Surroundings {
  std::string folder;                                 // to work in; "" = where we are
  std::map<std::string, std::string> variables = {};  // set while it runs; an empty one is unset
};

// Runs one command line in this process; descriptors 1 and 2, the working folder, the variables and the signals are afterwards what they
// were before. One at a time.
Done tensortap(const std::vector<std::string>& words, const Surroundings& surroundings = {});
// The same of words with blanks between them.
Done tensortap(std::string_view words, const Surroundings& surroundings = {});

// Whether ONNX Runtime is available to run models.
bool has_runtime();

void write(const std::string& path, std::string_view content);
std::string read(const std::string& path);
// Paths of everything below a folder, with the content of regular files; links are not followed.
std::map<std::string, std::string> contents(const std::string& folder);
std::vector<std::string> names_in(const std::string& folder);  // sorted
// The paths of the files that `pattern`, a regular expression, matches as a whole, relative to the folder; sorted.
std::vector<std::string> files_like(const std::string& folder, const std::string& pattern);
bool matches(const std::string& text, const std::string& pattern);  // a regular expression, anywhere
std::vector<std::string> lines_of(const std::string& text);

// --- arrays ---------------------------------------------------------------------------------------------------------------------------

// A file of NumPy, version 1.0. `descr` as in Array.
std::string npy(std::string_view descr, const std::vector<int64_t>& shape, std::string_view raw);
std::string npy(const std::vector<int64_t>& shape, const std::vector<float>& values);

struct Array {
  std::string descr;  // such as "<f4"; of rows with several fields the list of them
  std::vector<int64_t> shape;
  std::string raw;
  [[nodiscard]] std::vector<float> floats() const;
};
Array read_npy(const std::string& path);

// --- models of ONNX ---------------------------------------------------------------------------------------------------------------------

struct Node {
  std::string type;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

struct Weight {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<float> values;
  std::string external = "";  // the file that has the values instead
};

// A model with one float input x and one float output y, in a graph called "g". A dimension below 0 is open and called "N".
std::string model(const std::vector<Node>& nodes, const std::vector<int64_t>& shape = {2, 3}, const std::vector<Weight>& weights = {});
// y = softmax(relu(x @ w + b)): four ops with different names, x of (2, 3), w of (3, 4).
std::string small_model();
const std::vector<float>& small_weights();  // w of small_model, 12 numbers
const std::vector<float>& small_bias();     // b, 4
std::string nonfinite_model();              // y = exp(1 / x): infinite where x is 0
std::string chain_model();                  // y = ceil(floor(neg(x))): three ops that no runtime fuses

}  // namespace command

#endif  // TENSORTAP_TESTS_COMMAND_COMMAND_H_
