package dev.palisade.server.metrics;

import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Barrier;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.RequestRelease;
import dev.palisade.server.core.Resume;
import java.util.Map;
import java.util.Objects;

/** A kind of request to the store, as a label. */
enum StoreCommand {
    ACQUIRE,
    ACCEPT,
    RENEW,
    RELEASE,
    LEAVE,
    EXPIRE,
    ABANDON,
    RESUME,
    RECLAIM,
    DESCRIBE,
    REQUEST_RELEASE,
    FORCE_RELEASE,
    CHECK_SEQUENCER,
    BARRIER,
    LIST,
    HISTORY;

    private static final Map<Class<? extends Command>, StoreCommand> BY_TYPE = Map.ofEntries(
            Map.entry(Acquire.class, ACQUIRE),
            Map.entry(Accept.class, ACCEPT),
            Map.entry(Renew.class, RENEW),
            Map.entry(Release.class, RELEASE),
            Map.entry(Leave.class, LEAVE),
            Map.entry(Expire.class, EXPIRE),
            Map.entry(Abandon.class, ABANDON),
            Map.entry(Resume.class, RESUME),
            Map.entry(Reclaim.class, RECLAIM),
            Map.entry(Describe.class, DESCRIBE),
            Map.entry(RequestRelease.class, REQUEST_RELEASE),
            Map.entry(ForceRelease.class, FORCE_RELEASE),
            Map.entry(CheckSequencer.class, CHECK_SEQUENCER),
            Map.entry(Barrier.class, BARRIER));

    static StoreCommand of(Class<? extends Command> type) {
        return Objects.requireNonNull(BY_TYPE.get(type), type.getName());
    }
}
