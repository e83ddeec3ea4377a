from hexcursion import settings as settings
from hexcursion.door.library import CuratorWarning as CuratorWarning
from hexcursion.door.library import compare as compare
from hexcursion.door.library import plan as plan
from hexcursion.door.library import publish as publish
from hexcursion.door.library import release as release
from hexcursion.door.released import AskedPath as AskedPath
from hexcursion.door.released import Released as Released
from hexcursion.door.released import open_bundle as open_bundle

__version__: str
