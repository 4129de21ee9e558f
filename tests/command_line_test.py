"""What the command line prints for people: tables that fit the terminal, digits, selections, completion, progress."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, nonfinite_model, save, small_model, tensortap
from onnx import helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("command_line")
    for name, runs in (("one", "1"), ("three", "3")):
        done = tensortap("run", small_model(made / "m.onnx"), "--full", "--runs", runs, "--out", made / name)
        assert done.code == 0, done
    node = helper.make_node
    nodes = [
        node("Reshape", ["x", "wide"], ["r"], name="encoder/a_block_with_a_long_name/first/Reshape_1"),
        node("Softmax", ["r"], ["y"], name="encoder/a_block_with_a_long_name/second/Softmax_1"),
    ]
    wide = helper.make_tensor("wide", 7, [6], [1, 2, 1, 3, 1, 2])
    done = tensortap("run", save(nodes, made / "d.onnx", shape=(4, 3), initializers=[wide]), "--full", "--out", made / "deep")
    assert done.code == 0, done
    np.save(made / "x.npy", np.array([[1, 0, 1], [1, 1, 1]], np.float32))
    done = tensortap("run", nonfinite_model(made / "n.onnx"), "--input", f"x={made / 'x.npy'}", "--out", made / "nonfinite")
    assert done.code == 0, done
    return made


def at_width(columns: int, *words: str | Path) -> list[str]:
    done = tensortap(*words, environment={"COLUMNS": str(columns)})
    assert done.code in (0, 1), done
    return done.out.splitlines()


def test_ls_fits_eighty_columns_with_whole_shapes_and_the_most_important_statistics(folder: Path) -> None:
    for dump in ("one", "three", "deep"):
        for width in (60, 80, 100, 200):
            lines = at_width(width, "ls", folder / dump)
            assert max(map(len, lines)) <= width, lines
    narrow = at_width(80, "ls", folder / "deep")
    assert "[1, 2, 1, 3, 1, 2]" in "\n".join(narrow)
    assert {"min", "max"} <= set(narrow[0].split()) and "l2" not in narrow[0]


def test_ls_shows_the_step_only_where_there_are_several(folder: Path) -> None:
    assert "step" not in tensortap("ls", folder / "one").out.splitlines()[0].split()
    for words in ([], ["--step", "1"], ["--limit", "1"]):
        assert "step" in tensortap("ls", folder / "three", *words).out.splitlines()[0].split()
    assert "step" in tensortap("ls", folder / "one", "--sort", "step").out.splitlines()[0].split()
    assert "step" in tensortap("ls", folder / "one", "--columns", "step,op").out.splitlines()[0].split()


def test_ls_never_leaves_out_counts_of_nan_and_inf_that_are_not_zero(folder: Path) -> None:
    table = at_width(50, "ls", folder / "nonfinite")
    assert "inf" in table[0].split() and "nan" not in table[0].split()
    noted = tensortap("ls", folder / "nonfinite", environment={"COLUMNS": "50"}).err
    assert "nan (all 0)" in noted and "inf" not in noted


def test_ls_lists_ops_before_weights(folder: Path) -> None:
    types = [line.split("\t")[1] for line in tensortap("ls", folder / "one", "--columns", "op,type").out.splitlines()[1:]]
    weights = types.count("Initializer")
    assert weights > 0 and types[-weights:] == ["Initializer"] * weights
    assert "Initializer" not in tensortap("ls", folder / "one", "--limit", str(len(types) - weights)).out
    rows = [record["row"] for record in tensortap("ls", folder / "one", "--json").objects]
    assert rows == list(range(len(types))), "JSON keeps the order of the dump"
    assert tensortap("ls", folder / "one", "--sort", "-op", "--columns", "op").out.splitlines()[1] != types[0]


def test_ls_writes_a_tab_between_two_cells_where_there_is_no_terminal(folder: Path) -> None:
    lines = tensortap("ls", folder / "deep").out.splitlines()
    titles = lines[0].split("\t")
    assert titles[:4] == ["row", "op", "type", "slot"] and titles[-1] == "inf"
    assert all(line.count("\t") == len(titles) - 1 for line in lines)
    assert "  " not in "\n".join(lines)


def test_a_selection_that_chooses_nothing_proposes_the_nearest_names(folder: Path) -> None:
    for words, said in (
        (("--ops", "sofmax_1"), 'no op is, or matches, "sofmax_1". Did you mean "softmax_1"?'),
        (("--types", "Softmx"), 'no op has the type "Softmx". Did you mean "Softmax"?'),
        (("--modules", "net"), "the dump names no modules"),
    ):
        for more in ([], ["--json"]):
            done = tensortap("ls", folder / "one", *words, *more)
            assert (done.code, said in done.err, "softmax" in done.out) == (2, True, False), done
    for words, said in (
        (("--steps", "7"), 'no record is of step "7": the dump has steps 0 to 2'),
        (("--slots", "grad"), 'no record is of slot "grad"'),
        (("--ops", "softmax_1", "--types", "FusedGemm"), "no record meets all"),
        (("--ops", "sofmax_1", "--where", "nan > 0"), 'Did you mean "softmax_1"?'),
    ):
        done = tensortap("ls", folder / "three", *words)
        assert (done.code, said in done.err) == (2, True), done
    clear = tensortap("ls", folder / "one", "--ops", "softmax_1", "--where", "nan > 0")
    assert clear.code == 0 and "Did you mean" not in clear.err, "that no record meets a condition is an answer"
    partly = tensortap("ls", folder / "one", "--types", "Softmax,FusedGem")
    assert partly.code == 0 and "softmax_1" in partly.out and 'Did you mean "FusedGemm"?' in partly.err


def test_singular_and_plural_names_of_options_are_alike(folder: Path) -> None:
    for words in (["--op", "softmax_1"], ["--ops=softmax_1"], ["--type=Softmax", "--step", "0", "--slot", "out"], ["--types", "Softmax"]):
        assert "softmax_1" in tensortap("ls", folder / "one", *words).out, words
    explained = [tensortap("explain", option, "softmax") for option in ("--op", "--ops")]
    assert explained[0] == explained[1] and explained[0].code == 0
    wrong = tensortap("doctor", "--op", "x")
    assert wrong.code == 2 and "no option --op" in wrong.err


def test_last_takes_the_last_steps(folder: Path) -> None:
    def steps(*words: str) -> set[int]:
        return {record["step"] for record in tensortap("ls", folder / "three", "--json", *words).objects}

    assert steps("--last", "1") == {2}
    assert steps("--last", "2", "--steps", "0-1") == {0, 1}
    assert steps("--last", "9") == {0, 1, 2}


def test_show_takes_options_that_choose_one_record(folder: Path) -> None:
    shown = tensortap("show", folder / "three", "--ops", "softmax", "--slots", "out", "--last", "1", "--json")
    assert shown.object["step"] == 2 and shown.object["op"] == "softmax_1", shown
    several = tensortap("show", folder / "three", "--types", "Softmax")
    assert several.code == 2 and "choose 3 records" in several.err and '"softmax_1:out0@2"' in several.err
    none = tensortap("show", folder / "three", "--ops", "sofmax_1")
    assert none.code != 0 and 'Did you mean "softmax_1"?' in none.err
    assert tensortap("show", folder / "three", "0", "--last", "1").code == 2


def test_show_prints_six_significant_digits_unless_asked(folder: Path) -> None:
    values = np.array(tensortap("show", folder / "one", "softmax_1:out0", "--json").object["values"], np.float32)

    def numbers(*more: str) -> list[str]:
        return re.findall(r"\d+\.\d*(?:e[-+]\d+)?", tensortap("show", folder / "one", "softmax_1:out0", *more).out.partition("values")[2])

    for words, digits in (([], 6), (["--digits", "3"], 3)):
        assert [float(text) for text in numbers(*words)] == [float(f"{value:.{digits}g}") for value in values.ravel()]
    exact = tensortap("show", folder / "one", "softmax_1:out0", "--digits", "17").out
    assert str(values) in exact
    counted = re.search(r"^statistics .*$", tensortap("show", folder / "one", "softmax_1:out0").out, re.MULTILINE)
    assert counted and all(len(number.replace(".", "").lstrip("0")) <= 6 for number in re.findall(r"[\d.]+", counted[0]))


def test_export_writes_the_chosen_records(folder: Path, tmp_path: Path) -> None:
    done = tensortap("export", folder / "three", "--out", tmp_path / "t", "--types", "Softmax", "--last", "2", "--json")
    assert (done.code, done.object["records"]) == (0, 2), done
    empty = tensortap("export", folder / "three", "--out", tmp_path / "e", "--ops", "nosuch")
    assert empty.code == 2 and "chooses no record" in empty.err and 'no op is, or matches, "nosuch"' in empty.err
    clear = tensortap("export", folder / "three", "--out", tmp_path / "c", "--types", "Softmax", "--where", "nan > 0", "--json")
    assert (clear.code, clear.object["records"]) == (0, 0), clear
    wrong = tensortap("export", folder / "three", "--out", tmp_path / "w", "--ops", "(")
    assert wrong.code == 2 and "not a regular expression" in wrong.err and not (tmp_path / "w").exists()


def test_compare_shows_the_chosen_values(folder: Path) -> None:
    shown = tensortap("compare", folder / "one", folder / "one", "--types", "Softmax", "--json").objects
    assert {one["a"].partition(":")[0] for one in shown if "a" in one} == {"softmax_1"}
    nothing = tensortap("compare", folder / "one", folder / "one", "--types", "Softmx")
    assert nothing.code == 2 and "none of the compared values" in nothing.err and 'Did you mean "Softmax"?' in nothing.err
    last = tensortap("compare", folder / "three", folder / "three", "--last", "2", "--json").objects
    assert {one["step_b"] for one in last if "a" in one} == {1, 2}
    paired = tensortap("compare", folder / "three", folder / "one", "--last", "1", "--types", "Softmax", "--json").objects
    assert [one["step_a"] for one in paired if "a" in one] == [0], "the last of the steps that are compared"


def test_find_holds_its_conditions_against_the_chosen_records(folder: Path) -> None:
    def checked(*words: str) -> int:
        done = tensortap("find", folder / "three", "--watch", "tensor_all_zero", "--json", *words)
        return int(done.object["watchpoints"][0]["checked"])

    assert checked("--types", "Softmax") == 3
    assert checked("--types", "Softmax", "--last", "1") == 1
    assert checked("--ops", "softmax|relu") == 6
    for asked in ("--watch=tensor_all_zero", "--trends"):
        nothing = tensortap("find", folder / "three", asked, "--ops", "sofmax_1")
        assert nothing.code != 0 and 'Did you mean "softmax_1"?' in nothing.err, "nothing is cleared by records that do not exist"
    for words in (["--ops", "x"], ["--types", "x"], ["--modules", "x"], ["--last", "1"]):
        alone = tensortap("find", folder / "three", *words)
        assert alone.code == 2 and f"{words[0]} requires --trends or --watch" in alone.err


def test_an_answer_over_nothing_is_no_all_clear(folder: Path, tmp_path: Path) -> None:
    done = tensortap("run", folder / "m.onnx", "--full", "--where", "nan > 0", "--out", tmp_path / "condition")
    assert done.code == 0 and "non-finite  none seen" in done.err, "all were looked at"
    clear = tensortap("find", tmp_path / "condition")
    assert (clear.code, clear.out) == (0, "no NaN and no Inf\n"), clear
    (tmp_path / "overflow.json").write_text('{"trigger": "overflow"}')
    gated = tensortap("run", folder / "m.onnx", "--config", tmp_path / "overflow.json", "--out", tmp_path / "gated")
    assert gated.code == 0 and "no op made one of finite values" in gated.err, gated.err
    clear = tensortap("find", tmp_path / "gated")
    assert (clear.code, clear.out) == (0, "no op made NaN or Inf of finite values\n"), "inputs that were not finite are not looked for"
    described = tensortap("run", folder / "m.onnx", "--describe", "--out", tmp_path / "described")
    assert "none seen" not in described.err, described.err
    unknown = tensortap("find", tmp_path / "described")
    assert unknown.code == 3 and unknown.out.startswith("unknown: the dump counts NaN and Inf in none"), unknown
    short = tensortap("find", folder / "one", "--trends")
    assert short.code == 3 and short.out.startswith("nothing to judge"), short


def test_losses_to_a_limit_stand_beside_the_counts_of_ops(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.json"
    config.write_text('{"limits": {"max_records": 5}}')
    done = tensortap("run", folder / "m.onnx", "--runs", "5", "--config", config, "--out", tmp_path / "cut")
    (ops,) = re.findall(r"^ops +(.*)$", done.err, re.MULTILINE)
    lost = tensortap("run", folder / "m.onnx", "--runs", "5", "--config", config, "--out", tmp_path / "again", "--json").object["lost"]
    assert lost > 0 and re.search(rf"captured; {lost} records of \d+ ops? lost", ops), done.err
    assert f"a limit of the capture left out {lost} more" in tensortap("ls", tmp_path / "cut").err


def test_find_fits_one_screen(folder: Path) -> None:
    for dump in ("one", "three", "deep", "nonfinite"):
        lines = at_width(80, "find", folder / dump)
        assert sum(max(1, -(-len(line) // 80)) for line in lines) < 24, lines


def test_progress_says_about_how_long_it_will_take(folder: Path, tmp_path: Path) -> None:
    words = [str(COMMAND), "run", str(folder / "m.onnx"), "--runs", "1000000", "--out", str(tmp_path / "d")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        line = next((line for line in program.stderr if line.startswith("running: ")), "")
        program.kill()
    assert re.match(r"running: \d+ of 1000000 \(\d+ %\), \d+ s, about [\d.]+ (s|min|h) left$", line), line


def test_fish_completes_commands_options_and_their_words(folder: Path) -> None:
    script = tensortap("completion", "fish").out
    for command in re.findall(r"^  ([a-z][a-z-]*)  ", tensortap("--help").out, re.MULTILINE):
        assert f"complete -c tensortap -n __tensortap_no_command -a {command} -d '" in script
        for option in re.findall(r"^  (?:-\w,)?--([a-z-]+)", tensortap(command, "--help").out, re.MULTILINE):
            assert f"complete -c tensortap -n '__tensortap_command {command}' -l {option}" in script, (command, option)
    assert re.search(r"'__tensortap_command run' -l optimize -x -a 'none basic extended all' -d", script)
    assert re.search(r"'__tensortap_command completion' -a 'bash zsh fish'$", script, re.MULTILINE)
    if shutil.which("fish") is None:
        return
    (folder / "t.fish").write_text(script)
    asked = "source t.fish; complete -C 'tensortap run --optimize e'"
    done = subprocess.run(["fish", "-N", "-c", asked], cwd=folder, capture_output=True, text=True, check=True)
    assert "extended" in done.stdout
