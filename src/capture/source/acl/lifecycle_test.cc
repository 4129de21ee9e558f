// The order of the calls that switch things on and off, and the code of every wrong order. // A1 A2

#include "acl/acl.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "acl/acl_dump.h"
#include "base/temporary_folder.h"

namespace tensortap::acl_source {
namespace {

// One call with the code that the original gives.
struct OrderStep {
  std::string what;
  std::function<aclError()> call;
  aclError expected;
};

class AclOrder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder("out"));
    write("dump.json", R"({"dump": {"dump_path": ")" + folder("out") + R"(", "dump_list": [{"model_name": "m"}]}})");
    write("other.json", R"({"dump": {"dump_path": ")" + folder("out") + R"(", "dump_list": [{}]}})");
    write("nothing.json", R"({"profiler": {}})");
    write("broken.json", R"({"dump": )");
    write("wrong.json", R"({"dump": {"dump_path": "/nowhere/at/all", "dump_list": [{}]}})");
    write("deep.json", "{\"x\": " + std::string(11, '[') + std::string(11, ']') + "}");
    write("empty.json", "");
    std::ofstream(folder("large.json")) << "{}" << std::string(10 * 1024 * 1024, ' ');
  }

  std::string folder(const std::string& name) const { return temporary_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder(name)) << text; }

  OrderStep init(const char* name, aclError expected) const {
    const std::string path = name == nullptr ? "" : folder(name);
    return {std::string("aclInit ") + (name == nullptr ? "null" : name), [=] { return aclInit(path.empty() ? nullptr : path.c_str()); },
            expected};
  }
  OrderStep set_dump(const char* name, aclError expected) const {
    const std::string path = name == nullptr ? "" : folder(name);
    return {std::string("aclmdlSetDump ") + (name == nullptr ? "null" : name),
            [=] { return aclmdlSetDump(path.empty() ? nullptr : path.c_str()); }, expected};
  }
  static OrderStep finalize(aclError expected) { return {"aclFinalize", aclFinalize, expected}; }
  static OrderStep init_dump(aclError expected) { return {"aclmdlInitDump", aclmdlInitDump, expected}; }
  static OrderStep finalize_dump(aclError expected) { return {"aclmdlFinalizeDump", aclmdlFinalizeDump, expected}; }

  // Runs the steps in a child process, since a process remembers its first config. Returns the first step with an unexpected answer.
  static std::string differs(const std::vector<OrderStep>& steps) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      std::string text;
      for (size_t i = 0; i < steps.size() && text.empty(); ++i) {
        const aclError code = steps[i].call();
        if (code != steps[i].expected) {
          text = "step " + std::to_string(i) + ", " + steps[i].what + ": " + std::to_string(code) + ", not " +
                 std::to_string(steps[i].expected);
        }
      }
      const bool written = write_all(ends[1], text);
      _exit(written ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    char buffer[512];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "the process died";
  }

 private:
  static bool write_all(int fd, const std::string& text) {
    return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  TemporaryFolder temporary_;
};

TEST_F(AclOrder, InitAndFinalizeCountAndEnd) {
  EXPECT_EQ(differs({finalize(ACL_ERROR_REPEAT_FINALIZE), init(nullptr, 0), init(nullptr, ACL_ERROR_REPEAT_INITIALIZE), finalize(0),
                     finalize(ACL_ERROR_REPEAT_FINALIZE), init(nullptr, 0), finalize(0)}),
            "");
}

TEST_F(AclOrder, AnEmptyPathIsNoConfig) {
  const OrderStep empty{"aclInit \"\"", [] { return aclInit(""); }, 0};
  EXPECT_EQ(differs({empty, finalize(0), init(nullptr, 0), finalize(0), empty, finalize(0)}), "");
}

TEST_F(AclOrder, ReferencesAreEndedOneByOne) {
  uint64_t left = 99;
  const OrderStep one_less{"aclFinalizeReference", [&] { return aclFinalizeReference(&left); }, 0};
  const OrderStep one_is_left{"left", [&] { return static_cast<aclError>(left); }, 1};
  const OrderStep none_is_left{"left", [&] { return static_cast<aclError>(left); }, 0};
  EXPECT_EQ(differs({init(nullptr, 0), init(nullptr, ACL_ERROR_REPEAT_INITIALIZE), one_less, one_is_left, one_less, none_is_left,
                     finalize(ACL_ERROR_REPEAT_FINALIZE)}),
            "");
}

TEST_F(AclOrder, DumpCallsWantAclInitAndEachOther) {
  EXPECT_EQ(differs({init_dump(ACL_ERROR_UNINITIALIZE), set_dump("dump.json", ACL_ERROR_UNINITIALIZE),
                     finalize_dump(ACL_ERROR_UNINITIALIZE), init(nullptr, 0), set_dump("dump.json", ACL_ERROR_DUMP_NOT_RUN),
                     finalize_dump(ACL_ERROR_DUMP_NOT_RUN), init_dump(0), init_dump(ACL_ERROR_REPEAT_INITIALIZE),
                     set_dump(nullptr, ACL_ERROR_INVALID_PARAM), set_dump("dump.json", 0), set_dump("other.json", 0), finalize_dump(0),
                     finalize_dump(ACL_ERROR_DUMP_NOT_RUN), set_dump("dump.json", ACL_ERROR_DUMP_NOT_RUN), init_dump(0),
                     set_dump("dump.json", 0), finalize_dump(0), finalize(0), init_dump(ACL_ERROR_UNINITIALIZE)}),
            "");
}

TEST_F(AclOrder, InitDumpWorksAfterAConfigWithDump) {
  EXPECT_EQ(differs({init("dump.json", 0), init_dump(0), finalize_dump(0), finalize(0)}), "");
}

TEST_F(AclOrder, FilesAreRefusedByBothWithTheCodeOfEach) {
  EXPECT_EQ(differs({init("missing.json", ACL_ERROR_INVALID_FILE), init("out", ACL_ERROR_INVALID_FILE),
                     init("large.json", ACL_ERROR_INVALID_FILE), init("deep.json", ACL_ERROR_PARSE_FILE),
                     init("broken.json", ACL_ERROR_PARSE_FILE), init("wrong.json", ACL_ERROR_INVALID_DUMP_CONFIG), init("nothing.json", 0),
                     init_dump(0), set_dump("missing.json", ACL_ERROR_INVALID_FILE), set_dump("out", ACL_ERROR_INVALID_FILE),
                     set_dump("large.json", ACL_ERROR_INVALID_FILE), set_dump("deep.json", ACL_ERROR_PARSE_FILE),
                     set_dump("broken.json", ACL_ERROR_INVALID_DUMP_CONFIG), set_dump("wrong.json", ACL_ERROR_INVALID_DUMP_CONFIG),
                     set_dump("nothing.json", 0), set_dump("empty.json", 0)}),
            "");
}

TEST_F(AclOrder, AProcessHasOneConfig) {
  EXPECT_EQ(
      differs({init("broken.json", ACL_ERROR_PARSE_FILE), init("dump.json", 0), finalize(0), init("other.json", ACL_ERROR_INVALID_PARAM),
               init(nullptr, ACL_ERROR_INVALID_PARAM), init("dump.json", 0), finalize(0)}),
      "");
}

TEST_F(AclOrder, ArgumentsOfOperators) {
  const std::string path = folder("arguments");
  const std::string file = folder("dump.json") + "/below";
  const auto start = [](uint32_t type, const char* where, aclError expected) {
    return OrderStep{"aclopStartDumpArgs", [=] { return aclopStartDumpArgs(type, where); }, expected};
  };
  const OrderStep stop{"aclopStopDumpArgs", [] { return aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS); }, 0};
  EXPECT_EQ(differs({init(nullptr, 0), start(2, path.c_str(), ACL_ERROR_FAILURE), start(1, nullptr, ACL_ERROR_FAILURE),
                     start(1, "", ACL_ERROR_FAILURE), start(1, file.c_str(), ACL_ERROR_FAILURE), start(1, path.c_str(), 0),
                     start(1, path.c_str(), ACL_ERROR_FAILURE), stop, stop, start(3, path.c_str(), 0), stop}),
            "");
}

TEST_F(AclOrder, PathsOfDumpsAreNewWithEachSetDump) {
  const std::string out = folder("out");
  std::string first;
  const OrderStep none{"no path", [] { return acldumpGetPath(DATA_DUMP) == nullptr ? 0 : 1; }, 0};
  const OrderStep remember{"path",
                           [&] { return (first = acldumpGetPath(DATA_DUMP)).rfind(out + "/", 0) == 0 && first.back() == '/' ? 0 : 1; }, 0};
  const OrderStep another{"other path", [&] { return first != acldumpGetPath(DATA_DUMP) ? 0 : 1; }, 0};
  const OrderStep no_overflow{"no overflow", [] { return acldumpGetPath(OVERFLOW_DUMP) == nullptr ? 0 : 1; }, 0};
  EXPECT_EQ(differs({init(nullptr, 0), none, init_dump(0), none, set_dump("dump.json", 0), remember, no_overflow, set_dump("dump.json", 0),
                     another, set_dump("wrong.json", ACL_ERROR_INVALID_DUMP_CONFIG), another, finalize_dump(0), none}),
            "");
}

TEST_F(AclOrder, CallbacksWantAFlagOfZero) {
  const auto callback = [](const acldumpChunk*, int32_t) -> int32_t { return 0; };
  const auto call = [](int32_t (*function)(const acldumpChunk*, int32_t), int32_t flag, aclError expected) {
    return OrderStep{"acldumpRegCallback", [=] { return acldumpRegCallback(function, flag); }, expected};
  };
  EXPECT_EQ(
      differs({call(nullptr, 0, ACL_ERROR_FAILURE), call(callback, 1, ACL_ERROR_FAILURE), call(callback, 0, 0), call(callback, 0, 0)}), "");
}

TEST_F(AclOrder, ExceptionFilesNeedAnExceptionDumpAndRightTensors) {
  write("exceptions.json", R"({"dump": {"dump_scene": "aic_err_brief_dump", "dump_path": ")" + folder("out") + R"("}})");
  const std::string expected = folder("out") + "/extra-info/data-dump/3/";
  char path[ACL_DUMP_MAX_FILE_PATH_LENGTH] = {};
  acldumpTensorInfo tensor{};
  tensor.tensorSize = 8;
  tensor.dataType = ACL_FLOAT;
  tensor.addrType = ACL_DUMP_ADDR_RAW;
  tensor.shapeNum = tensor.originShapeNum = 1;
  tensor.shape[0] = tensor.originShape[0] = 2;
  const auto where = [&](char* text, size_t size, aclError code) {
    return OrderStep{"acldumpGetExceptionInfoPath", [=] { return acldumpGetExceptionInfoPath(text, size); }, code};
  };
  const auto save = [&](const char* name, size_t count, aclError code, const std::function<void(acldumpTensorInfo&)>& change) {
    return OrderStep{"acldumpSaveExceptionInfo",
                     [=, &tensor] {
                       acldumpTensorInfo changed = tensor;
                       change(changed);
                       return acldumpSaveExceptionInfo(name, "tag", &changed, count);
                     },
                     code};
  };
  const auto as_it_is = [](acldumpTensorInfo&) {};
  const OrderStep device{"aclrtSetDevice", [] { return aclrtSetDevice(3); }, 0};
  const OrderStep memory{"aclrtMalloc",
                         [&] { return aclrtMalloc(reinterpret_cast<void**>(&tensor.tensorAddr), 8, ACL_MEM_MALLOC_HUGE_FIRST); }, 0};
  const OrderStep right{"path", [&] { return expected == path ? 0 : 1; }, 0};
  EXPECT_EQ(differs({init("exceptions.json", 0),
                     device,
                     memory,
                     where(nullptr, 100, ACL_ERROR_INVALID_PARAM),
                     where(path, 1, ACL_ERROR_INVALID_PARAM),
                     where(path, expected.size(), ACL_ERROR_INVALID_PARAM),
                     where(path, expected.size() + 1, 0),
                     right,
                     save(nullptr, 1, ACL_ERROR_INVALID_PARAM, as_it_is),
                     save("", 1, ACL_ERROR_INVALID_PARAM, as_it_is),
                     save("a/../b", 1, ACL_ERROR_INVALID_PARAM, as_it_is),
                     save("name", 0, ACL_ERROR_INVALID_PARAM, as_it_is),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.shapeNum = 26; }),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.addrType = ACL_DUMP_ADDR_PTR; }),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.placement = ACL_DUMP_PLACEMENT_HOST; }),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.type = static_cast<acldumpTensorType>(3); }),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.tensorAddr = nullptr; }),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.tensorSize = 0; }),
                     save("name", 1, ACL_ERROR_INVALID_PARAM, [](acldumpTensorInfo& one) { one.tensorSize = 9; }),
                     save("name", 1, 0, as_it_is),
                     save("below/name", 1, 0, as_it_is),
                     finalize(0),
                     where(path, 100, ACL_ERROR_FAILURE),
                     save("name", 1, ACL_ERROR_FAILURE, as_it_is)}),
            "");
  EXPECT_EQ(differs({init("dump.json", 0), where(path, 100, ACL_ERROR_FAILURE)}), "");
}

TEST(AclVersion, OnlyTheInstalledPackagesHaveOne) {
  aclCANNPackageVersion version{};
  ASSERT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version), ACL_SUCCESS);
  EXPECT_EQ(std::string(version.version), std::string(version.majorVersion) + "." + version.minorVersion + "." + version.releaseVersion);
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version), ACL_SUCCESS);
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_OPP, &version), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(99), &version), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(AclOrder, AFailureLeavesAMessageForItsThread) {
  EXPECT_EQ(aclmdlSetDump(nullptr), ACL_ERROR_UNINITIALIZE);
  const char* const message = aclGetRecentErrMsg();
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find("aclInit"), std::string::npos);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

}  // namespace
}  // namespace tensortap::acl_source
