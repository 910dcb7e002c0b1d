"""How much a model file may ask for. Checked before anything of that size is made."""

MAX_XML_BYTES = 64 * 2**20  # of one XML file
MAX_ASSET_BYTES = 256 * 2**20  # of one mesh, texture or height field file
MAX_TOTAL_BYTES = 1024 * 2**20  # of all files of one model
MAX_DEPTH = 450  # nested elements; MuJoCo's own XML reader gives up at 500
MAX_ELEMENTS = 500_000  # of all files of one model, after replication and attachment
MAX_ATTRIBUTE = 64 * 2**20  # characters of one attribute: vertices can be written inline
MAX_FILES = 5_000  # referred to by one model
MAX_CHAIN = 1_000  # links from root to tip of a URDF: MuJoCo walks the tree by recursion
MAX_FACES = 5_000_000  # of one mesh
MAX_PIXELS = 64 * 2**20  # of one texture
MAX_HEIGHTS = 16 * 2**20  # of one height field
MAX_ARENA = 1024 * 2**20  # bytes of <size memory="...">

COUNTS: dict[tuple[str, str], int] = {
    ("size", "nkey"): 100_000,
    ("size", "nuserdata"): 1_000_000,
    ("size", "njmax"): 1_000_000,
    ("size", "nconmax"): 1_000_000,
    ("size", "nstack"): MAX_ARENA // 8,
    ("numeric", "size"): 1_000_000,
    ("user", "dim"): 1_000_000,
    ("contact", "num"): 10_000,
    ("*", "nsample"): 100_000,
    ("*", "actdim"): 10_000,
    ("*", "maxhullvert"): MAX_FACES,
    ("texture", "width"): 16_384,
    ("texture", "height"): 16_384,
    ("camera", "resolution"): 16_384,
    ("flex", "cellcount"): 1_000,
    ("flexcomp", "cellcount"): 1_000,
} | {
    ("size", f"nuser_{kind}"): 10_000 for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
}
