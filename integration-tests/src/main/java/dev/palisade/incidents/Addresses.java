package dev.palisade.incidents;

/** Addresses of the nodes for one application, which has its own links. */
interface Addresses {
    /** HOST:PORT. */
    String of(Node node);
}
