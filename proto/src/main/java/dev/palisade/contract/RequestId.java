package dev.palisade.contract;

/**
 * Names one acquire of a lock for ever. The same id for the same lock is the same request and gets the same answer.
 *
 * @param session of the requester
 * @param number unique within the session, 1 to 2^63 - 1
 */
public record RequestId(SessionId session, long number) {
    /** @throws RejectedException MALFORMED_REQUEST when {@code number} is below 1 */
    public RequestId {
        number = checked(number);
    }

    /**
     * Returns {@code number} if it can be a request's.
     *
     * @param number as it was sent, where it has no sign
     * @throws RejectedException MALFORMED_REQUEST when it is 0 or more than 2^63 - 1
     */
    public static long checked(long number) {
        if (number < 1) {
            throw RejectedException.malformed("request id is " + Long.toUnsignedString(number)
                    + "; use 1 to 9223372036854775807, a new one per acquire");
        }
        return number;
    }

    @Override
    public String toString() {
        return session + "#" + number;
    }
}
