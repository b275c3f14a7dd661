package dev.palisade.contract;

/**
 * Names one acquire for ever. The same id again is the same request and gets the same answer.
 *
 * @param session who asks
 * @param number unique within the session, 1 or more
 */
public record RequestId(SessionId session, long number) {
    /** @throws RejectedException MALFORMED_REQUEST when {@code number} is below 1 */
    public RequestId {
        if (number < 1) {
            throw RejectedException.malformed("request id is " + number + "; use 1 or more, a new one per acquire");
        }
    }

    @Override
    public String toString() {
        return session + "#" + number;
    }
}
