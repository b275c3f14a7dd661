package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * Makes grant ids: a hash of the client's session nonce, the request and this process's own randomness. Both sides'
 * randomness goes in, so that neither a server nor a client restored from a snapshot can make the same id for another grant.
 */
final class GrantIds {
    private final byte[] serverRandom;

    GrantIds(byte[] serverRandom) {
        this.serverRandom = serverRandom.clone();
    }

    GrantId of(RequestId request) {
        ByteBuffer asked = ByteBuffer.allocate(3 * Long.BYTES)
                .putLong(request.session().high())
                .putLong(request.session().low())
                .putLong(request.number());
        MessageDigest sha256 = sha256();
        sha256.update(serverRandom);
        return GrantId.of(Arrays.copyOf(sha256.digest(asked.array()), GrantId.BYTES))
                .turn(0);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }
}
