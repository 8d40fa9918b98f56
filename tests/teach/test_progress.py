"""Progress files that were damaged, or written to hurt."""

import pytest

import collsim as cs

GOOD = '{"schema": "collsim.progress/1", "exercises": {"ring": {"passed": true}}}'


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        GOOD[:-20] + "[" * 200_000,
        GOOD.replace("true", "9" * 900_000),
        GOOD.replace("{", "[", 2),
        GOOD.replace('{"passed": true}', "3"),
        GOOD[:-5],
        "\0",
        '{"schema": "' + "x" * 900_000 + '"}',
    ],
    ids=lambda text: text[:30],
)
def test_a_damaged_progress_file_is_told_of(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(cs.FormatError, match="is not a progress file of collsim") as caught:
        cs.teach.progress(path)
    assert len(str(caught.value)) < 1000


def test_a_good_one_is_read(tmp_path):
    (tmp_path / "p.json").write_text(GOOD)
    assert cs.teach.progress(tmp_path / "p.json") == {"ring": {"passed": True}}
