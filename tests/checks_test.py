"""The checks of ./dev check find what they are there for: each is shown a planted mistake."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from case_table import each_row

ROOT = Path(__file__).resolve().parent.parent


def tool(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@each_row(
    ("file", "included", "complaint"),
    [
        ("src/core/base/text.cc", "tensor/dtype.h", "base/ may not include tensor/"),
        ("src/capture/source/onnxruntime/run/tap.cc", "session/session.h", "source/ may not include session/"),
        ("src/core/format/npy/npy.cc", "format/npz/npz.h", "no line for it"),
        ("src/core/system/ascend/x.cc", "system/tap/tap_files.h", "system/tap/ is included by itself"),
        ("src/analysis/find/find.cc", "helpers/x.h", "no folder of tools/layers.txt"),
        ("src/analysis/find/find.cc", "session/capture_session.h", "find/ may not include session/"),
        ("src/cli/text/table.cc", "cli/launch/child_process.h", "cli/text/ may not include cli/launch/"),
        (
            "src/capture/source/onnxruntime/model/x.cc",
            "source/onnxruntime/taps/tap_operator.h",
            "source/onnxruntime/model/ may not include source/onnxruntime/taps/",
        ),
    ],
)
def test_a_forbidden_include_is_found(file: str, included: str, complaint: str) -> None:
    layers = tool("check_layers")
    assert complaint in layers.problem_with(Path(file), included, layers.read_layers())


@each_row(
    ("file", "included"),
    [
        ("src/core/registry/formats.cc", "format/npy/npy_format.h"),
        ("src/core/format/npy/npy_decode.cc", "format/npy/npy_header.h"),
        ("src/core/format/npz/npz.cc", "format/npy/npy_header.h"),
        ("src/core/system/mindspore/tree/reader.cc", "format/npy/npy_header.h"),
        ("src/capture/session/session.cc", "layout/layout.h"),
        ("src/capture/source/onnxruntime/taps/tap.cc", "tensortap/capture.h"),
        ("src/capture/source/onnxruntime/taps/tap.cc", "source/onnxruntime/model/onnx_model.h"),
    ],
)
def test_an_allowed_include_is_not(file: str, included: str) -> None:
    layers = tool("check_layers")
    assert layers.problem_with(Path(file), included, layers.read_layers()) is None


@each_row(
    ("file", "complaint"),
    [
        ("src/base/text.cc", "its folder belongs in src/core/base/"),
        ("src/capture/find/find.cc", "its folder belongs in src/analysis/find/"),
        ("src/core/helpers/x.cc", "helpers/ has no line"),
        ("src/cli/table.cc", "lies in no room of cli/"),
        ("src/capture/source/pytorch/other/x.cc", "lies in no room of source/pytorch/"),
        ("src/core/base/text.cc", ""),
    ],
)
def test_a_file_in_the_wrong_place_is_found(file: str, complaint: str) -> None:
    layers = tool("check_layers")
    assert complaint in (layers.problem_with_place(Path(file), layers.read_layers()) or "")


def test_a_line_by_which_storeys_meet_is_found() -> None:
    layers = tool("check_layers")
    read = layers.read_layers()
    assert layers.check_storeys(read) == []
    read.folders["find"].add("session")
    read.folders["base"].add("find")
    assert layers.check_storeys(read) == [
        "tools/layers.txt: base/ is core and may not include find/",
        "tools/layers.txt: find/ is analysis and may not include session/",
    ]


def test_a_permission_that_nothing_uses_is_found() -> None:
    layers = tool("check_layers")
    read = layers.Layers({"a": {"b", "c"}, "b": set(), "c": set()})
    texts = [(Path("src/a/x.cc"), '#include "b/y.h"\n')]
    assert layers.unused_permissions(texts, read) == ["tools/layers.txt: a may include c, and does not"]


def test_a_large_circle_of_units_is_found() -> None:
    layers = tool("check_layers")
    names = "vwxyz"
    texts = [(Path(f"src/a/{one}.h"), f'#include "a/{other}.h"\n') for one, other in zip(names, names[1:] + names[0], strict=True)]
    assert layers.check_circles(texts, layers.Layers()) == ["5 units include each other in a circle: a/v, a/w, a/x, a/y, a/z"]
    assert layers.check_circles(texts[:-1], layers.Layers()) == []
    assert tool("include_circles").circles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c", "e"}, "e": set()}) == [
        ["c", "d"],
        ["a", "b"],
    ]


def test_getenv_outside_its_file_is_found() -> None:
    layers = tool("check_layers")
    assert layers.check_source(Path("src/core/plan/x.cc"), 'auto x = std::getenv("HOME");', layers.read_layers())


def test_an_unchecked_part_of_a_span_is_found() -> None:
    layers = tool("check_layers")
    source = "return bytes.subspan(offset, size);"
    assert "base/spans.h" in layers.check_source(Path("src/core/format/x.cc"), source, layers.read_layers())[0]
    assert not layers.check_source(Path("src/core/format/x.cc"), "return steps.first();", layers.read_layers())
    assert not layers.check_source(Path("src/core/stats/x.cc"), source, layers.read_layers())


def test_a_header_name_that_stands_for_two_files_is_found() -> None:
    paths = [
        Path(path)
        for path in (
            "src/core/plan/x.h",
            "src/analysis/find/x.h",
            "src/core/system/a/writer.h",
            "src/core/system/b/writer.h",
            "include/acl/x.h",
        )
    ]
    assert tool("check_layers").repeated_headers(paths) == ["src/analysis/find/x.h: the name is that of src/core/plan/x.h, too"]


def test_a_cycle_of_layers_is_found() -> None:
    assert tool("check_layers").cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


@each_row(
    ("one", "other", "complaint"),
    [
        ("struct Box { int x; };", "class Box final : public Base<int> {};", "a::Box is defined in one.cc, too"),
        ("enum class Box : int { kOne };", "template <typename T>\nunion Box {};", "a::Box is defined in one.cc, too"),
        (
            'const char* text = "{" R"x({"{)x"; char letter = \'"\';  // {\nstruct Box {};',
            "struct Box {};",
            "a::Box is defined in one.cc, too",
        ),
        ("struct Box {};", "namespace {\nstruct Box {};\n}", ""),
        ("struct Box {};", "namespace b { struct Box {}; }", ""),
        ("struct Box {};", "void f() { struct Box {}; }", ""),
        ("struct Box {};", "struct Outer { struct Box {}; };", ""),
        ("struct Box {};", "struct Box;\nstruct Box f() { return {}; }", ""),
        ("struct Box {};", "template <>\nstruct Box<int> {};", ""),
    ],
)
def test_a_type_that_is_defined_twice_is_found(one: str, other: str, complaint: str) -> None:
    texts = [(Path(f"{name}.cc"), f"namespace a {{\n{text}\n}}\n") for name, text in (("one", one), ("other", other))]
    problems = tool("check_types").repeated_types(texts)
    assert len(problems) == (complaint != "")
    assert complaint in "".join(problems)


def test_a_long_function_is_found(tmp_path: Path) -> None:
    source = tmp_path / "long.cc"
    source.write_text("int f() {\n  int x = 0;\n" + "  ++x;\n" * 90 + "  return x;\n}\n")
    problems = tool("check_sizes").check_functions(source)
    assert "93" in problems[0] or "94" in problems[0]


def test_a_class_with_too_many_functions_is_found(tmp_path: Path) -> None:
    def problems(functions: int) -> list[str]:
        header = tmp_path / "large.h"
        lines = [
            f"  [[nodiscard]] int f{i}(int x) const {{ return x; }}  // g()\n  void f{i}(std::function<void(int)> call);"
            for i in range(functions)
        ]
        others = [
            "  using Call = void (*)(int);",
            "  Large& operator=(const Large&) = delete;",
            "  std::atomic<int> x_{0};",
            "  struct Part {\n    int h();\n  };",
        ]
        begin = ["class Large final : public Base {", " public:", "  explicit Large(int x);", "  ~Large();"]
        header.write_text("\n".join([*begin, *lines, *others, "};", ""]))
        return tool("check_sizes").check_classes(header)

    assert problems(25) == [], "overloads are one function; what is no function of the class is not counted"
    assert problems(26) == [f"{tmp_path / 'large.h'}: class Large has 26 functions; the limit is 25"]


def test_a_facade_that_holds_too_much_is_found(tmp_path: Path) -> None:
    header = tmp_path / "facade.h"
    data = "".join(f"  const std::unique_ptr<Part> part{i}_ = nullptr;\n" for i in range(21))
    header.write_text("class CaptureSession {\n  void f();\n" + data + "};\n")
    assert tool("check_sizes").check_classes(header) == [f"{header}: class CaptureSession has 21 data members; the limit is 20"]


def test_a_banned_call_is_found_in_an_object(tmp_path: Path) -> None:
    source = tmp_path / "bad.cc"
    source.write_text('#include <cstdio>\n#include <cstdlib>\nvoid f(int x) { if (x == 1) std::exit(x); std::puts("x"); }\n')
    subprocess.run(["g++", "-c", str(source), "-o", str(tmp_path / "bad.o")], check=True)
    problems = "\n".join(tool("check_symbols").banned_problems(tmp_path / "bad.o"))
    assert "exit" in problems
    assert "puts" in problems


def test_a_foreign_export_is_found(tmp_path: Path) -> None:
    source = tmp_path / "bad.cc"
    source.write_text('extern "C" void tensortap_good() {}\nvoid bad() {}\n')
    library = tmp_path / "bad.so"
    subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    problems = tool("check_symbols").exported_problems(library)
    assert any("bad" in problem for problem in problems)
    assert not any("tensortap_good" in problem for problem in problems)


def test_a_library_that_brings_another_is_found(tmp_path: Path) -> None:
    source = tmp_path / "some.cc"
    other, library = tmp_path / "libother.so", tmp_path / "some.so"
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", str(other)], check=True)
    source.write_text('#include <string>\nextern "C" void f(std::string& text) { text += text; }\n')
    subprocess.run(["g++", "-shared", "-fPIC", "-Wl,--no-as-needed", str(source), "-lm", str(other), "-o", str(library)], check=True)
    assert tool("check_symbols").needed_problems(library) == [f"some.so needs {other}"]


HARDENED = ["-O2", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack"]


@each_row(
    ("options", "complaint"),
    [
        ([], ""),
        (["-Wl,-z,lazy"], "-z now"),
        (["-Wl,-z,norelro"], "-z relro"),
        (["-Wl,-z,execstack"], "an executable stack"),
        (["-fno-stack-protector"], "no stack protector"),
        (["-U_FORTIFY_SOURCE"], "no fortified call"),
    ],
)
def test_a_library_without_hardening_is_found(tmp_path: Path, options: list[str], complaint: str) -> None:
    source = tmp_path / "some.c"
    source.write_text('#include <stdio.h>\nint f(int x) { char text[64]; sprintf(text, "%d", x); return text[x % 64]; }\n')
    library = tmp_path / "some.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library), *HARDENED, *options], check=True)
    problems = tool("check_symbols").hardening_problems(library)
    assert len(problems) == (complaint != "")
    assert complaint in "".join(problems)


@each_row(
    ("source", "complaint"),
    [
        ("int hold(pthread_mutex_t* mutex) { return pthread_mutex_lock(mutex); }", ""),
        ("int find(void** found) { return _dl_find_object(0, found); }", "some.so asks for GLIBC_2.35"),
        ("const char* name(int signal) { return sigabbrev_np(signal); }", "some.so asks for GLIBC_2.32"),
    ],
)
def test_what_asks_for_a_young_glibc_is_found(tmp_path: Path, source: str, complaint: str) -> None:
    library, code = tmp_path / "some.so", tmp_path / "some.c"
    code.write_text(f"#include <pthread.h>\nint _dl_find_object(void*, void*);\nconst char* sigabbrev_np(int);\n{source}\n")
    subprocess.run(["gcc", "-shared", "-fPIC", str(code), "-o", str(library)], check=True)
    assert tool("check_symbols").portable_problems(library) == ([complaint] if complaint else [])


def test_a_shared_runtime_in_a_portable_build_is_found(tmp_path: Path) -> None:
    library, code = tmp_path / "some.so", tmp_path / "some.cc"
    code.write_text("int* f() { return new int; }\n")
    subprocess.run(["g++", "-shared", "-fPIC", str(code), "-o", str(library)], check=True)
    assert tool("check_symbols").portable_problems(library) == ["some.so needs libstdc++, which it should contain"]


def test_an_adapter_for_a_young_torch_alone_is_found(tmp_path: Path) -> None:
    torch, adapter = tmp_path / "libtorch_cpu.so", tmp_path / "tensortap_torch_2.8_1.so"
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-Wl,-soname,libtorch_cpu.so", "-o", str(torch)], check=True)
    code = tmp_path / "adapter.cc"
    code.write_text(
        "#include <charconv>\n#include <cstring>\nvoid leak() {}\n"
        'extern "C" char* tensortap_torch_adapter_attach(const char* from, double number) {\n'
        "  static char text[64]; char copy[64]; strcpy(copy, from); std::to_chars(text, text + 64, number); text[9] = copy[number > 1];\n"
        "  return text;\n}\n"
    )
    command = ["g++", "-std=c++20", "-shared", "-fPIC", *HARDENED, str(code), "-Wl,--no-as-needed", str(torch), "-o", str(adapter)]
    subprocess.run(command, check=True)
    said = tool("check_symbols").adapter_problems(adapter)
    young = "tensortap_torch_2.8_1.so asks for GLIBCXX_3.4.29"
    exported = "tensortap_torch_2.8_1.so exports _Z4leakv"
    assert said == [exported, young, "tensortap_torch_2.8_1.so needs libtorch_cpu.so"]


@each_row("line", ["see " + "/" + "home/somebody/x", "trailing ", 'open("' + "/" + 'work/main/x")'])
def test_a_bad_line_is_found(line: str) -> None:
    assert tool("check_text").check_lines(Path("docs/x.md"), line + "\n")


@each_row("line", ["https://example.org/home/x", "build/home/x", "$HOME/work/x", "a/tmp/b"])
def test_a_harmless_path_is_not(line: str) -> None:
    assert not tool("check_text").check_lines(Path("docs/x.md"), line + "\n")


def test_a_dead_link_is_found() -> None:
    text = tool("check_text")
    assert text.check_links(Path("README.md"), "see [this](docs/nowhere.md)")
    assert text.check_links(Path("README.md"), "see [this](ARCHITECTURE.md#no-such-heading)")
    assert not text.check_links(Path("README.md"), "see [this](ARCHITECTURE.md#folders) and [that](LICENSE)")


def test_a_command_that_the_table_lacks_is_found() -> None:
    documents = tool("check_documents")
    page = documents.read("docs/command_line.md")
    assert documents.check_commands(page) == []
    assert documents.check_commands(page.replace("| `convert` |", "| `konvert` |")) == [
        "docs/command_line.md, its table, lacks the command `convert`",
        "docs/command_line.md, its table, names the command `konvert`, which does not exist",
    ]


def test_an_option_without_a_line_in_the_page_is_found() -> None:
    documents = tool("check_documents")
    page = documents.read("docs/command_line.md")
    assert documents.check_options(page) == []
    assert documents.check_options(page.replace("`--keep-free", "`--keep")) == ["docs/command_line.md lacks the option `--keep-free`"]


def test_a_folder_that_the_architecture_lacks_is_found() -> None:
    documents = tool("check_documents")
    text = documents.read("ARCHITECTURE.md")
    assert documents.check_folders(text) == []
    assert documents.check_folders(text.replace("`src/analysis/convert/`", "`src/analysis/konvert/`")) == [
        "ARCHITECTURE.md lacks the folder of src/ `analysis/convert`",
        "ARCHITECTURE.md names the folder of src/ `analysis/konvert`, which does not exist",
    ]


def test_a_state_that_differs_from_the_table_of_states_is_found() -> None:
    documents = tool("check_documents")
    compatibility = documents.read("docs/compatibility.md")
    assert documents.check_states(compatibility) == []
    changed = compatibility.replace("| works |", "| part |", 1)
    assert len(documents.check_states(changed)) == 1


def test_a_page_that_the_entrance_lacks_is_found() -> None:
    documents = tool("check_documents")
    entrance = documents.read("docs/README.md")
    assert documents.check_entrance(entrance) == []
    assert documents.check_entrance(entrance.replace("(replay.md)", "(repaly.md)")) == ["docs/README.md does not link to replay.md"]


def test_the_reach_of_a_header_counts_every_way() -> None:
    includes = {"a.h": {"slow.h"}, "b.h": {"a.h"}, "one.cc": {"b.h"}, "two.cc": {"slow.h"}, "three.cc": {"c.h"}, "c.h": set()}
    assert tool("check_sizes").reached_share("slow.h", includes) == 2 / 3


def test_a_long_comment_and_a_long_line_of_prose_are_found() -> None:
    widths = tool("check_text").check_widths
    long = "word " * 40
    assert widths(Path("x.h"), f"// {long}\nint x;\n")
    assert widths(Path("x.md"), f"{long}\n")
    assert not widths(Path("x.md"), f"| {long} |\n```\n{long}\n```\n")


def test_stiff_phrases_are_counted_where_people_read_and_only_fall(tmp_path: Path) -> None:
    english = tool("check_english")
    code = tmp_path / "x.cc"
    code.write_text('// What a layout is told when a dump begins.\nint is_told = 0;\nauto text = "there is no such key in this file";\n')
    assert [(line, phrase) for line, phrase, _ in english.phrases(code)] == [
        (1, "is told"),
        (1, "What a layout is"),
        (3, "there is no such"),
    ]
    assert english.complaints({"x.cc": 3}, {"x.cc": 3}) == []
    (more,) = english.complaints({"x.cc": 3}, {"x.cc": 2})
    assert "3 stiff phrases, 2 allowed" in more
    (fewer,) = english.complaints({"x.cc": 1}, {"x.cc": 2})
    assert "--update" in fewer
    (gone,) = english.complaints({}, {"removed.cc": 1})
    assert "removed.cc: 0 stiff phrases" in gone


def test_one_name_in_two_anonymous_namespaces_of_a_library_is_found() -> None:
    types = tool("check_types")
    first = "namespace a {\nnamespace {\n\nconstexpr int kMost = 3;\nint twice(const int& x) {\n  return 2 * x;\n}\n\n}  // namespace\n}\n"
    second = first.replace("kMost", "kLeast").replace("const int&", "double")
    sources = [(Path("src/core/base/one.cc"), first), (Path("src/core/base/two.cc"), first), (Path("src/core/base/three.cc"), second)]
    problems = types.repeated_anonymous_names(sources)
    assert [problem.split(" is in")[0] for problem in problems] == [
        "src/core/base/two.cc: kMost",
        "src/core/base/two.cc: twice(const int&)",
    ]
    # The rooms of a source are one library.
    room = Path("src/capture/source/acl")
    alias = "namespace {\n\nusing Names = std::vector<int>;\nstruct Own {\n  int x;\n};\n\n}  // namespace\n"
    rooms = [(room / "a/one.cc", alias), (room / "b/two.cc", alias.replace("vector", "set"))]
    assert [problem.split(" is in")[0] for problem in types.repeated_anonymous_names(rooms)] == [
        f"{room}/b/two.cc: Own",
        f"{room}/b/two.cc: Names",
    ]
    other_folder = [
        (Path("src/core/base/one.cc"), first),
        (Path("src/core/tree/one.cc"), first),
        (Path("src/core/base/one_test.cc"), first),
    ]
    assert types.repeated_anonymous_names(other_folder) == []
