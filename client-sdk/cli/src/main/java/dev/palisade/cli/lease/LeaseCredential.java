package dev.palisade.cli.lease;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.SessionId;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ResumeRequest;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.Optional;

/**
 * Bearer credential of one lease, as text: a later process renews and releases the lease with it. Unlike a sequencer, which is sent to
 * guarded services, it contains the session, so its owner keeps it secret.
 *
 * @param lock that was acquired
 * @param session made for this lease only
 * @param grant of the lease
 * @param token of the grant
 * @param sequencer signed
 * @param ttlMillis as requested
 * @param lockDelayMillis as requested
 * @param lockAtLeastForMillis as requested
 * @param purpose as requested
 * @param owner as requested
 */
record LeaseCredential(
        String lock,
        ByteString session,
        ByteString grant,
        long token,
        ByteString sequencer,
        long ttlMillis,
        long lockDelayMillis,
        long lockAtLeastForMillis,
        String purpose,
        String owner) {
    /** A session of a script has one request. */
    static final long REQUEST_ID = 1;

    private static final byte VERSION = 2;
    private static final int TEXT_MAX = 4_096;

    static LeaseCredential of(AcquireRequest request, Granted granted) {
        return new LeaseCredential(
                request.getLock(),
                request.getSessionId(),
                granted.getGrantId(),
                granted.getToken(),
                granted.getSequencer(),
                request.getTtlMillis(),
                request.getLockDelayMillis(),
                request.getLockAtLeastForMillis(),
                request.getPurpose(),
                request.getOwner());
    }

    String toText() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(VERSION);
            session.writeTo(out);
            grant.writeTo(out);
            out.writeLong(token);
            out.writeLong(ttlMillis);
            out.writeLong(lockDelayMillis);
            out.writeLong(lockAtLeastForMillis);
            out.writeUTF(lock);
            out.writeUTF(purpose);
            out.writeUTF(owner);
            sequencer.writeTo(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.toByteArray());
    }

    /** Empty when {@code text} is not what {@link #toText} returned. */
    static Optional<LeaseCredential> ofText(String text) {
        if (text.length() > TEXT_MAX) {
            return Optional.empty();
        }
        try (DataInputStream in = new DataInputStream(
                new ByteArrayInputStream(Base64.getUrlDecoder().decode(text)))) {
            if (in.readByte() != VERSION) {
                return Optional.empty();
            }
            ByteString session = ByteString.copyFrom(exactly(in, SessionId.BYTES));
            ByteString grant = ByteString.copyFrom(exactly(in, GrantId.BYTES));
            long token = in.readLong();
            long ttl = in.readLong();
            long lockDelay = in.readLong();
            long lockAtLeastFor = in.readLong();
            String lock = in.readUTF();
            String purpose = in.readUTF();
            String owner = in.readUTF();
            ByteString sequencer = ByteString.copyFrom(in.readAllBytes());
            return Optional.of(new LeaseCredential(
                    lock, session, grant, token, sequencer, ttl, lockDelay, lockAtLeastFor, purpose, owner));
        } catch (IOException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static byte[] exactly(DataInputStream in, int length) throws IOException {
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return bytes;
    }

    RenewRequest renewal() {
        return RenewRequest.newBuilder()
                .setLock(lock)
                .setGrantId(grant)
                .setToken(token)
                .setSessionId(session)
                .build();
    }

    ReleaseRequest releasing() {
        return ReleaseRequest.newBuilder()
                .setLock(lock)
                .setGrantId(grant)
                .setToken(token)
                .setSessionId(session)
                .build();
    }

    /** What a server needs to give the lease back after its store has lost it. */
    ResumeRequest resumption() {
        return ResumeRequest.newBuilder()
                .setLock(lock)
                .setGrantId(grant)
                .setToken(token)
                .setSessionId(session)
                .setSessionGen(1)
                .setSequencer(sequencer)
                .setRequestId(REQUEST_ID)
                .setTtlMillis(ttlMillis)
                .setLockDelayMillis(lockDelayMillis)
                .setLockAtLeastForMillis(lockAtLeastForMillis)
                .setPurpose(purpose)
                .setOwner(owner)
                .build();
    }

    /** Not the text: it would end up in a log. */
    @Override
    public String toString() {
        return "LeaseCredential(" + lock + ", token " + token + ")";
    }
}
