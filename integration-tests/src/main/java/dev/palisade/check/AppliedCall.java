package dev.palisade.check;

/**
 * Row of the storage's log of applied calls. Rows of one resource are in the order of application.
 *
 * @param seq number of the row
 * @param resource that has the mark
 * @param key of the object
 * @param write whether it changed the object; otherwise it was a read
 * @param shared whether its grant was SHARED
 * @param token of the grant; 0 without a sequencer
 * @param grant id in hexadecimal digits; empty without a sequencer
 * @param contentHash SHA-256 of the written content; empty for a read
 */
public record AppliedCall(
        long seq,
        String resource,
        String key,
        boolean write,
        boolean shared,
        long token,
        String grant,
        String contentHash) {
    @Override
    public String toString() {
        return "row " + seq + " (" + (shared ? "SHARED " : "") + (write ? "write" : "read") + " of " + resource
                + ", token " + token + ", grant " + (grant.length() > 8 ? grant.substring(0, 8) : grant) + ")";
    }
}
