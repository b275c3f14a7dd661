package dev.palisade.steps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.Lease;
import dev.palisade.steps.HttpCall.Reply;
import dev.palisade.steps.Site.Gateway;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The clients that call while a gateway is at fault, and after. Each of their writes is in the record. */
final class Holders {
    private final Lab lab;
    private final Site site;

    Holders(Lab lab, Site site) {
        this.lab = lab;
        this.site = site;
    }

    /**
     * Another client takes the lock, reads and writes through {@code other}; returns what it wrote.
     *
     * @param back when that gateway serves
     */
    String takeOver(Cell cell, Gateway other, CompletableFuture<Void> back) {
        cell.former.release();
        back.join();
        long end = System.nanoTime() + Waits.PATIENCE.toNanos();
        while (true) {
            Lease newer = lab.acquire(cell.key);
            cell.newerToken = newer.token().value();
            Reply reply = untilDone(() -> HttpCall.get(other.port(), cell.key, newer));
            String content = "";
            if (reply.status() == 200) {
                long value = Lab.value(reply.body()) + 1;
                String[] sent = {""};
                reply = untilDone(() -> {
                    sent[0] = lab.content(value);
                    return put(other, cell.key, newer, sent[0]);
                });
                content = sent[0];
            }
            if (reply.status() == 200) {
                return content;
            }
            // Marks may be raised when a gateway's registration has lapsed: then its leases from before are over.
            assertThat(reply.isStale() && System.nanoTime() < end)
                    .as("the newer holder's call: " + reply)
                    .isTrue();
            newer.release();
        }
    }

    private Reply put(Gateway gateway, String key, Lease lease, String content) {
        Reply reply;
        try (HttpCall call = HttpCall.put(gateway.port(), key, lease, content)
                .sendFirstHalf()
                .sendSecondHalf()) {
            reply = call.reply().join();
        } catch (IOException e) {
            reply = new Reply(0, "", true, e.toString());
        }
        lab.record(key, content, reply);
        return reply;
    }

    private static Reply untilDone(Supplier<Reply> call) {
        long end = System.nanoTime() + Waits.PATIENCE.toNanos();
        Reply reply = call.get();
        while (reply.isToBeTriedAgain() && System.nanoTime() < end) {
            reply = call.get();
        }
        return reply;
    }

    /** Why the former holder's next write is refused. */
    String refusal(Gateway gateway, Cell cell) {
        Reply reply = put(gateway, cell.key, cell.former, lab.content(100));
        return reply.reason().isEmpty() ? reply.toString() : reply.reason();
    }

    /** What overtakes a call that is withheld, and would come after one that is not. */
    void letAnotherCallPass(Gateway gateway) {
        Waits.until(() -> {
            String key = site.key();
            return put(gateway, key, lab.acquire(key), lab.content(1)).status() == 200;
        });
    }
}
