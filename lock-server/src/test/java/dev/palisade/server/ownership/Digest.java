package dev.palisade.server.ownership;

import java.util.List;

/** 64-bit hash of a state: two states with one hash are taken for the same state. */
final class Digest {
    private long hash = 0x9e3779b97f4a7c15L;

    Digest add(long value) {
        hash = (hash ^ value) * 0xff51afd7ed558ccdL;
        hash ^= hash >>> 32;
        return this;
    }

    Digest add(boolean value) {
        return add(value ? 1 : 2);
    }

    Digest add(Position position) {
        return add(position.writer().low()).add(position.seq());
    }

    Digest add(List<Integer> content) {
        add(content.size());
        for (int i = 0; i < content.size(); i++) {
            add(content.get(i).longValue());
        }
        return this;
    }

    Digest add(Past past) {
        add(past.term())
                .add(past.confirmed())
                .add(past.unconfirmed())
                .add(past.earlier().size());
        for (int i = 0; i < past.earlier().size(); i++) {
            add(past.earlier().get(i));
        }
        return this;
    }

    long value() {
        return hash;
    }
}
