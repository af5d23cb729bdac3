"""A row of run.db that is far too long is refused at once."""

import json
import time
from pathlib import Path

import pytest

from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.store import MAX_JSON, Store


@pytest.mark.parametrize("readonly", [True, False])
def test_metrics_that_are_too_long_are_refused_at_once(tmp_path: Path, readonly: bool) -> None:
    with Store(tmp_path / "run.db") as store:
        store.keep_evaluation("f", Evaluation(Status.OK, 1.0), 0.0)
        long = json.dumps({"values": [0] * (MAX_JSON // 2)})
        store._db.execute("UPDATE evaluations SET metrics = ?", long)
    begun = time.process_time()
    with Store(tmp_path / "run.db", readonly=readonly) as store, pytest.raises(StoreError):
        store.evaluation("f")
    assert time.process_time() - begun < 5
