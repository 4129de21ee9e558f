"""MindSpore's dump configs on the command line, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import COMMAND, ROOT, Done, small_model, tensortap

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

CASES = ROOT / "tests/golden/mindspore/config/cases.jsonl"


def config(file: Path, **changes: Any) -> Path:
    """Write a config that differs from the plainest one in some of its common settings."""
    common = {
        "dump_mode": 0,
        "path": "/dumps",
        "net_name": "Net",
        "iteration": "all",
        "input_output": 0,
        "kernels": [],
        "support_device": [0],
    }
    file.write_text(json.dumps({"common_dump_settings": {**common, **changes}, "e2e_dump_settings": {"enable": True}}, indent=1))
    return file


def explain(*words: str | Path, variable: str | Path = "", cwd: Path | None = None) -> Done:
    return tensortap("explain", *words, cwd=cwd, environment={"MINDSPORE_DUMP_CONFIG": str(variable), "MS_DIAGNOSTIC_DATA_PATH": ""})


def said(done: Done, text: str) -> bool:
    assert done.code == 0, done
    return any(text in line for line in done.object["plan"])


def test_a_config_is_known_by_its_content_and_said_in_words(tmp_path: Path) -> None:
    done = explain(config(tmp_path / "c.json", iteration="0|5-8", saved_data="statistic"), "--json")
    assert said(done, "These steps are captured, counted from 0: 0,5-8.")
    assert said(done, 'the folder "/dumps" in the layout "mindspore"')
    assert said(done, 'the profile "mindspore-2.10/cpu"')
    assert said(done, "statistic_category = max,min,l2norm")
    assert said(done, "config = a text of")


def test_the_variable_names_the_config_when_no_other_is_given(tmp_path: Path) -> None:
    path = config(tmp_path / "c.json", net_name="Fromvariable")
    assert said(explain("--json", variable=path), "net_name = Fromvariable")
    assert said(explain("--json", variable="c.json", cwd=tmp_path), "net_name = Fromvariable")
    assert said(explain("--json", "--out", tmp_path / "other", variable=path), str(tmp_path / "other"))
    other = config(tmp_path / "o.json", net_name="Fromcommand")
    assert said(explain(other, "--json", variable=path), "net_name = Fromcommand")
    selected = explain("--json", "--types", "Conv", variable=path)
    assert said(selected, "net_name = Fromvariable"), "the command line goes on top of it"
    assert said(selected, "Conv")
    assert said(explain("--json", variable=""), "Every op is captured")


def test_the_variable_must_name_a_json_file_that_is_there(tmp_path: Path) -> None:
    missing = explain(variable=tmp_path / "no.json")
    assert missing.code == 2
    assert missing.err.startswith(f"error: MINDSPORE_DUMP_CONFIG: {tmp_path / 'no.json'}: ")
    path = config(tmp_path / "c.txt")
    for done in (explain(variable=path), explain(path)):
        assert done.code == 2
        assert "c.txt: the name of a config of mindspore has to end in .json" in done.err
    (tmp_path / "link.json").symlink_to(path)
    assert explain(tmp_path / "link.json").code == 2, "the file itself counts"
    good = config(tmp_path / "c.json")
    (tmp_path / "link").symlink_to(good)
    assert explain(tmp_path / "link").code == 0
    (tmp_path / "empty.json").write_text("")
    assert explain(variable=tmp_path / "empty.json").code == 2
    (tmp_path / "native.json").write_text('{"steps": "0"}')
    assert "common_dump_settings: is missing" in explain(variable=tmp_path / "native.json").err


def test_the_path_may_come_from_the_other_variable(tmp_path: Path) -> None:
    path = config(tmp_path / "c.json", path="")
    assert "common_dump_settings.path: is missing or empty" in explain(path).err
    done = tensortap("explain", path, environment={"MS_DIAGNOSTIC_DATA_PATH": "/data"})
    assert '"/data/debug_dump"' in done.out


def test_profiles_are_versions_and_devices(tmp_path: Path) -> None:
    path = config(tmp_path / "c.json", saved_data="statistic")
    assert said(explain(path, "--profile", "mindspore-2.0", "--json"), 'the profile "mindspore-2.0/cpu"')
    assert said(explain(path, "--profile", "mindspore-2.0", "--json"), "max,min,avg,count,negative zero count")
    assert said(explain(path, "--profile", "mindspore-2.7.0/gpu", "--profile-strict", "--json"), "max,min,l2norm")
    refused = explain(path, "--profile-strict")
    assert refused.code == 2
    assert "common_dump_settings.saved_data: MindSpore keeps no statistics on a CPU" in refused.err
    assert said(explain(path, "--profile", "mindspore-2.7/gpu", "--json"), 'the profile "mindspore-2.7.0/gpu"')
    assert "there is no profile" in explain(path, "--profile", "mindspore-1.0").err
    assert "there is no config" in explain("--profile-strict").err
    assert said(explain("--layout", "mindspore", "--profile", "mindspore-2.4", "--json"), 'the profile "mindspore-2.4/cpu"')


def test_another_layout_takes_the_same_config(tmp_path: Path) -> None:
    done = explain(config(tmp_path / "c.json"), "--layout", "tap", "--json")
    assert said(done, 'in the layout "tap"')
    assert not any("Option of the layout" in line or "profile" in line for line in done.object["plan"])


def test_notes_go_to_standard_error_and_into_the_json(tmp_path: Path) -> None:
    path = config(tmp_path / "c.json", foo=1, iteration="3-1")
    done = explain(path)
    assert "common_dump_settings.foo: is no key of MindSpore" in done.err
    assert "1 part matches no iteration" in done.err
    assert "No step is captured" in done.out
    assert any("foo" in note for note in explain(path, "--json").object["notes"])
    assert explain(path, "--quiet").err == ""


def test_kernels_are_matched_against_a_model(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    path = config(tmp_path / "c.json", dump_mode=1, kernels=["SOFTM", "Default/relu_1/FusedGemm-op7", "Softmaxx"])
    explained = explain(path, "--model", tmp_path / "model.onnx", "--json")
    assert explained.code == 0, explained
    answer = explained.object
    assert "softmax_1" in answer["ops"]
    assert any('"Softmaxx"' in note and 'Did you mean "Softmax"' in note for note in answer["notes"])
    assert any('Did you mean "Default/relu_1/FusedGemm-op0"' in note for note in answer["notes"])


def cases(identity: str) -> list[dict[str, Any]]:
    return [case for case in map(json.loads, CASES.read_text().splitlines()) if case["id"] == identity]


@pytest.mark.parametrize("identity", ["badext", "dotdir", "relpath", "emptyenv", "base", "st_order", "dm2", "empty"])
def test_recorded_cases_end_as_they_did(identity: str, tmp_path: Path) -> None:
    found = cases(identity)
    assert found
    for case in found:
        path = tmp_path / case["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(case["text"].replace("<ROOT>", "/golden"))
        variable = case.get("env", {}).get("MINDSPORE_DUMP_CONFIG", str(path))
        profile = ["--profile", f"mindspore-2.10/{case['target'].lower()}", "--profile-strict"] if variable else []
        done = explain(*profile, variable=variable, cwd=tmp_path)
        assert (done.code == 0) == case["accepted"], (case["target"], done)
