package dev.palisade.guard.s3;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.GuardStats;
import dev.palisade.guard.Mark;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * The fence inside an object store with conditional writes: token and grant of the last call are in the object's own
 * metadata, and a call writes only over the version that it compared ({@code If-Match}, {@code If-None-Match}). So
 * mark and data change in one step or not at all. Its place is a service's data layer, on an {@link S3Client} of the
 * service.
 *
 * <p>A resource is the key of one object of the bucket. Each write ends the body with a trailer of {@value
 * #TRAILER_BYTES} bytes of white space, which is random: an ETag is a hash of the body alone, so without it a late
 * write would fit again as soon as the body does. {@link #read} gives the body back without it; other readers get it
 * too.
 *
 * <p>It never trusts an unverified sequencer, never copies, and never says "not applied" of a write without a clear
 * reply. A plain delete, a lifecycle rule or a write past this class removes the mark, and then the next late write
 * is admitted. It blocks the calling thread; time-outs and retries are those of the client. Immutable; safe to share.
 * Closes nothing.
 */
public final class FencedS3 {
    /** The largest body that a read or claim writes again to raise the mark, unless told otherwise. */
    public static final long REWRITE_BYTES_MAX_DEFAULT = 8L << 20;

    /** Length of what each write appends to the body. */
    public static final int TRAILER_BYTES = WriteId.TRAILER_BYTES;

    /** Metadata of an OUTCOME_UNKNOWN: the write's id, to be compared with {@link #writeId} later. */
    public static final String WRITE_ID = "write_id";

    private static final System.Logger EVENTS = System.getLogger("dev.palisade.guard.events");

    private final Bucket bucket;
    private final SequencerVerifier verifier;
    private final S3FenceCounters counters;
    private final long rewriteBytesMax;

    FencedS3(Bucket bucket, SequencerVerifier verifier, S3FenceCounters counters, long rewriteBytesMax) {
        this.bucket = bucket;
        this.verifier = verifier;
        this.counters = counters;
        this.rewriteBytesMax = rewriteBytesMax;
    }

    /**
     * A fence on a bucket. Tries whether the store keeps to conditions, with an object {@code palisade-probe/...}
     * that it removes. Refusals go to the {@link System.Logger} {@code dev.palisade.guard.events} at level INFO, on
     * the thread of the call, a bounded number of lines a second.
     *
     * @throws IllegalStateException when the store does not, or the probe cannot be done
     */
    public static FencedS3 open(S3Client client, String bucket, SequencerVerifier verifier) {
        return open(client, bucket, verifier, line -> EVENTS.log(System.Logger.Level.INFO, line));
    }

    /** @param eventLines where operators are told */
    static FencedS3 open(S3Client client, String bucket, SequencerVerifier verifier, Consumer<String> eventLines) {
        new BucketProbe(client, bucket).run();
        EventLog events = new EventLog(eventLines, System::nanoTime, EventLog.LINES_PER_SECOND);
        return new FencedS3(
                new Bucket(client, bucket), verifier, new S3FenceCounters(events), REWRITE_BYTES_MAX_DEFAULT);
    }

    /**
     * The same fence with another bound on what a read or claim writes again; cheap, for one call if need be.
     *
     * @param bytes 0 to 1 GiB; a body of this size is held in memory
     * @throws IllegalArgumentException out of that range
     */
    public FencedS3 withRewriteBytesMax(long bytes) {
        if (bytes < 0 || bytes > 1L << 30) {
            throw new IllegalArgumentException("rewriteBytesMax " + bytes + " is not within 0 to 1 GiB");
        }
        return new FencedS3(bucket, verifier, counters, bytes);
    }

    /** The same fence without log events, for a service that logs every refusal itself. Counts on its own, from 0. */
    public FencedS3 withoutEvents() {
        return new FencedS3(bucket, verifier, counters.withoutEvents(), rewriteBytesMax);
    }

    /**
     * The same fence, which also passes on its refusals, on the thread of the call: to a {@code RefusalReports}, for {@code palisade
     * explain}. Shares the counts of this one.
     *
     * @param reports must not block, and must not throw
     */
    public FencedS3 withReports(Consumer<Rejection> reports) {
        return new FencedS3(bucket, verifier, counters.reporting(reports), rewriteBytesMax);
    }

    /** Counts, for metrics, of this fence and of the copies made of it: admitted, refused and running calls. */
    public GuardStats stats() {
        return counters.stats();
    }

    /** As {@link #write(SignedSequencer, Binding, Consumer, RequestBody)}, with nothing but the body. */
    public void write(SignedSequencer signed, Binding binding, RequestBody body) {
        write(signed, binding, request -> {}, body);
    }

    /**
     * Writes an object as a guarded write. Only for EXCLUSIVE grants.
     *
     * @param binding its resource is the object's key
     * @param request sets what is to be sent beside the body, such as the content type and the user's metadata;
     *     neither the conditions nor checksums of the whole body
     * @param body of known length, which can be read again
     * @throws RejectedException SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED, TOKEN_STALE, DRAINING (other
     *     calls came first too often), MARK_UNAVAILABLE, STORE_UNAVAILABLE: all not applied; or OUTCOME_UNKNOWN, with
     *     {@link #WRITE_ID}: no clear reply came, and the object does not show the write. It may be applied later, as
     *     long as nothing else is written
     * @throws S3Exception the store refuses the request itself; nothing was applied
     * @throws IllegalArgumentException for a request that sets what the fence sets, metadata {@code palisade-*}, or a
     *     body of unknown length; nothing was sent
     */
    public void write(
            SignedSequencer signed, Binding binding, Consumer<PutObjectRequest.Builder> request, RequestBody body) {
        ObjectWrite write = ObjectWrite.of(request, body);
        guarded(
                signed,
                binding,
                Access.WRITE,
                call -> call.run(() -> {
                    ObjectState state = call.head();
                    return call.made(state) || put(call, state, call.judge(state), write) ? "" : null;
                }));
    }

    /**
     * Deletes an object as a guarded write: puts an empty object in its place that keeps the mark, and that {@link
     * #read} takes for none. A listing of the bucket shows it. Errors as for {@link #write(SignedSequencer, Binding,
     * Consumer, RequestBody)}.
     */
    public void delete(SignedSequencer signed, Binding binding) {
        guarded(
                signed,
                binding,
                Access.WRITE,
                call -> call.run(() -> {
                    ObjectState state = call.head();
                    return call.made(state) || put(call, state, call.judge(state), ObjectWrite.TOMBSTONE) ? "" : null;
                }));
    }

    /**
     * Reads an object as a guarded read, of an EXCLUSIVE or a SHARED grant. Raises the mark too, so what was read
     * stays true until a newer grant is admitted: the first read of a grant writes the object again, with the same
     * content and headers, or an empty tombstone if there is none. Tags, ACLs and retention are not copied.
     *
     * @return the object without what the fence added, to be closed by the caller; empty: there is none. Its stream
     *     ends with an {@link java.io.IOException} if something else changed the body
     * @throws RejectedException as for a write
     * @throws S3Exception as for a write
     * @throws IllegalStateException when the mark must be raised and the object is too large to be written again, or
     *     has tags; nothing was applied
     */
    public Optional<ResponseInputStream<GetObjectResponse>> read(SignedSequencer signed, Binding binding) {
        return guarded(signed, binding, Access.READ, call -> call.run(() -> raise(call, binding.resource())))
                .content();
    }

    /**
     * Raises the mark alone: after it returns no call with an older token is applied. Writes the object again, as
     * {@link #read} does, with the same errors, if the mark is not that of the grant yet.
     *
     * @return the mark it left
     */
    public Mark claim(SignedSequencer signed, Binding binding) {
        return guarded(
                signed,
                binding,
                Access.READ,
                call -> call.run(() -> {
                    ObjectState state = call.head();
                    Mark mark = call.judge(state);
                    if (mark.equals(state.mark())) {
                        return mark;
                    }
                    Raised raised = raise(call, binding.resource());
                    if (raised == null) {
                        return null;
                    }
                    raised.content().ifPresent(ResponseInputStream::abort);
                    return raised.mark();
                }));
    }

    /**
     * The mark of {@code resource}, for people; nothing to decide by, it may be raised the next moment.
     *
     * @throws RejectedException STORE_UNAVAILABLE or MARK_UNAVAILABLE
     */
    public Mark mark(String resource) {
        return bucket.head(resource).mark();
    }

    /**
     * The id of the write that made the object what it is now; empty: there is none, or FencedS3 did not write it.
     * Equal to the {@link #WRITE_ID} of an OUTCOME_UNKNOWN: that write was applied. Otherwise it was not, or
     * something was written after it.
     *
     * @throws RejectedException STORE_UNAVAILABLE or MARK_UNAVAILABLE
     */
    public Optional<String> writeId(String resource) {
        return Optional.ofNullable(bucket.head(resource).writeId()).map(WriteId::hex);
    }

    /** What a read found, and the mark it left. */
    private record Raised(Mark mark, Optional<ResponseInputStream<GetObjectResponse>> content) {}

    private @Nullable Raised raise(FencedCall call, String key) {
        Optional<Bucket.Opened> found = bucket.get(key);
        if (found.isEmpty()) {
            Mark mark = call.judge(ObjectState.MISSING);
            return put(call, ObjectState.MISSING, mark, ObjectWrite.TOMBSTONE)
                    ? new Raised(mark, Optional.empty())
                    : null;
        }
        ReadObject object = new ReadObject(key, found.get());
        try {
            Mark mark = call.judge(object.state());
            if (mark.equals(object.state().mark())) {
                return new Raised(mark, object.content());
            }
            byte[] body = object.bytes(rewriteBytesMax);
            return put(call, object.state(), mark, ObjectWrite.again(object, body))
                    ? new Raised(mark, object.content(body))
                    : null;
        } catch (IOException e) {
            if (call.head().equals(object.state())) {
                throw S3FenceRejections.unreadable(key, e);
            }
            return null; // It was written while it was read.
        } catch (RuntimeException e) {
            object.abort();
            throw e;
        }
    }

    private boolean put(FencedCall call, ObjectState over, Mark mark, ObjectWrite write) {
        WriteId writeId = WriteId.random();
        PutObjectRequest request = write.request(bucket.name(), call.key(), over, mark, writeId);
        return call.send(writeId, () -> bucket.client().putObject(request, write.body(writeId)));
    }

    private <T> T guarded(SignedSequencer signed, Binding binding, Access access, Function<FencedCall, T> work) {
        counters.callBegins();
        try {
            Sequencer sequencer = verifier.verify(signed);
            binding.require(sequencer, access);
            T result = work.apply(new FencedCall(bucket, sequencer, binding, access));
            counters.admitted();
            return result;
        } catch (RejectedException e) {
            throw counters.refused(e);
        } finally {
            counters.callEnds();
        }
    }
}
