package dev.palisade.client;

import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.Reply;
import org.jspecify.annotations.Nullable;

/**
 * The calls that clean up at the server: they leave a queue, or release a grant that no caller wants. Each is sent on
 * every new stream until it has its reply, which no caller waits for. In the loop only.
 */
final class CleanupCalls {
    /** Longer than any grace period: by then the server has ended the request itself. */
    private static final long LIMIT_NANOS = 300_000_000_000L;

    private final Session session;

    CleanupCalls(Session session) {
        this.session = session;
    }

    void leave(String lock, long requestId) {
        new CleanupCall(Call.newBuilder()
                        .setLeave(LeaveRequest.newBuilder()
                                .setLock(lock)
                                .setRequestId(requestId)
                                .setSessionId(GrantCalls.bytes(session.id())))
                        .build())
                .begin();
    }

    void release(Granted granted) {
        new CleanupCall(Call.newBuilder()
                        .setRelease(ProtoMapper.release(granted))
                        .build())
                .begin();
    }

    private final class CleanupCall extends PendingCall {
        private final Call call;
        private final RetryDelay retryDelay = new RetryDelay();

        private TimerQueue.@Nullable ScheduledTask limit;

        CleanupCall(Call call) {
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
        void onReply(Reply reply, ClockReading sent) {
            if (reply.hasRejected()) {
                Rejection rejection = ProtoMapper.rejection(reply.getRejected());
                RejectionAction action = RejectionAction.of(rejection.reason());
                if (action == RejectionAction.RETRY || action == RejectionAction.RESEND) {
                    session.retry(this, retryDelay.nextNanos(rejection));
                    return;
                }
            }
            session.loop().cancel(limit);
            session.finish(this);
        }
    }
}
