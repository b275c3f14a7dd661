package dev.palisade.examples.api;

import dev.palisade.client.Operations;
import dev.palisade.client.PalisadeClient;
import java.util.OptionalLong;

final class Operate {
    private Operate() {}

    static void run(PalisadeClient palisade) throws InterruptedException {
        // snippet
        Operations operations = palisade.operations();
        operations.list("invoices/").forEach(lock -> System.out.println(lock.lock() + " " + lock.holders()));
        if (operations.requestRelease("invoices/2026", "ada@desk", "maintenance at noon") > 0) {
            Thread.sleep(60_000); // the holder may finish first
            operations.forceRelease("invoices/2026", OptionalLong.empty(), "ada@desk", "maintenance at noon");
        }
        // end
    }
}
