package dev.palisade.client;

import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.Reply;
import org.jspecify.annotations.Nullable;

/**
 * Gives back what nobody here wants any more, and says so on every stream until it is answered: leaving a queue,
 * freeing a grant. Nobody waits for the answer. In the loop only.
 */
final class Farewells {
    /** Longer than any grace: by then the server has ended the request itself. */
    private static final long LIMIT_NANOS = 300_000_000_000L;

    private final Session session;

    Farewells(Session session) {
        this.session = session;
    }

    void leave(String lock, long requestId) {
        new Farewell(Call.newBuilder()
                        .setLeave(LeaveRequest.newBuilder()
                                .setLock(lock)
                                .setRequestId(requestId)
                                .setSessionId(Calls.bytes(session.id())))
                        .build())
                .begin();
    }

    void release(Granted granted) {
        new Farewell(Call.newBuilder().setRelease(Wire.release(granted)).build()).begin();
    }

    private final class Farewell extends Errand {
        private final Call call;
        private final Retry retry = new Retry();

        private TimerQueue.@Nullable ScheduledTask limit;

        Farewell(Call call) {
            this.call = call;
        }

        void begin() {
            limit = session.loop().schedule(LIMIT_NANOS, () -> session.finish(this));
            session.start(this);
        }

        @Override
        Call.Builder call(ClockReading now) {
            return call.toBuilder();
        }

        @Override
        void answered(Reply reply, ClockReading sent) {
            if (reply.hasRejected()) {
                Rejection rejection = Wire.rejection(reply.getRejected());
                Remedy remedy = Remedy.of(rejection.reason());
                if (remedy == Remedy.RETRY || remedy == Remedy.ASK_AGAIN) {
                    session.again(this, retry.delayNanos(rejection));
                    return;
                }
            }
            session.loop().cancel(limit);
            session.finish(this);
        }
    }
}
