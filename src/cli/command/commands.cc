#include <CLI/CLI.hpp>
#include <array>
#include <string_view>

#include "cli/command/command.h"

namespace tensortap::cli {
namespace {

// The headings of the help, in the order in which people need them.
constexpr std::string_view kCapture = "Capture";
constexpr std::string_view kLook = "Look at a dump";
constexpr std::string_view kCompare = "Compare";
constexpr std::string_view kShare = "Convert and share";
constexpr std::string_view kMaintain = "Maintain";

constexpr std::array kCommands = {
    Command{kCapture, "run", "Run an ONNX model and capture what its operators produce",
            R"(  tensortap run model.onnx                                statistics of every op
  tensortap run model.onnx --full --out dump              statistics and tensors, into the folder dump
  tensortap run model.onnx --input x=x.npy --verify       with this input, and proof that nothing changed
  tensortap run model.onnx --input inputs.npz             all inputs by their names
  tensortap run model.onnx --range -1:1 --range ids=0:99  inputs made of these numbers
  tensortap run model.onnx --custom-ops libmy_ops.so      a model with operators of its own
  tensortap run model.onnx --full --noise 2               how far the last bit of its inputs reaches, for compare
  tensortap run model.onnx --types Conv,Gemm --where "nan > 0 or absmax > 6e4"
  tensortap run model.onnx --runs 100 --budget 3%         at most 3 % slower)",
            false, declare_run},
    Command{kCapture, "exec", "Run an unmodified program and capture what its operators of PyTorch, ONNX Runtime or ggml read and produce",
            R"(  tensortap exec -- python train.py                       statistics of every op
  tensortap exec --tensors --ops softmax --steps 1-2 -- python train.py
  tensortap exec --full --modules "layers.3.*" -- python train.py
  tensortap exec --config dump.json -- torchrun --nproc-per-node 2 train.py
  tensortap exec --summary summary.json -- ./program
  tensortap exec --idle -- python train.py                nothing, until `tensortap set` selects something)",
            false, declare_exec},
    Command{kCapture, "llm", "Do the same as `msit llm dump`, with its options: `tensortap llm dump --help`",
            R"(  tensortap llm dump --exec "python train.py" --type model tensor -er 0,1 -o out
  tensortap llm dump --help                               its options
  tensortap llm dd --exec "./program" -ids 2,3_1 --explain)",
            false, declare_llm},
    Command{kCapture, "explain", "Describe in words what a config or selection captures",
            R"(  tensortap explain --types Conv --steps 0,3-5 --tensors
  tensortap explain capture.json --model model.onnx       also the ops that match)",
            false, declare_explain},
    Command{kCapture, "ps", "List the running captures",
            R"(  tensortap ps
  tensortap ps --json | jq .dump)",
            true, declare_ps},
    Command{kCapture, "set", "Change the selection of a running capture, from the program's next step on",
            R"(  tensortap set 4711 --ops norm --full --steps now..+3    the next step and three more
  tensortap set dump --where "nan > 0"                    every process that writes into this folder
  tensortap set 4711 --off
  tensortap set 4711 --flush)",
            false, declare_set},
    Command{kLook, "ls", "List the records of a dump",
            R"(  tensortap ls dump
  tensortap ls dump --where "nan > 0"
  tensortap ls dump --types Conv --sort -absmax --limit 10
  tensortap ls dump --modules "layers.3.*" --last 2       of layer 3, in the last two steps
  tensortap ls dump --json | jq .op)",
            true, declare_ls},
    Command{kLook, "show", "Show one record: description, statistics, values",
            R"(  tensortap show dump /layer1/conv1/Conv:out0             OP:SLOT, with @STEP and #CALL when not the first
  tensortap show dump Conv_3:out0@2 --at 0,3,:
  tensortap show dump Conv_3:in1 --npy weights.npy)",
            false, declare_show},
    Command{kLook, "find", "Find non-finite values, lack of headroom, dead outputs",
            R"(  tensortap find dump                                     exit code 1 when there is a NaN or an Inf
  tensortap find dump --source train.py:41                the ops made by that line
  tensortap find dump --suspects --config-out full.json   the ops to capture with tensors in a second run
  tensortap find dump --trends                            values that grow, die or freeze over the steps
  tensortap find dump --watch tensor_too_large:max_gt=9   records that a condition of MindInsight holds for)",
            false, declare_find},
    Command{kLook, "serve", "Show a dump, or two with their differences, in a browser",
            R"(  tensortap serve dump                                    prints an address and opens the browser
  tensortap serve new old                                 new, judged by old, as in `tensortap compare new old`
  tensortap serve dump --no-open --port 8123              from another machine: ssh -L 8123:127.0.0.1:8123 HOST)",
            false, declare_serve},
    Command{kLook, "report", "Write a dump, or two with their differences, as one HTML file",
            R"(  tensortap report dump --out report.html                 opens from disk in any browser, without a network
  tensortap report new old --out report.html              new, judged by old, as in `tensortap compare new old`)",
            false, declare_report},
    Command{kLook, "watch-diff", "Name the op that wrote into the watched tensors of a dump",
            R"(  tensortap watch-diff dump                               exit code 1 when a tensor was overwritten
  tensortap watch-diff dump --json)",
            false, declare_watch_diff},
    Command{kCompare, "compare", "Compare the values of two dumps, across runtimes, releases and fusion",
            R"(  tensortap compare new old                               exit code 1 when something is outside of the tolerance
  tensortap compare new old --only differing --sort own   the ops that add most error themselves
  tensortap compare new old --modules decoder --last 1    the values of one module, in the last compared step
  tensortap compare new old --noise old_nudged            effects of other rounding are no difference
  tensortap compare new old --tolerance rules.txt --csv table.csv
  tensortap compare new old --map names.txt --steps 3:4 --json)",
            true, declare_compare},
    Command{kCompare, "ranks", "Compare the ranks of a job: which rank, op and step was first wrong",
            R"(  tensortap ranks job                                     exit code 1 when something is wrong
  tensortap ranks job --groups dp=0-3,4-7                 ranks that must hold the same weights
  tensortap ranks job --json | jq .nonfinite)",
            false, declare_ranks},
    Command{kCompare, "replay", "Run ops of a dump again and compare them with the records",
            R"(  tensortap replay dump                                   every op, on the runtime that made the dump
  tensortap replay dump /encoder/MatMul@3                 one op in step 3
  tensortap replay dump --runtime onnxruntime-1.25/lib    which kernels another release changed
  tensortap replay dump /encoder/MatMul --emit repro.py   a program that needs NumPy and onnxruntime alone
  tensortap replay dump --json)",
            true, declare_replay},
    Command{kShare, "convert", "Convert tensor files and dumps into other formats and layouts",
            R"(  tensortap convert dump/20260102030405 arrays            every tensor of every DumpData file as npy
  tensortap convert Conv2D.conv1.3.0.1763668800000000 arrays --data-format NCHW
  tensortap convert dump tree --to ge                     any layout into any other
  tensortap convert dump tensors --to safetensors         a file for each step
  tensortap convert dump results --to polygraphy          results.json and inputs.json, for polygraphy run --load-outputs
  tensortap convert dump tests --to onnx                  test_data_set_N of the model's inputs and outputs
  tensortap convert dump heat.json --to model-explorer    node data: colours by --key
  tensortap convert dump trace.pftrace --to perfetto      the timeline, for ui.perfetto.dev
  tensortap convert --losses                              what each layout cannot store
  tensortap convert Add.a.0.0.1763668800000000.output.0.npy files --to dump_data)",
            false, declare_convert},
    Command{kShare, "export", "Write the records of a job as tables for analysis engines",
            R"(  tensortap export dump --out tables                      Parquet files for DuckDB, Polars, Spark, Ray and others
  tensortap export job --out tables                       all ranks of a job below one folder
  tensortap export first second --to arrow --out tables)",
            false, declare_export},
    Command{kMaintain, "doctor", "Report what works on this machine",
            R"(  tensortap doctor
  tensortap doctor --runtime /opt/onnxruntime/lib --json)",
            false, declare_doctor},
    Command{kMaintain, "repair", "Repair a dump after a crash",
            R"(  tensortap repair dump --dry-run                         only list lost records
  tensortap repair dump)",
            false, declare_repair},
    Command{kMaintain, "build-adapter", "Compile the adapter for the torch of an environment",
            R"(  tensortap build-adapter --python /opt/venv/bin/python
  tensortap build-adapter --libtorch /opt/libtorch --out adapters)",
            false, declare_build_adapter},
    Command{kMaintain, "completion", "Print the completion script of a shell",
            R"(  source <(tensortap completion bash)                     in ~/.bashrc
  tensortap completion zsh > ~/.zfunc/_tensortap          a folder of $fpath
  tensortap completion fish > ~/.config/fish/completions/tensortap.fish)",
            false, declare_completion},
    Command{kMaintain, "install-alias", "Print a shell function that runs tensortap under another tool's name",
            R"(  tensortap install-alias msit >> ~/.bashrc               `msit llm dump` is tensortap's then)", false,
            declare_install_alias},
    Command{kMaintain, "version", "Print the version",
            R"(  tensortap version
  tensortap version --json)",
            false, declare_version},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::vector<DeclaredCommand> declare_commands(CLI::App& program, Terminal& terminal) {
  std::vector<DeclaredCommand> declared;
  for (const Command& command : kCommands) {
    CLI::App* app = program.add_subcommand(std::string(command.name), std::string(command.summary));
    app->group(std::string(command.group));
    Action action = command.declare(*app);
    app->add_flag(
        "--json", terminal.json,
        command.json_lines ? "Answer in JSON, one object a line, on standard output" : "Answer as one JSON object on standard output");
    app->add_flag("--quiet", terminal.quiet, "No notes and no progress on standard error");
    app->footer("Examples:\n" + std::string(command.examples));
    declared.push_back({&command, app, std::move(action)});
  }
  return declared;
}

}  // namespace tensortap::cli
