package dev.palisade.server.ownership;

/** Why an append was not acknowledged. */
public enum AppendFailure {
    /** No diagnosis: cut off, timed out, not the owner. The batch may be stored or not. */
    UNKNOWN,
    /** A definite refusal, such as OOM or NOREPLICAS: nothing of the batch is stored. */
    REFUSED
}
