package dev.palisade.server.store.redis;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Waiter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the function of a command answered. Its times are put on the server's own clock: the moment at which the call was sent stands
 * for the moment at which Redis decided, which came later, so a lease never seems to last longer than it does.
 */
final class FunctionAnswer {
    /** Where what was asked has its minimum hold time, by what it is a part of. */
    private static final int AT_LEAST_OF_GRANT = 12;

    private static final int AT_LEAST_OF_WAITER = 13;
    private static final int AT_LEAST_OF_EVENT = 8;

    private final LockName lock;
    private final List<Object> reply;
    /** What a time of this Redis must be moved by. */
    private final long shiftMillis;

    private final long sentMillis;

    /** @param sentMillis when the call was sent, on the server's clock */
    FunctionAnswer(LockName lock, List<Object> reply, long sentMillis) {
        this.lock = lock;
        this.reply = reply;
        this.sentMillis = sentMillis;
        this.shiftMillis = sentMillis - (Long) reply.get(1);
    }

    /** Whether the function did nothing because the domain's epoch is not in order here. */
    static boolean isSuspect(List<Object> reply) {
        return reply.get(0) instanceof byte[] word && string(word).equals("SUSPECT_PRIMARY");
    }

    /** Of an answer that {@link #isSuspect}: whether a log took the domain's place. */
    static boolean isMoved(List<Object> reply) {
        return isSuspect(reply) && reply.size() > 3;
    }

    /** What broke, of an answer that {@link #isSuspect}. */
    static String suspicion(List<Object> reply) {
        return string(reply.get(2));
    }

    Answer answer() {
        List<Object> fields = list(reply.get(0));
        String kind = string(fields.get(0));
        return switch (kind) {
            case "Granted" -> new Answer.Granted(grant(fields.get(1)));
            case "Promised" -> new Answer.Promised(promised(list(fields.get(1))));
            case "Queued" -> new Answer.Queued((int) number(fields.get(1)));
            case "Busy" ->
                new Answer.Busy(
                        list(fields.get(1)).isEmpty() ? Optional.empty() : Optional.of(grant(fields.get(1))),
                        number(fields.get(2)),
                        numberAt(fields, 4),
                        (int) number(fields.get(3)),
                        sentMillis);
            case "WaitEnded" -> new Answer.WaitEnded(End.valueOf(string(fields.get(1))));
            case "Renewed" -> new Answer.Renewed(grant(fields.get(1)));
            case "Released" -> new Answer.Released();
            case "Left" -> new Answer.Left(number(fields.get(1)) == 1);
            case "Expired" -> new Answer.Expired();
            case "Abandoned" -> new Answer.Abandoned(number(fields.get(1)) == 1);
            case "Resumed" -> new Answer.Resumed(grant(fields.get(1)));
            case "Described" -> new Answer.Described(state(fields), sentMillis);
            case "ReleaseRequested" -> new Answer.ReleaseRequested((int) number(fields.get(1)));
            case "ForceReleased" -> new Answer.ForceReleased((int) number(fields.get(1)));
            case "Checked" -> new Answer.Checked(number(fields.get(1)) == 1);
            case "Raised" -> new Answer.Raised(new FencingToken(number(fields.get(1))));
            case "Refused" -> refused(fields);
            default -> throw new IllegalStateException("the function library answered " + kind);
        };
    }

    /** What concerns requests that wait, and leases that ended. Other changes are in the answer, or nobody else's business. */
    Changes changes() {
        List<LockEvent> events = new ArrayList<>();
        List<Offer> offers = new ArrayList<>();
        for (Object event : list(reply.get(2))) {
            events.add(event(list(event), offers));
        }
        return new Changes(
                new LockState(lock, List.of(), List.copyOf(offers), List.of(), Tombstones.NONE, 0, 0, 0),
                events,
                sentMillis);
    }

    /**
     * What a decision changed.
     *
     * @param state the lock's name and the offers that {@code events} speak of
     * @param atMillis no later than the decision
     */
    record Changes(LockState state, List<LockEvent> events, long atMillis) {}

    /** One event: its kind, then its fields. Numbers may be texts, as they are in a message between servers. */
    private LockEvent event(List<Object> fields, List<Offer> offers) {
        String kind = string(fields.get(0));
        RequestId request = request(bytes(fields.get(1)));
        return switch (kind) {
            case "Offered" -> {
                FencingToken token = new FencingToken(number(fields.get(2)));
                long lapsesAtMillis = time(fields.get(3));
                Request asked = asked(request, fields.subList(3, fields.size()), AT_LEAST_OF_EVENT);
                offers.add(new Offer(
                        new Waiter(asked, sentMillis, Long.MAX_VALUE, Long.MAX_VALUE, Waiter.Lapse.NONE),
                        token,
                        lapsesAtMillis));
                yield new LockEvent.Offered(request, token, lapsesAtMillis);
            }
            case "Ended" ->
                new LockEvent.Ended(
                        new Tombstone(
                                request,
                                grantId(fields.get(2)),
                                number(fields.get(3)),
                                End.valueOf(string(fields.get(4))),
                                sentMillis,
                                string(fields.get(5))),
                        time(fields.get(6)));
            case "ReleaseRequested" ->
                new LockEvent.ReleaseRequested(
                        request, grantId(fields.get(2)), string(fields.get(3)), string(fields.get(4)));
            default -> throw new IllegalStateException("the function library told of " + kind);
        };
    }

    private Answer.Refused refused(List<Object> fields) {
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(Rejection.LOCK, lock.value());
        Reason reason = Reason.valueOf(string(fields.get(1)));
        String ended = string(fields.get(3));
        if (!ended.isEmpty()) {
            metadata.put(Rejection.ENDED, ended);
        }
        String detail = string(fields.get(4));
        if (!detail.isEmpty()) {
            metadata.put(Rejection.DETAIL, detail);
        }
        if (number(fields.get(5)) > 0) {
            metadata.put(Rejection.RETRY_AFTER_MILLIS, Long.toString(number(fields.get(5))));
            metadata.put(Rejection.APPLIED, "no");
        }
        return new Answer.Refused(new Rejection(reason, string(fields.get(2)), metadata));
    }

    private LockState state(List<Object> fields) {
        return new LockState(
                lock,
                list(fields.get(1)).stream().map(this::grant).toList(),
                list(fields.get(2)).stream().map(offer -> offer(list(offer))).toList(),
                list(fields.get(3)).stream().map(waiter -> waiter(list(waiter))).toList(),
                Tombstones.NONE,
                time(fields.get(4)),
                time(fields.get(6)),
                time(fields.get(5)));
    }

    // ---- parts

    private Grant grant(Object packed) {
        List<Object> fields = list(packed);
        return new Grant(
                asked(fields, AT_LEAST_OF_GRANT),
                new FencingToken(number(fields.get(8))),
                time(fields.get(9)),
                time(fields.get(10)));
    }

    private Waiter waiter(List<Object> fields) {
        return new Waiter(
                asked(fields, AT_LEAST_OF_WAITER),
                time(fields.get(8)),
                time(fields.get(9)),
                time(fields.get(10)),
                lapse(number(fields.get(11))));
    }

    /** As in {@code lock.lua}. */
    private static Waiter.Lapse lapse(long number) {
        return number == 0 ? Waiter.Lapse.NONE : number == 1 ? Waiter.Lapse.STEPS_BACK : Waiter.Lapse.LAST_CHANCE;
    }

    private Offer offer(List<Object> fields) {
        return new Offer(waiter(list(fields.get(0))), new FencingToken(number(fields.get(1))), time(fields.get(2)));
    }

    private Grant promised(List<Object> fields) {
        Offer offer = offer(fields);
        return new Grant(offer.request(), offer.token(), offer.waiter().queuedAtMillis(), offer.lapsesAtMillis());
    }

    private static Request asked(List<Object> fields, int atLeastAt) {
        return asked(request(bytes(fields.get(0))), fields, atLeastAt);
    }

    /**
     * @param fields from the second on, what was asked
     * @param atLeastAt which of them is the minimum hold time; a library of before has none
     */
    private static Request asked(RequestId request, List<Object> fields, int atLeastAt) {
        return new Request(
                request,
                number(fields.get(1)),
                grantId(fields.get(2)),
                number(fields.get(3)) == 1 ? Mode.SHARED : Mode.EXCLUSIVE,
                number(fields.get(4)),
                number(fields.get(5)),
                numberAt(fields, atLeastAt),
                string(fields.get(6)),
                string(fields.get(7)));
    }

    private long time(Object value) {
        long millis = number(value);
        return millis >= CommandWords.NEVER ? Long.MAX_VALUE : millis == 0 ? 0 : millis + shiftMillis;
    }

    static RequestId request(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new RequestId(new SessionId(buffer.getLong(), buffer.getLong()), buffer.getLong());
    }

    static GrantId grantId(Object value) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes(value));
        return new GrantId(buffer.getLong(), buffer.getLong());
    }

    static long number(Object value) {
        return value instanceof Long number ? number : Long.parseLong(string(value));
    }

    /** 0 when the answer ends before. */
    private static long numberAt(List<Object> fields, int at) {
        return at < fields.size() ? number(fields.get(at)) : 0;
    }

    static byte[] bytes(Object value) {
        return (byte[]) value;
    }

    static String string(Object value) {
        return new String(bytes(value), StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return (List<Object>) value;
    }
}
