package dev.palisade.server.store.redis;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Asks all Sentinels who the primary is, and believes the newest configuration that a majority of them knows of. Fewer, if no more
 * answer in time, are believed only if theirs is not older than the last: they may be cut off together with a primary of yesterday. So
 * what they say is enough to go on there, and {@linkplain #confirms not enough} for a new epoch.
 */
final class Sentinels implements Topology {
    private final StoreUri uri;
    private final TopologyProbes probes;
    private long newestEpoch = -1;

    Sentinels(StoreUri uri, Connector connector) {
        this.uri = uri;
        probes = new TopologyProbes(connector::connectSentinel);
    }

    @Override
    public boolean changes() {
        return true;
    }

    @Override
    public CompletableFuture<Address> read() {
        return poll().result.thenApply(this::believe);
    }

    @Override
    public CompletableFuture<Boolean> confirms(Address primary) {
        Poll poll = poll();
        return poll.result.handle((known, failure) ->
                failure == null && poll.hasMajority() && believe(known).equals(primary));
    }

    private Address believe(Known known) {
        newestEpoch = known.configEpoch;
        return known.primary;
    }

    private Poll poll() {
        Poll poll = new Poll(uri.addresses().size());
        for (Address sentinel : uri.addresses()) {
            var unusedEnd = probes.ask(sentinel, "SENTINEL", "MASTER", uri.primaryName())
                    .thenApply(Known::parse)
                    .whenComplete((known, failure) -> {
                        if (failure == null) {
                            poll.answered(known);
                        } else {
                            poll.failed(line(sentinel, RedisUnusable.of(failure)));
                        }
                    });
        }
        return poll;
    }

    private String line(Address sentinel, RedisUnusable refusal) {
        String error = refusal.error();
        if (error != null && error.contains("No such master")) {
            return "Sentinel " + sentinel + " knows no primary named " + uri.primaryName()
                    + "; name it as in its 'sentinel monitor NAME', after the # of the URI";
        }
        return String.valueOf(refusal.getMessage()).replaceFirst("^Redis", "Sentinel");
    }

    private record Known(Address primary, long configEpoch) {
        static Known parse(List<Object> answer) {
            Map<String, String> fields = new HashMap<>();
            for (int i = 0; i + 1 < answer.size(); i += 2) {
                fields.put(text(answer.get(i)), text(answer.get(i + 1)));
            }
            return new Known(
                    new Address(fields.getOrDefault("ip", ""), Integer.parseInt(fields.getOrDefault("port", "0"))),
                    Long.parseLong(fields.getOrDefault("config-epoch", "0")));
        }

        private static String text(Object value) {
            return value instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : String.valueOf(value);
        }
    }

    /** One question to all of them. */
    private final class Poll {
        private final CompletableFuture<Known> result = new CompletableFuture<>();
        private final int asked;
        private int answers;
        private int failures;
        private Known newest = new Known(new Address("", 0), -1);
        private String firstFailure = "";

        Poll(int asked) {
            this.asked = asked;
        }

        void answered(Known known) {
            answers++;
            if (known.configEpoch > newest.configEpoch) {
                newest = known;
            }
            settle();
        }

        void failed(String line) {
            failures++;
            firstFailure = firstFailure.isEmpty() ? line : firstFailure;
            settle();
        }

        boolean hasMajority() {
            return answers > asked / 2;
        }

        private void settle() {
            if (!hasMajority() && answers + failures < asked) {
                return;
            }
            if (answers == 0) {
                result.completeExceptionally(RedisUnusable.of(firstFailure));
            } else if (newest.configEpoch < newestEpoch && !hasMajority()) {
                result.completeExceptionally(RedisUnusable.of("the Sentinels that answer know an older primary only, "
                        + newest.primary + "; see that a majority of them can be reached"));
            } else {
                result.complete(newest);
            }
        }
    }
}
