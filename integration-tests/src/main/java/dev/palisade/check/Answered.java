package dev.palisade.check;

/**
 * A request that was answered with a grant.
 *
 * @param request the session and the number of the request in it
 * @param grant the grant in hexadecimal digits
 */
public record Answered(String client, String lock, String request, long token, String grant) {}
