import pytest

from uiproof.benchmarks.grounding.grounders.instructions import Rank, understand
from uiproof.benchmarks.grounding.grounders.vocabulary import Axis, Kind, Relation


def first(instruction):
    return understand(instruction).phrases[0].text


def anchors(instruction):
    return [(a.relation, a.phrases[0].text) for a in understand(instruction).anchors]


@pytest.mark.parametrize(
    ("instruction", "name", "kind"),
    [
        ("Click on the 'Save' button", "Save", Kind.BUTTON),
        ("Click the “Learn more” link.", "Learn more", Kind.LINK),
        ('Select "No. 9"', "No. 9", None),
        ("Click on the text 'It's done'", "It's done", Kind.TEXT),
        ("Uncheck `Master Objects`", "Master Objects", Kind.CHECKBOX),
        ("Click on the 'From file' radio button", "From file", Kind.CHECKBOX),
        ("Press the button labeled 'Go'", "Go", Kind.BUTTON),
        ("Right-click in the window and select 'Select All' from the menu", "Select All", None),
    ],
)
def test_quoted_words_are_what_the_target_says(instruction, name, kind):
    assert first(instruction) == name
    assert understand(instruction).kind == kind


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        ("Click on the Email text field", "Email"),
        ("Unselect Preview", "Preview"),
        ("Select All", "Select All"),
        ("Please open the Release notes link", "Release notes"),
        ("Remove the bookmark", "Remove"),
        ("Sort the files according to the size", "size"),
    ],
)
def test_without_quotes_every_run_of_words_may_be_the_name(instruction, name):
    assert name in [phrase.text for phrase in understand(instruction).phrases]


def test_more_of_the_words_weigh_more_and_words_about_controls_weigh_little():
    weights = {p.text: p.weight for p in understand("Click on the Email address button").phrases}
    assert weights["Email address"] > weights["Email"] > weights["button"]
    assert "Click" not in weights
    assert "the" not in weights


@pytest.mark.parametrize(
    ("instruction", "rank"),
    [
        ("Click on the second 'Open' link from the top", Rank(1, Axis.DOWN)),
        ("Click on the third 'Open' link from the left", Rank(2, Axis.ACROSS)),
        ("Click on the second 'Open' link from the bottom", Rank(-2, Axis.DOWN)),
        ("Click on the left-most 'Save' button", Rank(0, Axis.ACROSS)),
        ("Click on the right-most text 'Sales'", Rank(-1, Axis.ACROSS)),
        ("Click on the bottommost 'Save' button", Rank(-1, Axis.DOWN)),
        ("Click on the last 'Delete' button", Rank(-1)),
        ("Click on the 'Save' button", None),
        ("Click on the 'First name' field", None),
    ],
)
def test_ordinals_and_superlatives_tell_which_one_of_several(instruction, rank):
    assert understand(instruction).rank == rank


@pytest.mark.parametrize(
    ("instruction", "places"),
    [
        ("Click the X button in the top right corner", {"top", "right"}),
        ("Click 'Zoom' in the lower-left corner of the screen", {"bottom", "left"}),
        ("Click on the 'Next' button at the bottom of the page", {"bottom"}),
        ("Click on the second 'Open' link from the top", set()),
        ("Click on the 'Top left' button", set()),
    ],
)
def test_corners_and_sides_are_places(instruction, places):
    assert understand(instruction).places == places


@pytest.mark.parametrize(
    ("instruction", "relation", "name"),
    [
        ("Click the checkbox to the left of 'Subtitles'", Relation.LEFT, "Subtitles"),
        ("Click the + button next to the 'Rows' field", Relation.NEAR, "Rows"),
        ("Click the field below 'Name'", Relation.BELOW, "Name"),
        ("Click the arrow on the right side of 'Format'", Relation.RIGHT, "Format"),
        ("Click the switch above 'Volume'", Relation.ABOVE, "Volume"),
        ("Click the 'Remove' button in the 'Edit bookmark' window", Relation.INSIDE, None),
    ],
)
def test_prepositions_say_what_the_target_stands_beside(instruction, relation, name):
    (found,) = anchors(instruction)
    assert found == (relation, name or "Edit bookmark")


def test_a_target_without_words_is_found_by_what_it_stands_beside():
    wanted = understand("Click the checkbox to the left of 'Subtitles'")
    assert wanted.kind is Kind.CHECKBOX
    assert wanted.phrases[0].text == "Subtitles"
    assert wanted.phrases[0].weight > 0.7


def test_a_purpose_counts_less_than_the_target():
    weights = {p.text: p.weight for p in understand("Click 'Edit' to change 'Name'").phrases}
    assert weights["Edit"] > weights["Name"]


@pytest.mark.parametrize(
    ("instruction", "cell"),
    [
        ("Click on the I15 cell", ("I", 15)),
        ("Select cell AB7", ("AB", 7)),
        ("Click the second column of the 31st row", ("B", 31)),
        ("Click on the 'A4' paper format", None),
        ("Select the row 25", None),
    ],
)
def test_cells_of_spreadsheets_are_named_by_column_and_row(instruction, cell):
    assert understand(instruction).cell == cell


@pytest.mark.parametrize("instruction", ["", "   ", "...", "'", "click", "the of in", "🙂", "''"])
def test_nothing_said_is_nothing_wanted_rather_than_an_error(instruction):
    assert not [p for p in understand(instruction).phrases if p.weight > 0.96]
