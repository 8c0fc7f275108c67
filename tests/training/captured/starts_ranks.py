import os
import subprocess
import sys

ranks = []
for rank in range(8):
    environ = {**os.environ, "RANK_ID": str(rank), "RANK_SIZE": "8"}
    ranks.append(subprocess.Popen([sys.executable, "one_rank.py"], env=environ, start_new_session=True))
for rank in ranks:
    rank.wait()
