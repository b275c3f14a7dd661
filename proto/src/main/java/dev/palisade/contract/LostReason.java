package dev.palisade.contract;

/** Why a lease ended without being released by its holder. */
public enum LostReason {
    /** The server let the lease expire: it heard no keep-alive for a whole ttl. */
    EXPIRED,
    /** The server took this client for dead after its stream broke, and freed its locks. */
    ABANDONED,
    /** An operator ended the lease. */
    FORCE_RELEASED,
    /** The server has no record of the grant, for instance after it lost data. */
    UNKNOWN_TO_SERVER,
    /**
     * No keep-alive was confirmed before the local deadline, also because every server rejected the client. The server may think
     * otherwise; the holder must stop.
     */
    SERVER_UNREACHABLE,
    /** The client was closed while the lease was held. */
    CLIENT_CLOSED
}
