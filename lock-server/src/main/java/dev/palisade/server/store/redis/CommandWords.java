package dev.palisade.server.store.redis;

import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Poll;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.RequestRelease;
import dev.palisade.server.core.Resume;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What a command says to its function, in the order of the function's header. Knows no answers. */
final class CommandWords {
    /** In place of a time or a generation: never, or any. The functions' numbers end there. */
    static final long NEVER = 1L << 53;

    private final List<byte[]> words = new ArrayList<>(14);

    private CommandWords() {}

    /** The function that decides {@code command}. */
    static String function(Command command) {
        return "palisade_" + command.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }

    /**
     * The function's arguments.
     *
     * @param settings the limits and the server's name, as {@code lock.lua} reads them
     * @param floor the largest token known to have been issued in the domain
     * @param aliveMillis how long a waiter counts as alive after this; {@link #NEVER} for as long as it waits
     */
    static List<byte[]> of(Command command, byte[] settings, long floor, long aliveMillis) {
        CommandWords all = new CommandWords();
        all.words.add(settings);
        all.add(floor);
        all.add(command, aliveMillis);
        return all.words;
    }

    private void add(Command command, long aliveMillis) {
        if (command instanceof Acquire acquire) {
            add(acquire.request());
            add(acquire.waitMillis()).add(acquire.ageMillis()).add(aliveMillis);
            add(acquire.request().lockAtLeastForMillis());
        } else if (command instanceof Accept accept) {
            add(accept.grant().toBytes()).add(accept.token().value());
            add(accept.session().toBytes()).add(accept.sessionGen());
        } else if (command instanceof Renew renew) {
            add(renew.grant().toBytes()).add(renew.token().value());
            add(renew.session().toBytes());
        } else if (command instanceof Release release) {
            add(release.grant().toBytes()).add(release.token().value());
            add(release.session().toBytes());
        } else if (command instanceof Leave leave) {
            add(bytes(leave.request())).add(leave.sessionGen());
            add(text(leave.cause().words()));
        } else if (command instanceof Abandon abandon) {
            add(abandon.grant().toBytes()).add(abandon.sessionGen());
            add(text(abandon.cause().words()));
        } else if (command instanceof Resume resume) {
            add(resume.grant().toBytes()).add(resume.token().value());
            add(resume.session().toBytes()).add(resume.sessionGen());
        } else if (command instanceof Reclaim reclaim) {
            add(reclaim.request());
            add(reclaim.token().value()).add(reclaim.request().lockAtLeastForMillis());
        } else if (command instanceof Poll poll) {
            add(bytes(poll.request())).add(aliveMillis);
        } else if (command instanceof RequestRelease request) {
            add(text(request.by())).add(text(request.why()));
        } else if (command instanceof ForceRelease force) {
            add(force.token()).add(text(force.by())).add(text(force.why()));
        } else if (command instanceof CheckSequencer check) {
            add(check.grant().toBytes()).add(check.token().value());
        }
    }

    private void add(Request request) {
        add(bytes(request.id())).add(request.sessionGen());
        add(request.grant().toBytes()).add(request.mode() == Mode.SHARED ? 1 : 0);
        add(request.ttlMillis()).add(request.lockDelayMillis());
        add(text(request.owner())).add(text(request.purpose()));
    }

    private CommandWords add(byte[] word) {
        words.add(word);
        return this;
    }

    private CommandWords add(long number) {
        return add(text(Long.toString(Math.min(number, NEVER))));
    }

    static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The session, then the number. */
    static byte[] bytes(RequestId id) {
        return ByteBuffer.allocate(SessionId.BYTES + Long.BYTES)
                .putLong(id.session().high())
                .putLong(id.session().low())
                .putLong(id.number())
                .array();
    }
}
