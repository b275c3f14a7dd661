package dev.palisade.server.store.redis;

import java.time.Duration;
import java.util.Collection;
import java.util.Iterator;
import java.util.stream.Collectors;

/** A {@link LinkState} that knows since when, on a clock that is read when somebody asks. */
record Condition(
        boolean up, String primary, String version, String replicationId, long sinceNanos, String lastFailure) {

    static Condition atFirst(long nowNanos) {
        return new Condition(false, "", "", "", nowNanos, "");
    }

    Condition next(boolean nextUp, Collection<Primary> linked, String failure, long nowNanos) {
        Iterator<Primary> each = linked.iterator();
        ServerInfo first = each.hasNext() ? each.next().info() : null;
        return new Condition(
                nextUp,
                linked.stream()
                        .map(primary -> primary.connection().address().toString())
                        .collect(Collectors.joining(",")),
                first == null ? "" : first.version(),
                first == null ? "" : first.replicationId(),
                nextUp == up ? sinceNanos : nowNanos,
                failure);
    }

    LinkState at(long nowNanos) {
        return new LinkState(up, primary, version, replicationId, Duration.ofNanos(nowNanos - sinceNanos), lastFailure);
    }
}
