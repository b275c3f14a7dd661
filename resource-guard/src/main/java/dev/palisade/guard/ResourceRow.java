package dev.palisade.guard;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.guard.MarkStore.StoredMark;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The mark and the registered calls of one resource as one text, in lines: the version, the mark in three lines, then a line
 * for each call, and {@code awaited} if that is so. No name has a line break in it.
 *
 * @param mark null: the resource has none
 * @param epoch when the mark was raised last; -1 without a mark
 * @param awaited whether a guard waits for calls of others to leave
 */
record ResourceRow(@Nullable StoredMark mark, long epoch, List<RegisteredCall> calls, boolean awaited) {
    private static final String NONE = "-";
    private static final String AWAITED = "awaited";

    ResourceRow {
        calls = List.copyOf(calls);
    }

    /** @param text empty: there is no row */
    static ResourceRow parse(String resource, String text) {
        if (text.isEmpty()) {
            return new ResourceRow(null, -1, List.of(), false);
        }
        try {
            String[] lines = text.split("\n", -1);
            String[] words = lines[1].split(" ", -1);
            StoredMark mark = lines[3].isEmpty()
                    ? null
                    : new StoredMark(
                            resource,
                            lines[2],
                            new LockName(lines[3]),
                            new Mark(
                                    Long.parseLong(words[1]),
                                    words[2].equals(NONE) ? null : grant(words[2]),
                                    Long.parseLong(words[3])),
                            Long.parseLong(words[4]));
            List<RegisteredCall> calls = new ArrayList<>();
            boolean awaited = lines[lines.length - 1].equals(AWAITED);
            for (String line : List.of(lines).subList(4, lines.length - (awaited ? 1 : 0))) {
                calls.add(call(line.split(" ", -1)));
            }
            return new ResourceRow(mark, Long.parseLong(words[0]), calls, awaited);
        } catch (RuntimeException e) {
            throw Unavailable.because(
                    "the row of '" + resource
                            + "' in the shared register is damaged; nothing was applied: stop all guards,"
                            + " delete the register's key, and start them: a new register asks the lock service for base"
                            + " marks",
                    e);
        }
    }

    private static RegisteredCall call(String[] words) {
        return new RegisteredCall(
                words[0],
                Long.parseLong(words[1]),
                Mode.valueOf(words[2]),
                Long.parseLong(words[3]),
                grant(words[4]),
                Access.valueOf(words[5]),
                Boolean.parseBoolean(words[6]));
    }

    private static GrantId grant(String hex) {
        return GrantId.of(HexFormat.of().parseHex(hex));
    }

    /**
     * @param version that no other text of this row ever had: a step that was sent long ago then finds another row than it has
     *     read, even where all else is as it was
     */
    String text(String version) {
        StringBuilder text = new StringBuilder(version).append('\n').append(epoch);
        StoredMark kept = mark;
        if (kept == null) {
            text.append(" 0 - 0 0\n\n");
        } else {
            GrantId grant = kept.mark().exclusiveGrant();
            text.append(' ')
                    .append(kept.mark().exclusiveToken())
                    .append(' ')
                    .append(grant == null ? NONE : grant.toString())
                    .append(' ')
                    .append(kept.mark().sharedToken())
                    .append(' ')
                    .append(kept.raisedAtMillis())
                    .append('\n')
                    .append(kept.issuer())
                    .append('\n')
                    .append(kept.lock().value());
        }
        for (RegisteredCall call : calls) {
            text.append('\n')
                    .append(String.join(
                            " ",
                            call.guard(),
                            Long.toString(call.number()),
                            call.mode().name(),
                            Long.toString(call.token()),
                            call.grant().toString(),
                            call.access().name(),
                            Boolean.toString(call.quarantined())));
        }
        return awaited ? text.append('\n').append(AWAITED).toString() : text.toString();
    }

    ResourceRow withMark(StoredMark newMark, long newEpoch) {
        return new ResourceRow(newMark, newEpoch, calls, awaited);
    }

    ResourceRow withCalls(List<RegisteredCall> newCalls) {
        return new ResourceRow(mark, epoch, newCalls, awaited);
    }

    ResourceRow withAwaited(boolean isAwaited) {
        return new ResourceRow(mark, epoch, calls, isAwaited);
    }
}
