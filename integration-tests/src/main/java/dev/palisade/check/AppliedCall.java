package dev.palisade.check;

/**
 * One row of the storage's applied-log. Rows of one resource come in the order in which they were applied.
 *
 * @param seq the row's number
 * @param resource what the mark belongs to
 * @param key the object
 * @param write whether it changed the object; otherwise it only told what is there
 * @param shared whether a SHARED grant made it
 * @param token the grant's token; 0 when the call came without a sequencer
 * @param grant the grant in hexadecimal digits; empty when the call came without a sequencer
 * @param contentHash SHA-256 of what was written; empty when nothing was
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
