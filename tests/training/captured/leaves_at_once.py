import os

os._exit(status=5)
