"""A page on this machine where a model is asked: some columns or pixels given, what of the rest?"""

from wakesleep.explore.local_server import LocalServer as LocalServer
from wakesleep.explore.subjects import open_subjects as open_subjects
