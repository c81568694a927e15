import subprocess
import sys

PROGRAM = """
import sys
from uiproof.endings import ending_well

def command():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        sys.exit(130)

ending_well(command)
"""


def test_the_exit_code_is_kept_where_ctrl_c_struck_inside_of_exec(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "program"], cwd=tmp_path, check=False)
    assert done.returncode == 130
