from pathlib import Path

import pytest

from uiproof.errors import UsageError
from uiproof.settings import Settings


def test_an_empty_environment_gives_the_defaults():
    settings = Settings.from_environment({})
    assert settings.runs_dir == Path("runs")
    assert settings.workers is None
    assert settings.cache_dir.name == "uiproof"


def test_the_environment_wins_over_the_defaults():
    settings = Settings.from_environment(
        {
            "UIPROOF_WORKERS": "3",
            "UIPROOF_RUNS": "elsewhere",
            "UIPROOF_CASE_TIMEOUT": "2.5",
            "UIPROOF_DEBUG": "yes",
        }
    )
    assert settings.workers == 3
    assert settings.runs_dir == Path("elsewhere")
    assert settings.case_timeout == 2.5
    assert settings.debug is True


def test_arguments_win_over_the_environment_unless_they_are_none():
    environment = {"UIPROOF_WORKERS": "3"}
    assert Settings.from_environment(environment, workers=5).workers == 5
    assert Settings.from_environment(environment, workers=None).workers == 3


def test_a_blank_variable_counts_as_not_set():
    assert Settings.from_environment({"UIPROOF_WORKERS": "  "}).workers is None


def test_a_tilde_stands_for_the_home_folder():
    assert Settings.from_environment({"UIPROOF_CLIP": "~/clip.onnx"}).clip == (
        Path.home() / "clip.onnx"
    )


def test_the_cache_follows_the_desktop_convention(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Settings.from_environment({}).cache_dir == tmp_path / "uiproof"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("UIPROOF_WORKERS", "many"),
        ("UIPROOF_WORKERS", "0"),
        ("UIPROOF_WORKERS", "-2"),
        ("UIPROOF_WORKERS", "2.5"),
        ("UIPROOF_CASE_TIMEOUT", "soon"),
        ("UIPROOF_CASE_TIMEOUT", "0"),
        ("UIPROOF_CASE_TIMEOUT", "nan"),
        ("UIPROOF_CASE_TIMEOUT", "inf"),
        ("UIPROOF_DEBUG", "perhaps"),
    ],
)
def test_a_malformed_value_is_refused_by_the_name_of_its_variable(variable, value):
    with pytest.raises(UsageError) as caught:
        Settings.from_environment({variable: value})
    assert variable in caught.value.message
    assert value in caught.value.message
    assert caught.value.remedy


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(AttributeError):
        Settings.from_environment({}).workers = 4


def test_a_dotenv_file_of_the_current_folder_is_read_below_the_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVAL_UITARS_URL", raising=False)
    monkeypatch.setenv("EVAL_UITARS_MODEL", "from-the-environment")
    (tmp_path / ".env").write_text(
        "# servers\n"
        "EVAL_OMNIPARSER_URL=http://parser:1/#not-a-comment\n"
        "export EVAL_UITARS_URL = 'http://tars:2/v1'  # a comment\n"
        'EVAL_DATASETS_DIR="my sets"\n'
        "EVAL_UITARS_MODEL=from-the-file\n"
        "UIPROOF_CACHE=elsewhere\n"
        "not an assignment\n"
    )
    settings = Settings.from_environment()
    assert settings.omniparser_url == "http://parser:1/#not-a-comment"
    assert settings.uitars_url == "http://tars:2/v1"
    assert settings.datasets_dir == Path("my sets")
    assert settings.uitars_model == "from-the-environment"
    assert settings.cache_dir != Path("elsewhere")  # only the framework's own variables count
    assert Settings.from_environment({}).omniparser_url == "http://localhost:8000"


def test_a_folder_called_dotenv_is_no_trouble(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").mkdir()
    assert Settings.from_environment().datasets_dir == Path("evaluation/datasets")


def test_the_thresholds_of_the_framework_are_settings():
    usual = Settings.from_environment({})
    assert (usual.iou_threshold, usual.bbox_tolerance) == (0.3, 0.02)
    assert usual.crop_sizes == (200, 300, 500)
    other = Settings.from_environment(
        {
            "EVAL_DEFAULT_IOU_THRESHOLD": "0.5",
            "EVAL_BBOX_TOLERANCE": "0",
            "EVAL_CROP_SIZES": "128, 256",
        }
    )
    assert (other.iou_threshold, other.bbox_tolerance, other.crop_sizes) == (0.5, 0, (128, 256))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("EVAL_DEFAULT_IOU_THRESHOLD", "1.5"),
        ("EVAL_DEFAULT_IOU_THRESHOLD", "nan"),
        ("EVAL_BBOX_TOLERANCE", "-0.1"),
        ("EVAL_CROP_SIZES", "200,,500"),
        ("EVAL_CROP_SIZES", "large"),
    ],
)
def test_a_malformed_threshold_is_refused(variable, value):
    with pytest.raises(UsageError, match=variable):
        Settings.from_environment({variable: value})
