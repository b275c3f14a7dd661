package dev.palisade.server.ownership;

import dev.palisade.server.ownership.WorldSetup.Fault;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One thing that can happen next. */
record WorldStep(String what, int server, Work work, Fate fate) {
    /** What a batch does. */
    enum Work {
        NOTHING,
        KEEP,
        GRANT_0,
        GRANT_1
    }

    /** What happens to a request. */
    enum Fate {
        ARRIVES(null),
        CUT_BEFORE(Fault.CUT),
        CUT_AFTER(Fault.CUT),
        CUT_AND_LATE(Fault.LATE),
        REPEATED_LATE(Fault.LATE),
        PAUSED_AFTER(Fault.PAUSE),
        REFUSED(Fault.REFUSE),
        /** The reply is received later; another batch may be sent before. */
        FLIES(null),
        FLIES_UNANSWERED(Fault.CUT),
        FLIES_LATE(Fault.LATE),
        FLIES_REFUSED(Fault.REFUSE);

        private final @Nullable Fault fault;

        Fate(@Nullable Fault fault) {
            this.fault = fault;
        }
    }

    private static final Map<String, Fault> FAULTS = Map.ofEntries(
            Map.entry("crash", Fault.CRASH),
            Map.entry("pause", Fault.PAUSE),
            Map.entry("stop", Fault.STOP),
            Map.entry("restart", Fault.RESTART),
            Map.entry("empty", Fault.EMPTY),
            Map.entry("flush", Fault.FLUSH),
            Map.entry("reload", Fault.RELOAD),
            Map.entry("loss", Fault.LOSS),
            Map.entry("restore", Fault.RESTORE),
            Map.entry("promoteAgain", Fault.RESTORE));

    /** What goes wrong in this step, if something does. */
    @Nullable
    Fault fault() {
        return what.equals("act") ? fate.fault : FAULTS.get(what);
    }

    static WorldStep of(String what, int server) {
        return new WorldStep(what, server, Work.NOTHING, Fate.ARRIVES);
    }

    @Override
    public String toString() {
        return what + "(" + server + (work == Work.NOTHING ? "" : " " + work) + (fate == Fate.ARRIVES ? "" : " " + fate)
                + ")";
    }
}
