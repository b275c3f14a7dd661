package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreRequest;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * The calls of operators, dashboards and guards; they hold nothing. Each blocks at most for the client's call timeout,
 * 5 s unless set, and throws
 *
 * <ul>
 *   <li>{@link LockUnavailableException} when no server answered;
 *   <li>{@link RejectedException} when the server refuses;
 *   <li>{@link IllegalArgumentException} for an argument that can never be right;
 *   <li>{@link InterruptedException} when interrupted before or while waiting; what was sent may have been done. A step
 *       of a stream throws {@link java.util.concurrent.CancellationException} in its place, and the interrupt flag
 *       stays set.
 * </ul>
 *
 * <p>Safe for use by many threads.
 */
public final class Operations {
    private static final int TEXT_BYTES_MAX = 256;

    private final UnaryCalls calls;

    Operations(UnaryCalls calls) {
        this.calls = calls;
    }

    /**
     * One thing that happened to a lock.
     *
     * @param at by the server's clock
     * @param what a word of the reference of commands, such as GRANTED or FORCE_RELEASED; a newer server may have more
     * @param token empty: the request had none yet
     * @param grant the grant that the request had or would have had
     * @param owner what the client called itself; may be empty
     * @param detail the purpose, of a grant or a place in the queue; the operator and the reason, of an operator's act;
     *     the reason of ABANDONED; else empty
     * @param cause of ABANDONED: a word of the reference of commands, such as CONNECTION_BROKE; empty when no cause is
     *     recorded
     * @param isAfterGap whether things that happened right before may be missing; false from an older server
     */
    public record HistoryEntry(
            Instant at,
            String what,
            Optional<FencingToken> token,
            GrantId grant,
            String owner,
            String detail,
            String cause,
            boolean isAfterGap) {}

    /**
     * A token that no grant has or will have.
     *
     * @param issuer the lock service
     * @param token larger than that of every grant before, smaller than that of every later one
     */
    public record Barrier(String issuer, FencingToken token) {}

    /**
     * The locks that are held, offered, waited for or closed, whose names begin with {@code prefix}, in an order of the
     * server's. Pages are asked for as the stream is read, so any step of it may block or throw. A lock that is in use
     * all the time is there once.
     *
     * @param prefix at most 256 bytes; empty for all
     */
    public Stream<LockDescription> list(String prefix) {
        String checked = Arguments.text("prefix", prefix, 0, LockName.BYTES_MAX);
        return Pages.stream(token -> {
            ListReply page = calls.execute(
                    "locks '" + checked + "'",
                    stub -> stub.list(ListRequest.newBuilder()
                            .setPrefix(checked)
                            .setPageToken(token)
                            .build()));
            return new Pages.Page<>(
                    page.getLocksList().stream().map(ProtoMapper::description).toList(), page.getNextPageToken());
        });
    }

    /**
     * The sessions that have a stream on the active server, or had one within the grace, in an order of the server's.
     * Clients that only make unary calls are not listed. Pages are asked for as the stream is read, so any step of it
     * may block or throw. A session that is there all the time is there once.
     */
    public Stream<SessionDescription> sessions() {
        return Pages.stream(token -> {
            SessionsReply page = calls.execute(
                    "the sessions",
                    stub -> stub.sessions(
                            SessionsRequest.newBuilder().setPageToken(token).build()));
            return new Pages.Page<>(
                    page.getSessionsList().stream().map(ProtoMapper::session).toList(), page.getNextPageToken());
        });
    }

    /** How the store does behind the first of the servers that answers, also while the store is down. */
    public StoreDescription store() throws InterruptedException {
        return ProtoMapper.store(calls.execute("the store", stub -> stub.store(StoreRequest.getDefaultInstance())));
    }

    /** The last things that happened to {@code lock}, oldest first; what a restart of the server forgets is missing. */
    public List<HistoryEntry> history(String lock) throws InterruptedException {
        HistoryRequest request = HistoryRequest.newBuilder().setLock(name(lock)).build();
        return calls.execute("lock " + lock, stub -> stub.history(request)).getEntriesList().stream()
                .map(ProtoMapper::historyEntry)
                .toList();
    }

    /**
     * Explains why calls with a token of {@code lock} were refused, as far as the server that answers knows: refusals
     * that guards reported to another one are missing.
     *
     * @param token of the refused call; empty: the token that guards refused last, else that of the newest grant
     * @throws LockUnavailableException also where the server is too old to explain
     */
    public LockExplanation explain(String lock, OptionalLong token) throws InterruptedException {
        ExplainRequest.Builder request = ExplainRequest.newBuilder().setLock(name(lock));
        // On the wire 0 is the newest; a mistake must not become it.
        token.ifPresent(value ->
                request.setToken(Arguments.valid(() -> new FencingToken(value)).value()));
        return ExplanationMapper.explanation(calls.execute("lock " + lock, stub -> stub.explain(request.build())));
    }

    /**
     * Requests release: asks every holder of {@code lock} to give it up. Each decides for itself; see {@link
     * Lease#onReleaseRequested}.
     *
     * @param by the requester, for the holders and the history; 1 to 256 bytes of UTF-8
     * @param why the reason, for the holders and the history; 1 to 256 bytes of UTF-8
     * @return the number of holders, including those that could not be reached
     */
    public int requestRelease(String lock, String by, String why) throws InterruptedException {
        RequestReleaseRequest request = RequestReleaseRequest.newBuilder()
                .setLock(name(lock))
                .setBy(said("by", by))
                .setWhy(said("why", why))
                .build();
        return calls.execute("lock " + lock, stub -> stub.requestRelease(request))
                .getHoldersAsked();
    }

    /**
     * Ends leases at once, and records the operator and the reason. The holders may still be working: only a guard stops
     * their calls. The request is sent once. If the reply is lost the outcome is unknown, and the exception says so: read
     * {@link #history} then.
     *
     * @param token of the lease to end, or of any of its turns; empty for every lease of the lock
     * @param by the operator, for the history; 1 to 256 bytes of UTF-8
     * @param why the reason, for the history; 1 to 256 bytes of UTF-8
     * @return the number of leases that were ended
     */
    public int forceRelease(String lock, OptionalLong token, String by, String why) throws InterruptedException {
        ForceReleaseRequest.Builder request = ForceReleaseRequest.newBuilder()
                .setLock(name(lock))
                .setBy(said("by", by))
                .setWhy(said("why", why));
        // On the wire 0 is every lease; a mistake must not become it.
        token.ifPresent(value ->
                request.setToken(Arguments.valid(() -> new FencingToken(value)).value()));
        return calls.executeOnce(lock, stub -> stub.forceRelease(request.build()))
                .getReleased();
    }

    /**
     * Whether the sequencer names a lease that was alive when the server answered. No fence: it may have ended since.
     * Of a lease that threads of one client pass on it says the same of every turn, also of one that is over.
     *
     * @throws RejectedException SEQUENCER_INVALID when it is not one of that lock service
     */
    public boolean isAlive(SignedSequencer sequencer) throws InterruptedException {
        CheckSequencerRequest request = CheckSequencerRequest.newBuilder()
                .setSequencer(ByteString.copyFrom(sequencer.toBytes()))
                .build();
        return calls.execute("a sequencer", stub -> stub.checkSequencer(request))
                .getAlive();
    }

    /**
     * A fresh token between the grants of {@code lock} so far and those to come: a guard's base after it lost its
     * marks.
     */
    public Barrier barrier(String lock) throws InterruptedException {
        BarrierRequest request = BarrierRequest.newBuilder().setLock(name(lock)).build();
        BarrierReply reply = calls.execute("lock " + lock, stub -> stub.barrier(request));
        return new Barrier(reply.getIssuer(), new FencingToken(reply.getToken()));
    }

    private static String name(String lock) {
        return Arguments.lock(lock).value();
    }

    private static String said(String what, String text) {
        return Arguments.text(what, text, 1, TEXT_BYTES_MAX);
    }
}
