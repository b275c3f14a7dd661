package dev.palisade.server.ownership;

/**
 * A lock server's claim to a log.
 *
 * @param writer fresh random bits
 * @param past of the server's memory
 * @param server id of the server's process, another one for each start
 * @param address where clients reach the server: host name and port
 * @param returning whether the server has not owned the log since its start, so that the last owner's address counts as its own
 * @param init whether an empty log may be taken for a new one ({@code --init})
 * @param damaged whether the server has owned the log and found that records of it are missing: then it is not whole
 * @param recoveryMillis length of a recovery window ({@code failover-grace})
 */
public record ClaimRequest(
        WriterId writer,
        Past past,
        String server,
        String address,
        boolean returning,
        boolean init,
        boolean damaged,
        long recoveryMillis) {}
