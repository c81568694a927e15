"""What a run says on its way."""

from __future__ import annotations

import io

from uiproof.engine.progress import LABEL, Bar, Lines, make_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drive(progress, total=4):
    progress.start(total=total, done=1, failed=0)
    progress.advance(failed=False)
    progress.advance(failed=True)
    progress.stop()


def test_a_log_gets_plain_lines_with_counts_rate_and_time_left():
    stream = io.StringIO()
    drive(Lines(stream, every=0))
    first, last = stream.getvalue().splitlines()  # the last one only once
    assert first.startswith("uiproof: 2/4")
    assert last.startswith("uiproof: 3/4, 1 failed")
    assert "/s" in last
    assert "left" in last


def test_without_a_total_there_is_no_time_left():
    stream = io.StringIO()
    drive(Lines(stream, every=1000), total=None)
    assert stream.getvalue().startswith("uiproof: 3, 1 failed")
    assert "left" not in stream.getvalue()


def test_a_run_with_nothing_left_to_do_still_says_so():
    stream = io.StringIO()
    progress = Lines(stream)
    progress.start(total=4, done=4, failed=0)
    progress.stop()
    assert stream.getvalue() == "uiproof: 4/4\n"


def test_of_several_runs_progress_says_which_it_is():
    LABEL.set("run 2 of 3")
    try:
        for stream in (io.StringIO(), Terminal()):
            drive(make_progress(stream=stream))
            assert "run 2 of 3" in stream.getvalue()
    finally:
        LABEL.set("")


def test_a_terminal_gets_a_bar():
    stream = Terminal()
    progress = make_progress(stream=stream)
    assert isinstance(progress, Bar)
    drive(progress)
    assert "3/4" in stream.getvalue()
    assert "1 failed" in stream.getvalue()


def test_quiet_is_silent_and_a_pipe_gets_lines():
    stream = Terminal()
    drive(make_progress(quiet=True, stream=stream))
    assert stream.getvalue() == ""
    assert isinstance(make_progress(stream=io.StringIO()), Lines)
