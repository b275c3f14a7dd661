package dev.palisade.gateway;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.TlsUnusable;
import java.io.IOException;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** TLS files of a gateway, loaded once and then watched for as long as the process lives. */
final class Tls {
    private static final Logger EVENTS = LoggerFactory.getLogger("dev.palisade.events");

    private Tls() {}

    /** Reads the files for the first time. */
    interface Loading {
        ReloadableTls at(Instant now) throws TlsUnusable;
    }

    /** @throws IOException in one line, when a file cannot be used */
    static ReloadableTls load(Loading loading) throws IOException {
        try {
            ReloadableTls tls = loading.at(Instant.now());
            EventLog events = new EventLog(EVENTS::info, EVENTS::warn, System::nanoTime, EventLog.LINES_PER_SECOND);
            // Requests on open connections are verified again one by one.
            tls.watch(events, () -> {});
            return tls;
        } catch (TlsUnusable e) {
            throw new IOException(e.message(), e);
        }
    }
}
