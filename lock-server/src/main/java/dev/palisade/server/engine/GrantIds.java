package dev.palisade.server.engine;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import dev.palisade.server.core.LockRequest;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * Makes grant ids: 96 bits are a hash of the client's session nonce, the request and its lock, which every server can recompute; the others are a
 * hash of these and of this process's own randomness. Both sides' randomness goes in, so that neither a server nor a client restored
 * from a snapshot can make the same id for another grant. A signed grant id thus also names the session it was made for, to those that
 * know the session.
 */
final class GrantIds {
    /** Behind them are 27 bits of the server's and 5 of the turn. */
    private static final int REQUEST_BYTES = 12;

    private final byte[] serverRandom;

    GrantIds(byte[] serverRandom) {
        this.serverRandom = serverRandom.clone();
    }

    GrantId of(LockRequest request) {
        byte[] id = hash(new byte[0], request);
        System.arraycopy(hash(serverRandom, request), 0, id, REQUEST_BYTES, GrantId.BYTES - REQUEST_BYTES);
        return GrantId.of(id).turn(0);
    }

    /** Whether a server, this or another, made {@code grant} for {@code request}. */
    static boolean isOf(GrantId grant, LockRequest request) {
        return MessageDigest.isEqual(
                Arrays.copyOf(grant.toBytes(), REQUEST_BYTES),
                Arrays.copyOf(hash(new byte[0], request), REQUEST_BYTES));
    }

    private static byte[] hash(byte[] before, LockRequest request) {
        RequestId id = request.id();
        ByteBuffer asked = ByteBuffer.allocate(3 * Long.BYTES)
                .putLong(id.session().high())
                .putLong(id.session().low())
                .putLong(id.number());
        HashCode hash = Hashing.sha256()
                .newHasher()
                .putBytes(before)
                .putBytes(asked.array())
                .putString(request.lock().value(), StandardCharsets.UTF_8)
                .hash();
        return Arrays.copyOf(hash.asBytes(), GrantId.BYTES);
    }
}
