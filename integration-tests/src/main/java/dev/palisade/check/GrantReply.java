package dev.palisade.check;

/**
 * Reply that granted a request.
 *
 * @param request session and number of the request
 * @param grant id in hexadecimal digits
 * @param askedNanos before this request was sent
 * @param answeredNanos after the reply
 */
public record GrantReply(
        String client, String lock, String request, long token, String grant, long askedNanos, long answeredNanos) {}
