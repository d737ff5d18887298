"""Small SQLite exports of Nsight Systems, made from the published schema."""
import sqlite3

PID = 4242
PROCESS = (1 << 56) | (PID << 24)
THREAD = PROCESS | 4243
TEMPLATE, EXEC = 2 << 32, 3 << 32


class Export:
    """An export with one process, whose texts are shared as nsys shares them."""

    def __init__(self, path):
        path.unlink(missing_ok=True)
        self.database = sqlite3.connect(path)
        self.texts = {}
        self.database.executescript(
            """
            CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
            INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.0');
            CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
            INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790857026000000000, '', '');
            CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
                textId INTEGER, domainId INTEGER);
            CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
                graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
                correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
                contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
                demangledName INTEGER NOT NULL, graphNodeId INTEGER);
            """)

    def text(self, text):
        """The number of a text."""
        if text not in self.texts:
            self.texts[text] = len(self.texts) + 1
            self.database.execute("INSERT INTO StringIds VALUES (?, ?)", (self.texts[text], text))
        return self.texts[text]

    def range(self, start, end, name):
        self.database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?, 0)", (start, end, THREAD, self.text(name)))

    def node(self, start, node, original=None):
        self.database.execute("INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (?, ?, ?, ?, ?)", (start, start, THREAD, node, original))

    def launch(self, start, correlation):
        self.database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0)",
                              (start, start + 50, THREAD, correlation, self.text("cudaGraphLaunch_v10000")))

    def kernel(self, start, node, correlation, name="gemm", process=PROCESS):
        self.database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?)",
                              (start, start + 80, correlation, process, self.text(name), node))

    def close(self):
        self.database.commit()
        self.database.close()


def layers(path, replays=3):
    """Three nodes, of layers.0, layers.1 and none, replayed."""
    export = Export(path)
    export.range(100, 1000, "model")
    export.range(200, 400, "layers.0")
    export.range(500, 900, "layers.1")
    for local, start in enumerate((300, 600, 1500)):
        export.node(start, TEMPLATE | local)
        export.node(2000 + local, EXEC | local, TEMPLATE | local)
    for replay in range(replays):
        export.launch(10000 + 1000 * replay - 100, 50 + replay)
        for local in range(3):
            export.kernel(10000 + 1000 * replay + 100 * local, EXEC | local, 50 + replay, f"gemm<{local}>")
    export.close()
    return path
