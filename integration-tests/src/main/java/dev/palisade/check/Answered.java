package dev.palisade.check;

/**
 * A request that was answered with a grant.
 *
 * @param request the session and the number of the request in it
 * @param grant the grant in hexadecimal digits
 * @param askedNanos before it was asked, this time
 * @param answeredNanos after it was answered
 */
public record Answered(
        String client, String lock, String request, long token, String grant, long askedNanos, long answeredNanos) {}
