package dev.palisade.server.metrics;

import com.google.common.base.CaseFormat;
import dev.palisade.server.core.Command;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A kind of request to the store, as a label. */
enum StoreCommand {
    ACQUIRE,
    ACCEPT,
    RENEW,
    RELEASE,
    LEAVE,
    EXPIRE,
    ABANDON,
    RESUME,
    RECLAIM,
    DESCRIBE,
    REQUEST_RELEASE,
    FORCE_RELEASE,
    CHECK_SEQUENCER,
    BARRIER,
    LIST,
    HISTORY;

    private static final Map<Class<?>, StoreCommand> BY_TYPE = Stream.of(Command.class.getPermittedSubclasses())
            .collect(Collectors.toUnmodifiableMap(type -> type, StoreCommand::named));

    private static StoreCommand named(Class<?> type) {
        return valueOf(CaseFormat.UPPER_CAMEL.to(CaseFormat.UPPER_UNDERSCORE, type.getSimpleName()));
    }

    static StoreCommand of(Class<? extends Command> type) {
        return Objects.requireNonNull(BY_TYPE.get(type), type.getName());
    }
}
