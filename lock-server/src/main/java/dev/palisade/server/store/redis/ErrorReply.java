package dev.palisade.server.store.redis;

/** Every error with which Redis answers: whether the call can have taken effect, what is done about it, and how it is told. */
enum ErrorReply {
    READONLY("READONLY", Fate.LEFT, "is a replica"),
    MASTERDOWN("MASTERDOWN", Fate.LEFT, "is a replica without its primary"),
    LOADING("LOADING", Fate.LEFT, "is loading its data; wait until it has"),
    NOAUTH("NOAUTH", Fate.LEFT, "asks for a password; put it into the URI, as redis://USER:PASSWORD@HOST"),
    WRONGPASS("WRONGPASS", Fate.LEFT, "does not take this user and password; see its ACL"),
    NO_PASSWORD("ERR AUTH <password> called", Fate.LEFT, "has no password; take it out of the URI"),
    DENIED("DENIED", Fate.LEFT, "is in protected mode; give it a password, or an address to bind to"),
    CLIENTS("ERR max number of clients", Fate.LEFT, "has too many clients; raise its maxclients"),
    MOVED("MOVED", Fate.LEFT, "does not serve this slot any more"),
    ASK("ASK", Fate.REFUSED, "is moving this slot"),
    TRYAGAIN("TRYAGAIN", Fate.REFUSED, "is moving this slot"),
    CLUSTERDOWN("CLUSTERDOWN", Fate.REFUSED, "says that the cluster is down; see CLUSTER INFO"),
    CROSSSLOT("CROSSSLOT", Fate.REFUSED, "was given keys of several slots"),
    OOM("OOM", Fate.REFUSED, "has no memory for writes; raise its maxmemory"),
    NOREPLICAS("NOREPLICAS", Fate.REFUSED, "has fewer replicas than its min-replicas-to-write; see INFO replication"),
    MISCONF("MISCONF", Fate.REFUSED, "cannot write to its disk, and refuses writes; see its log"),
    BUSY(
            "BUSY",
            Fate.REFUSED,
            "is busy with a function or script that does not end; FUNCTION KILL or SCRIPT KILL ends it"),
    NOPERM("NOPERM", Fate.REFUSED, "refuses a right that this user needs; see its ACL"),
    NO_FUNCTION("ERR Function not found", Fate.LOADED, "has lost the function library"),
    OTHER("", Fate.UNKNOWN, "answered with an error");

    /** What becomes of the call. */
    enum Fate {
        /** It did not run. */
        REFUSED,
        /** It did not run, and this connection is of no use: the primary is looked for anew. */
        LEFT,
        /** It did not run: the library is loaded and the call repeated. */
        LOADED,
        /** It may have taken effect. */
        UNKNOWN
    }

    /** Redis adds this to errors from inside a function. */
    private static final String INSIDE = " script: ";

    private final String prefix;
    private final Fate fate;
    private final String words;

    ErrorReply(String prefix, Fate fate, String words) {
        this.prefix = prefix;
        this.fate = fate;
        this.words = words;
    }

    static ErrorReply of(String error) {
        for (ErrorReply reply : values()) {
            if (error.startsWith(reply.prefix) && !(error.contains(INSIDE) && !reply.comesBeforeTheFirstWrite())) {
                return reply;
            }
        }
        return OTHER;
    }

    /** Once a function has written, Redis does not make these checks any more. */
    private boolean comesBeforeTheFirstWrite() {
        return switch (this) {
            case READONLY, OOM, NOREPLICAS, MISCONF -> true;
            default -> false;
        };
    }

    Fate fate() {
        return fate;
    }

    /** One line: which Redis, what it said, what to do. */
    String line(Address address, String error) {
        return "Redis " + address + " " + words + " (" + error.strip() + ")";
    }
}
