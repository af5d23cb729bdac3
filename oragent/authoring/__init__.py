"""Problems of users: create a folder that works at once, and check a folder against the contract."""

from oragent.authoring.bench import ContractFinding, Level
from oragent.authoring.contract import check_problem
from oragent.authoring.scaffold import new

__all__ = ["ContractFinding", "Level", "check_problem", "new"]
