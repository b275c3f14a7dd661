package dev.palisade.faults;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.scenario.History;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Workload of a logical client without a session stream, like a client in another language. It acquires by a unary
 * call, repeats granted requests, and renews or lets the lease expire. After the end of a lease every call must be
 * refused.
 */
final class UnaryWorkload implements Runnable {
    private static final long DEADLINE_MILLIS = 3_000;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final String name;
    private final List<ManagedChannel> channels;
    private final History history;
    private final Locks locks;
    private final Random random;
    private final StopLatch stopLatch;
    private final byte[] session = new byte[SessionId.BYTES];
    private long requests;
    private int failures;

    UnaryWorkload(
            String name,
            List<ManagedChannel> channels,
            History history,
            Locks locks,
            Random random,
            StopLatch stopLatch) {
        this.name = name;
        this.channels = List.copyOf(channels);
        this.history = history;
        this.locks = locks;
        this.random = random;
        this.stopLatch = stopLatch;
        new SecureRandom().nextBytes(session);
    }

    @Override
    public void run() {
        while (!stopLatch.isStopped()) {
            requests++;
            runOnce(locks.any(random), 1_000 + random.nextInt(1_000), random.nextInt(3) == 0 ? 0 : 1_500);
            stopLatch.await(100 + random.nextInt(300));
        }
    }

    private void runOnce(String lock, long ttlMillis, long waitMillis) {
        AcquireRequest request = AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setTtlMillis(ttlMillis)
                .setWaitMillis(waitMillis)
                .setRequestId(requests)
                .setSessionId(ByteString.copyFrom(session))
                .setOwner(name)
                .setPurpose(name + "-" + requests)
                .build();
        JsonObject asked = newEvent("asked", lock);
        asked.addProperty("mode", "EXCLUSIVE");
        asked.addProperty("way", "UNARY");
        asked.addProperty("wait_millis", waitMillis);
        asked.addProperty("ttl_millis", ttlMillis);
        asked.addProperty("lock_delay_millis", 0);
        history.write(asked);
        long first = asked.get("at").getAsLong();
        Optional<Granted> granted = acquire(request, first, "granted");
        if (granted.isEmpty()) {
            // The outcome may be unknown; after leaving, the request must not hold the lock.
            call(
                    "left",
                    lock,
                    stub -> stub.leave(LeaveRequest.newBuilder()
                            .setLock(lock)
                            .setRequestId(requests)
                            .setSessionId(ByteString.copyFrom(session))
                            .build()));
            return;
        }
        use(request, granted.get(), first);
    }

    private void use(AcquireRequest request, Granted first, long firstNanos) {
        Granted grant = first;
        if (random.nextInt(3) == 0) {
            grant = acquire(request, firstNanos, "granted-again").orElse(grant);
        }
        boolean letExpire = random.nextInt(3) == 0;
        stopLatch.await(letExpire ? request.getTtlMillis() + 300 : random.nextInt((int) request.getTtlMillis() / 2));
        for (int i = 0; i < 2; i++) {
            renew(grant);
        }
        if (letExpire) {
            grant = acquire(request, firstNanos, "granted-again").orElse(grant);
        }
        release(grant);
    }

    private void release(Granted grant) {
        history.write(about(newEvent("releasing", grant.getLock()), grant));
        call(
                "released",
                grant.getLock(),
                stub -> stub.release(ReleaseRequest.newBuilder()
                        .setLock(grant.getLock())
                        .setGrantId(grant.getGrantId())
                        .setToken(grant.getToken())
                        .setSessionId(ByteString.copyFrom(session))
                        .build()));
    }

    private Optional<Granted> acquire(AcquireRequest request, long firstNanos, String eventName) {
        JsonObject event = newEvent(eventName, request.getLock());
        long sent = System.nanoTime();
        event.addProperty("asked", eventName.equals("granted") ? firstNanos : sent);
        event.addProperty("mode", "EXCLUSIVE");
        try {
            AcquireReply reply = stub(request.getWaitMillis())
                    .acquire(request.toBuilder()
                            .setAgeMillis((sent - firstNanos) / NANOS_PER_MILLI)
                            .build());
            event.addProperty("at", System.nanoTime());
            if (reply.hasGranted()) {
                about(event, reply.getGranted());
                // A lease granted after a wait began between the request and the reply.
                event.addProperty("until", until(sent, request.getTtlMillis()));
                history.write(event);
                return Optional.of(reply.getGranted());
            }
            event.addProperty("event", "not-granted");
            event.addProperty("reason", reply.getOutcomeCase().name());
        } catch (StatusRuntimeException e) {
            event.addProperty("at", System.nanoTime());
            event.addProperty("event", "not-granted");
            event.addProperty("reason", failed(e));
        }
        history.write(event);
        return Optional.empty();
    }

    private void renew(Granted grant) {
        JsonObject event = about(newEvent("valid", grant.getLock()), grant);
        long sent = event.get("at").getAsLong();
        try {
            long ttlMillis = stub(0).renew(RenewRequest.newBuilder()
                            .setLock(grant.getLock())
                            .setGrantId(grant.getGrantId())
                            .setToken(grant.getToken())
                            .setSessionId(ByteString.copyFrom(session))
                            .build())
                    .getTtlMillis();
            event.addProperty("until", until(sent, ttlMillis));
        } catch (StatusRuntimeException e) {
            String reason = failed(e);
            boolean over = reason.equals(Reason.LEASE_EXPIRED.name());
            event.addProperty("event", over ? "lost" : "renew-failed");
            event.addProperty("reason", over ? ended(e) : reason);
            event.addProperty("sent", sent);
            event.addProperty("at", System.nanoTime());
        }
        history.write(event);
    }

    private interface Call {
        Object of(LocksGrpc.LocksBlockingStub stub);
    }

    private void call(String name, String lock, Call call) {
        JsonObject event = newEvent(name, lock);
        String outcome = "OK";
        try {
            var unused = call.of(stub(0));
        } catch (StatusRuntimeException e) {
            outcome = failed(e);
        }
        event.addProperty("outcome", outcome);
        event.addProperty("at", System.nanoTime());
        history.write(event);
    }

    /** The end of the validity as the SDK computes it: from before the request, minus a thousandth and 20 ms. */
    private static long until(long sentNanos, long ttlMillis) {
        return sentNanos + ttlMillis * NANOS_PER_MILLI * 999 / 1_000 - 20 * NANOS_PER_MILLI;
    }

    private String failed(StatusRuntimeException failure) {
        failures++;
        return Rejections.ofThrowable(failure)
                .map(rejection -> rejection.reason().name())
                .orElse(failure.getStatus().getCode().name());
    }

    /** The reason of the end in the rejection. */
    private static String ended(StatusRuntimeException failure) {
        return Rejections.ofThrowable(failure)
                .map(rejection -> rejection.metadata().get(Rejection.ENDED))
                .orElse("EXPIRED");
    }

    private JsonObject newEvent(String event, String lock) {
        JsonObject made = history.event(event);
        made.addProperty("lock", lock);
        made.addProperty("op", name + "-" + requests);
        made.addProperty("request", HexFormat.of().formatHex(session) + " " + requests);
        return made;
    }

    private static JsonObject about(JsonObject event, Granted grant) {
        event.addProperty("token", grant.getToken());
        event.addProperty("grant", HexFormat.of().formatHex(grant.getGrantId().toByteArray()));
        return event;
    }

    /** The stub of the server that replied last; after a failure, of the next server. */
    private LocksGrpc.LocksBlockingStub stub(long waitMillis) {
        ManagedChannel channel = channels.get(failures % channels.size());
        channel.resetConnectBackoff();
        return LocksGrpc.newBlockingStub(channel)
                .withWaitForReady()
                .withDeadlineAfter(waitMillis + DEADLINE_MILLIS, TimeUnit.MILLISECONDS);
    }
}
