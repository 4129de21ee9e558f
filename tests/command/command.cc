#include "command/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "cli/command/command_line.h"
#include "cli/launch/child_process.h"

namespace command {
namespace {

namespace fs = std::filesystem;

// What goes to a descriptor while this lives.
class Caught {
 public:
  explicit Caught(int descriptor) : descriptor_(descriptor), earlier_(dup(descriptor)), file_(memfd_create("caught", MFD_CLOEXEC)) {
    dup2(file_, descriptor_);
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;
  ~Caught() {
    dup2(earlier_, descriptor_);
    close(earlier_);
    close(file_);
  }
  [[nodiscard]] std::string text() const {
    std::string text(static_cast<size_t>(lseek(file_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  int descriptor_;
  int earlier_;
  int file_;
};

class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& wanted) {
    for (const auto& [name, value] : wanted) {
      const char* earlier = getenv(name.c_str());
      earlier_[name] = earlier == nullptr ? std::optional<std::string>() : earlier;
      set(name, value.empty() ? std::optional<std::string>() : value);
    }
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : earlier_) set(name, value);
  }

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value.has_value()) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
  std::map<std::string, std::optional<std::string>> earlier_;
};

// Restores the signal handlers that a command changes, because it expects to own its process.
class Signals {
 public:
  Signals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &earlier_[i]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &earlier_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGXFSZ, SIGPIPE, SIGCHLD};
  std::array<struct sigaction, kSignals.size()> earlier_{};
};

std::vector<std::string> split_words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

Json Done::object() const {
  Json parsed = Json::parse(out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << out << err;
  return parsed;
}

std::vector<Json> Done::objects() const {
  std::vector<Json> parsed;
  for (const std::string& line : lines_of(out)) {
    parsed.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(parsed.back().is_object()) << line;
  }
  return parsed;
}

Done tensortap(const std::vector<std::string>& words, const Surroundings& surroundings) {
  std::vector<std::string> all = {"tensortap"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const fs::path before = fs::current_path();
  if (!surroundings.folder.empty()) fs::current_path(surroundings.folder);
  const Variables variables(surroundings.variables);
  const Signals signals;
  std::fflush(nullptr);
  Done done;
  {
    const Caught out(STDOUT_FILENO);
    const Caught err(STDERR_FILENO);
    done.code = tensortap::cli::run_command_line(static_cast<int>(all.size()), arguments.data());
    std::fflush(nullptr);
    done.out = out.text();
    done.err = err.text();
  }
  fs::current_path(before);
  return done;
}

Done tensortap(std::string_view words, const Surroundings& surroundings) { return tensortap(split_words(words), surroundings); }

bool has_runtime() {
  static const bool has = getenv("TENSORTAP_ONNXRUNTIME") != nullptr;
  return has;
}

void write(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  ASSERT_TRUE(file.flush().good()) << path;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder);
    found[name] = entry.is_regular_file() && !entry.is_symlink() ? read(entry.path()) : "";
  }
  return found;
}

std::vector<std::string> names_in(const std::string& folder) { return files_like(folder, "[^/]*"); }

std::vector<std::string> files_like(const std::string& folder, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder);
    if (std::regex_match(name, expression)) found.insert(name);
  }
  return {found.begin(), found.end()};
}

bool matches(const std::string& text, const std::string& pattern) { return std::regex_search(text, std::regex(pattern)); }

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string npy(std::string_view descr, const std::vector<int64_t>& shape, std::string_view raw) {
  std::string dims;
  for (const int64_t size : shape) dims += std::to_string(size) + ",";
  const std::string quote = descr.starts_with("[") ? "" : "'";
  std::string header = "{'descr': " + quote + std::string(descr) + quote + ", 'fortran_order': False, 'shape': (" + dims + "), }";
  constexpr size_t kPlace = 10;
  header.append((64 - (kPlace + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  return file + header + std::string(raw);
}

std::string npy(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return npy("<f4", shape, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::vector<float> Array::floats() const {
  EXPECT_EQ(descr, "<f4");
  std::vector<float> values(raw.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), raw.data(), values.size() * sizeof(float));
  return values;
}

Array read_npy(const std::string& path) {
  const std::string file = read(path);
  Array array;
  if (file.size() < 10 || file.compare(0, 6, "\x93NUMPY") != 0) {
    ADD_FAILURE() << path << " is no file of NumPy";
    return array;
  }
  const size_t size = static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  const std::string header = file.substr(10, size);
  array.raw = file.substr(10 + size);
  std::smatch found;
  EXPECT_TRUE(std::regex_search(header, found, std::regex(R"('descr': (.*), 'fortran_order': False, 'shape': \(([0-9, ]*)\))"))) << header;
  array.descr = found[1];
  if (array.descr.size() > 2 && array.descr.front() == '\'') array.descr = array.descr.substr(1, array.descr.size() - 2);
  std::istringstream dims(found[2]);
  for (std::string part; std::getline(dims, part, ',');) {
    if (part.find_first_not_of(' ') != std::string::npos) array.shape.push_back(std::stoll(part));
  }
  return array;
}

}  // namespace command
