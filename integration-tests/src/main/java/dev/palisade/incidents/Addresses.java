package dev.palisade.incidents;

/** How an application reaches each node: by a link of its own. */
interface Addresses {
    /** HOST:PORT. */
    String of(Node node);
}
