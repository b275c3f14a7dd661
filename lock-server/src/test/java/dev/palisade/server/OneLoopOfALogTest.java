package dev.palisade.server;

import java.time.Duration;

/** The same where the locks are in memory, over a log in Redis: the thread sends batches, and the store's own thread does what blocks. */
class OneLoopOfALogTest extends OneLoopTest {
    @Override
    void configure(ServerCommand config) {
        config.machine = RedisMachine.LOG;
        config.advertise = "localhost:7600";
        config.storeTimeout = Duration.ofSeconds(1); // So long a call waits for a batch without a reply.
    }
}
