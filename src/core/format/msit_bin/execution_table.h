// The tables of `msit llm dump`: a line for each execution of an operation or kernel, between "|".

#ifndef TENSORTAP_FORMAT_MSIT_BIN_EXECUTION_TABLE_H_
#define TENSORTAP_FORMAT_MSIT_BIN_EXECUTION_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap {

// The first line, with its end.
inline constexpr std::string_view kExecutionColumns =
    "CaseNum|CaseName|OpName|OpParam|InNum|InDType|InFormat|InShape|OutNum|OutDType|OutFormat|OutShape|DataGenType|DataGenRange|"
    "InTensorFile|OutTensorFile|TestType|TestLevel|FromModel|SocVersion|ExpectedError\n";

struct ExecutionTensor {
  std::string type;    // "float16"
  std::string format;  // "nd"
  std::string shape;   // "2,8"
  std::string file;
};

struct ExecutionRow {
  std::string name;
  std::string parameters;  // JSON text, "" = none
  std::vector<ExecutionTensor> inputs;
  std::vector<ExecutionTensor> outputs;
};

// The line of one execution, with its end. `number`: from 1 in each table. No text of it ends its cell, or begins as a formula of programs
// for tables does.
std::string execution_row(uint64_t number, const ExecutionRow& row);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_MSIT_BIN_EXECUTION_TABLE_H_
