// Dumps and tensor files that do harm: links, pipes, devices, names that lead away, texts that steer a terminal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/protobuf.h"
#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

const std::vector<std::string> kParts = {"records.npy", "ops.jsonl", "tensors.npz", "histograms.npy", "run.json"};
const char* const kOpFile = "Conv2D.conv1.3.0.1763668800000000";
// Right-to-left override, isolate, mark, C1's CSI, escape, a line feed, a tag: by number, so that no editor obeys them.
const std::string kHostile =
    "a\u202e"
    "b\u2066\u200f\u061c\u009b"
    "3m\x1b[8m\n\U000E0041"
    "c";

// A file of AscendCL's with one output, a vector of float32, field by field.
std::string op_file(int64_t count) {
  std::string shape;
  protozero::pbf_writer(shape).add_packed_uint64(1, &count, &count + 1);
  std::string output;
  protozero::pbf_writer writer(output);
  writer.add_int32(1, 1);  // float32
  writer.add_int32(2, 2);  // ND
  writer.add_message(3, shape);
  writer.add_uint64(6, static_cast<uint64_t>(count) * sizeof(float));
  std::string message;
  protozero::pbf_writer data(message);
  data.add_string(1, "2.0");
  data.add_message(3, output);
  data.add_string(6, "net/conv1");
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(message.size() >> (8 * i));
  return file + message + std::string(static_cast<size_t>(count) * sizeof(float), '\1');
}

class HostileFiles : public testing::Test {
 protected:
  // A whole dump of two steps, by write_dump_program; with `die` of a program that died.
  std::string dump(const std::string& die = "") {
    fs::remove_all(folder_ / "dump");
    fs::create_directory(folder_ / "dump");
    const std::string program = TENSORTAP_BUILD "/tests/write_dump_program " + (folder_ / "dump") + die;
    EXPECT_EQ(std::system(program.c_str()), 0);  // NOLINT(cert-env33-c): a path of ours
    return folder_ / "dump";
  }
  // One whose program died, so that `repair` has to write into each of its files.
  std::string died() {
    const std::string made = dump(" die");
    write(made + "/ops.jsonl", read(made + "/ops.jsonl") + "{\"cut");
    write(made + "/histograms.npy", read(made + "/histograms.npy") + "cut");
    return made;
  }
  toy::TempFolder folder_;
};

// --- links ----------------------------------------------------------------------------------------------------------------------------

TEST_F(HostileFiles, RepairMendsEveryPartOfADumpOfAProgramThatDied) {
  const Done done = tensortap({"repair", died(), "--json"});
  ASSERT_EQ(done.code, 0) << done.said();
  std::string actions = done.object()["actions"].dump();
  for (const std::string& part : kParts) EXPECT_THAT(actions, HasSubstr(part + ":"));
}

TEST_F(HostileFiles, RepairWritesThroughNoLink) {
  const std::string victim = folder_ / "a user's file";
  const std::string nothing = folder_ / "nothing yet";
  for (const std::string& part : kParts) {
    for (const std::string kind : {"symbolic", "hard", "dangling"}) {
      SCOPED_TRACE(part + ", " + kind);
      const std::string made = died();
      const std::string path = made + "/" + part;
      fs::remove(victim);
      write(victim, "{");
      if (fs::exists(path)) fs::rename(path, victim);
      if (kind == "hard") {
        fs::create_hard_link(victim, path);
      } else {
        fs::create_symlink(kind == "symbolic" ? victim : nothing, path);
      }
      const std::string before = read(victim);
      const auto others = contents(made);
      const Done done = tensortap({"repair", made});
      EXPECT_EQ(done.code, 3) << done.said();
      EXPECT_THAT(done.err, AllOf(HasSubstr(part), HasSubstr("link")));
      EXPECT_EQ(read(victim), before);
      EXPECT_FALSE(fs::exists(nothing));
      EXPECT_EQ(contents(made), others) << "nothing is repaired if one part cannot be";
    }
  }
}

TEST_F(HostileFiles, RepairOfATreeDoesNotLeaveItByAFolder) {
  const std::string outside = folder_ / "outside";
  fs::create_directory(outside);
  const std::string whole = op_file(100);
  write(outside + "/" + kOpFile, whole.substr(0, whole.size() - 9));
  write(outside + "/.tensortap-999999999-0", "x");
  const std::string tree = folder_ / "20251122090000";
  fs::create_directories(tree + "/0/model/1");
  fs::create_directory_symlink(outside, tree + "/0/model/1/0");
  const auto before = contents(outside);
  const Done done = tensortap({"repair", tree});
  EXPECT_EQ(done.code, 3) << done.said();
  EXPECT_THAT(done.err, HasSubstr("link"));
  EXPECT_EQ(contents(outside), before);
}

TEST_F(HostileFiles, RepairOfATreeCutsNoFileWithAnotherName) {
  const std::string victim = folder_ / "a user's file";
  const std::string whole = op_file(100);
  write(victim, whole.substr(0, whole.size() - 9));
  const std::string folder = folder_ / "20251122090000/0/model/1/0";
  fs::create_directories(folder);
  fs::create_hard_link(victim, folder + "/" + kOpFile);
  EXPECT_EQ(tensortap({"repair", folder_ / "20251122090000"}).code, 3);
  EXPECT_EQ(read(victim), whole.substr(0, whole.size() - 9));
  EXPECT_EQ(names_in(folder), std::vector<std::string>{kOpFile});
  // Without the other name it is repaired: it is whole except for its end.
  fs::remove(victim);
  EXPECT_EQ(tensortap({"repair", folder_ / "20251122090000"}).code, 0);
}

TEST_F(HostileFiles, ConvertWritesThroughNoLink) {
  const std::string made = dump();
  for (const std::string below : {"rank_0", "rank_0/.dump_metadata"}) {
    const std::string outside = folder_ / ("outside of " + below.substr(below.size() - 4));
    const fs::path target = fs::path(folder_ / ("target of " + below.substr(below.size() - 4)));
    fs::create_directory(outside);
    fs::create_directories((target / below).parent_path());
    fs::create_directory_symlink(outside, target / below);
    const Done done = tensortap({"convert", made, target, "--to", "mindspore"});
    // A folder that holds something is refused before anything is opened in it.
    const bool is_first = below == "rank_0";
    EXPECT_EQ(done.code, is_first ? 2 : 3) << done.said();
    EXPECT_THAT(done.err, HasSubstr(is_first ? "is not empty" : "symbolic link"));
    EXPECT_TRUE(fs::is_empty(outside));
  }
  // Nor appends to one.
  const std::string victim = folder_ / "a user's file";
  write(victim, "theirs\n");
  fs::create_directory(folder_ / "target");
  fs::create_symlink(victim, folder_ / "target/mapping.csv");
  const std::string source = folder_ / ("Conv2D." + std::string(240, 'a'));
  write(source, op_file(3));
  EXPECT_EQ(tensortap({"convert", source, folder_ / "target", "--to", "npy"}).code, 3);
  EXPECT_EQ(read(victim), "theirs\n");
}

TEST_F(HostileFiles, ConvertLeavesItsTargetByNoName) {
  fs::create_directory(folder_ / "source");
  write(folder_ / "source/123", op_file(3));
  write(folder_ / "source/mapping.csv", "123," + folder_.path() + "/away.conv1.3.0.1763668800000000\n");
  tensortap({"convert", folder_ / "source", folder_ / "target", "--to", "msnpy"});
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"source", "target"}));
}

// --- pipes and devices ------------------------------------------------------------------------------------------------------------------

const std::vector<std::string> kOdd = {"pipe", "device"};

void put_odd(const std::string& path, const std::string& kind) {
  fs::remove(path);
  if (kind == "pipe") {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  } else {
    fs::create_symlink("/dev/zero", path);
  }
}

TEST_F(HostileFiles, APipeOrDeviceKeepsNoCommandWaiting) {
  const std::string made = dump();
  for (const std::string& kind : kOdd) {
    for (const std::string& part : kParts) {
      fs::rename(made + "/" + part, folder_ / "kept");
      put_odd(made + "/" + part, kind);
      const std::vector<std::vector<std::string>> commands = {{"ls", made},
                                                              {"show", made, "/graph/float32:out0"},
                                                              {"find", made},
                                                              {"find", made, "--trends"},
                                                              {"find", made, "--watch", "recommended"},
                                                              {"repair", made}};
      for (const auto& words : commands) {
        const Done done = tensortap(words);
        EXPECT_TRUE(done.code >= 0 && done.code <= 3) << done.code;
        if (words[0] == "repair" || (part != "tensors.npz" && part != "histograms.npy")) {
          EXPECT_THAT(done.err, AnyOf(HasSubstr("is a pipe"), HasSubstr("is a device"), HasSubstr("link"))) << words[0] << " " << part;
        }
      }
      fs::remove(made + "/" + part);
      fs::rename(folder_ / "kept", made + "/" + part);
    }
  }
}

TEST_F(HostileFiles, APipeOrDeviceIsNoConfigNoInputAndNoModel) {
  if (!has_runtime()) GTEST_SKIP() << "TENSORTAP_ONNXRUNTIME is not set";
  const std::string good = folder_ / "model.onnx";
  const std::string odd = folder_ / "odd.npy";
  const std::string out = folder_ / "out";
  write(good, small_model());
  for (const std::string& kind : kOdd) {
    put_odd(odd, kind);
    const std::vector<std::vector<std::string>> commands = {{"run", good, "--config", odd, "--out", out},
                                                            {"run", good, "--input", "x=" + odd, "--out", out},
                                                            {"run", odd, "--out", out},
                                                            {"explain", odd, "--model", good},
                                                            {"convert", odd, out, "--to", "npz"}};
    for (const auto& words : commands) {
      const Done done = tensortap(words);
      EXPECT_TRUE(done.code == 2 || done.code == 3) << words[0];
      EXPECT_THAT(done.err, AnyOf(HasSubstr("is a pipe"), HasSubstr("is a device"))) << words[0] << " " << words[1];
    }
  }
}

// --- texts that steer a terminal --------------------------------------------------------------------------------------------------------

// Whether a terminal would obey a part of the text: controls, formats except for joiners, separators of lines and paragraphs.
bool steers(const std::string& text) {
  for (const char* hostile : {"\u202e", "\u2066", "\u200f", "\u061c", "\u009b", "\x1b", "\U000E0041", "\u2028", "\u2029", "\r", "\x07"}) {
    if (text.find(hostile) != std::string::npos) return true;
  }
  return false;
}

TEST_F(HostileFiles, NoTextOfADumpSteersTheTerminal) {
  ASSERT_TRUE(steers(kHostile));
  const std::string made = dump();
  std::string ops;
  for (const std::string& line : lines_of(read(made + "/ops.jsonl"))) {
    Json op = Json::parse(line);
    op["name"] = kHostile + op["name"].get<std::string>();
    op["type"] = op["module"] = op["source"] = kHostile;
    ops += op.dump() + "\n";
  }
  write(made + "/ops.jsonl", ops);
  Json manifest = Json::parse(read(made + "/run.json"));
  manifest["program"] = kHostile;
  manifest["failed_op"] = {{"name", kHostile}, {"type", kHostile}, {"error", kHostile}};
  write(made + "/run.json", manifest.dump());
  std::vector<Json> records = tensortap({"ls", made, "--json"}).objects();
  std::erase_if(records, [](const Json& one) { return !one.contains("op"); });  // the state of the dump
  ASSERT_FALSE(records.empty());
  EXPECT_TRUE(records[0]["op"].get<std::string>().starts_with(kHostile)) << "JSON gives texts back as they are";
  const auto name_of = [](const Json& record) { return record["op"].get<std::string>() + ":" + record["slot"].get<std::string>(); };
  const std::vector<std::vector<std::string>> commands = {{"ls", made},
                                                          {"ls", made, "--json"},
                                                          {"show", made, name_of(records.front())},
                                                          {"show", made, name_of(records.back())},
                                                          {"show", made, name_of(records.front()), "--json"},
                                                          {"find", made},
                                                          {"find", made, "--json"},
                                                          {"find", made, "--trends"},
                                                          {"find", made, "--watch", "tensor_too_small:max_lt=1e9", "--watch", "TO"},
                                                          {"find", made, "--watch", "tensor_too_small:max_lt=1e9", "--json"}};
  for (const auto& words : commands) {
    const Done done = tensortap(words);
    EXPECT_FALSE(done.out.empty()) << words[0];
    EXPECT_FALSE(steers(done.said())) << words[0] << done.said();
  }
  const Done missing = tensortap({"show", made, kHostile});
  EXPECT_NE(missing.code, 0);
  EXPECT_FALSE(steers(missing.err));
}

TEST_F(HostileFiles, SeventeenBytesAreDamage) {
  write(folder_ / "in", std::string("\x01\0\0\0\0\0\0\0\x5a\x5a\x5a\x5a\xe7\x25\xe7\xe7\x10", 17));
  for (const char* to : {"npy", "npz", "bin", "msnpy"}) {
    EXPECT_EQ(tensortap({"convert", folder_ / "in", folder_ / "out", "--to", to}).code, 3) << to;
  }
}

}  // namespace
}  // namespace command
