from hexcursion import settings as settings
from hexcursion.bundle import BundleError as BundleError
from hexcursion.comparing.run import Comparison as Comparison
from hexcursion.door.library import CuratorWarning as CuratorWarning
from hexcursion.door.library import compare as compare
from hexcursion.door.library import plan as plan
from hexcursion.door.library import publish as publish
from hexcursion.door.library import release as release
from hexcursion.door.pipeline import Planned as Planned
from hexcursion.door.released import AskedPath as AskedPath
from hexcursion.door.released import Released as Released
from hexcursion.door.released import open_bundle as open_bundle
from hexcursion.door.released_atlas import ReleasedAtlas as ReleasedAtlas
from hexcursion.door.released_atlas import open_atlas as open_atlas
from hexcursion.errors import Cancelled as Cancelled
from hexcursion.errors import HexcursionError as HexcursionError
from hexcursion.errors import WorkflowError as WorkflowError
from hexcursion.ledger.errors import BudgetExceeded as BudgetExceeded
from hexcursion.ledger.errors import NoBudget as NoBudget
from hexcursion.ledger.errors import RequestTaken as RequestTaken
from hexcursion.ledger.errors import Unreleased as Unreleased
from hexcursion.project.model import RowsDropped as RowsDropped
from hexcursion.releasing.release_guard import LowAgreement as LowAgreement

__version__: str
NEEDS_POSIX: str

def can_run() -> bool: ...
