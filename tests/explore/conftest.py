from tests.report.conftest import folder as folder
from tests.report.conftest import runs as runs
from tests.report.conftest import table_run as table_run
