package dev.palisade.server;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.server.core.Limits;
import dev.palisade.server.ownership.LogRules;
import dev.palisade.server.ownership.OwnershipMachine;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.embedded.Durability;
import dev.palisade.server.store.embedded.EmbeddedConfig;
import dev.palisade.server.store.embedded.EmbeddedStore;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LoggedStore;
import dev.palisade.server.store.log.LoggedStoreConfig;
import dev.palisade.server.store.log.SigningKeys;
import dev.palisade.server.store.postgresql.PostgresLog;
import dev.palisade.server.store.postgresql.PostgresLogConfig;
import dev.palisade.server.store.postgresql.PostgresUri;
import dev.palisade.server.store.redis.Loop;
import dev.palisade.server.store.redis.RedisLinkConfig;
import dev.palisade.server.store.redis.RedisLog;
import dev.palisade.server.store.redis.RedisLogConfig;
import dev.palisade.server.store.redis.StoreUri;
import java.security.SecureRandom;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The store that a server was told to use.
 *
 * @param loop its thread, for the clients' connections as well; to be closed when they are, after the store. Null if it has none
 * @param where it keeps locks, for people; never with a password
 * @param isClosed whether {@link LockStore#close} has come to its end
 */
record OpenedStore(LockStore store, @Nullable Loop loop, String where, BooleanSupplier isClosed) {
    /** @param keys with which this server signs; compared with those of other servers of the store, if it is one that servers share */
    static OpenedStore open(
            ServerCommand config,
            SigningKeys keys,
            Limits limits,
            SecureRandom random,
            EventLog events,
            Consumer<String> fatal)
            throws CannotStart {
        try {
            if (config.store == null) {
                return embedded(config, limits, random, events, fatal);
            }
            return PostgresUri.isOne(config.store)
                    ? postgres(config, PostgresUri.parse(config.store), keys, limits, random, events, fatal)
                    : redis(config, StoreUri.parse(config.store), keys, limits, random, events, fatal);
        } catch (StoreUnusable e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CannotStart("interrupted while the store was opened");
        }
    }

    private static OpenedStore embedded(
            ServerCommand config, Limits limits, SecureRandom random, EventLog events, Consumer<String> fatal)
            throws StoreUnusable {
        int locksMax = locksMax(config);
        LoggedStore store = EmbeddedStore.open(
                new EmbeddedConfig(
                        config.dataDir, config.durability, LoggedStoreConfig.DEFAULTS.withLocksMax(locksMax)),
                limits,
                System::currentTimeMillis,
                System::nanoTime,
                random.nextInt(),
                fatal);
        events.tell("epoch_started", "tokens_above", store.epochBase());
        tellOfExcess(store.restoredLocks(), locksMax, events);
        String survives =
                config.durability == Durability.PROCESS ? ", not synced: a power cut loses the last grants" : "";
        return new OpenedStore(
                store,
                null,
                "data directory " + config.dataDir + ", tokens above " + store.epochBase() + survives,
                store::isClosed);
    }

    private static int locksMax(ServerCommand config) {
        return config.locksMax == null
                ? LoggedStoreConfig.locksMax(Runtime.getRuntime().maxMemory())
                : config.locksMax;
    }

    /** No lock is lost for a limit: those that the journal has stay, and only new names are refused. */
    static void tellOfExcess(int restored, int locksMax, EventLog events) {
        if (restored > locksMax) {
            events.tellAlways(
                    "locks_max_exceeded",
                    "locks",
                    restored,
                    "locks_max",
                    locksMax,
                    "message",
                    "the journal has more locks than --locks-max; all of them are kept, and acquires of other names are"
                            + " refused; start with a larger heap (-Xmx) or --locks-max");
        }
    }

    private static OpenedStore redis(
            ServerCommand config,
            StoreUri uri,
            SigningKeys keys,
            Limits limits,
            SecureRandom random,
            EventLog events,
            Consumer<String> fatal)
            throws StoreUnusable, InterruptedException {
        Loop loop = new Loop();
        boolean opened = false;
        try {
            FencedLog log = RedisLog.open(
                    new RedisLogConfig(
                            new RedisLinkConfig(uri, config.storeTimeout),
                            config.storePrefix,
                            config.advertised(),
                            start(config),
                            config.failoverGrace.toMillis(),
                            config.claim.toMillis(),
                            LogRules.SETTLE_MILLIS,
                            settings(config)),
                    keys,
                    loop,
                    random,
                    events);
            OpenedStore store = shared(config, log, loop, limits, random, fatal);
            opened = true;
            return store;
        } finally {
            if (!opened) {
                loop.close();
            }
        }
    }

    private static RedisLogConfig.Start start(ServerCommand config) {
        if (config.fromFunctions) {
            return RedisLogConfig.Start.FROM_FUNCTIONS;
        }
        return config.init ? RedisLogConfig.Start.NEW : RedisLogConfig.Start.CAREFUL;
    }

    /** Those that all servers of a store should have: each may be active next. */
    private static String settings(ServerCommand config) {
        return "--claim " + DurationOption.text(config.claim)
                + " --failover-grace " + DurationOption.text(config.failoverGrace)
                + " --after-loss " + config.afterLoss.name().toLowerCase(Locale.ROOT);
    }

    private static OpenedStore postgres(
            ServerCommand config,
            PostgresUri uri,
            SigningKeys keys,
            Limits limits,
            SecureRandom random,
            EventLog events,
            Consumer<String> fatal)
            throws StoreUnusable {
        FencedLog log = PostgresLog.open(
                new PostgresLogConfig(
                        uri,
                        config.storeTimeout,
                        config.storePrefix,
                        config.advertised(),
                        config.init,
                        config.failoverGrace.toMillis(),
                        config.claim.toMillis(),
                        LogRules.SETTLE_MILLIS,
                        settings(config)),
                keys,
                random,
                events);
        return shared(config, log, null, limits, random, fatal);
    }

    private static OpenedStore shared(
            ServerCommand config,
            FencedLog log,
            @Nullable Loop loop,
            Limits limits,
            SecureRandom random,
            Consumer<String> fatal) {
        LoggedStore store = LoggedStore.share(
                LoggedStoreConfig.DEFAULTS.withLocksMax(locksMax(config)),
                limits,
                log,
                new OwnershipMachine.Settings(
                        config.claim.toMillis(), config.storeTimeout.toMillis(), config.afterLoss == AfterLoss.RESUME),
                System::nanoTime,
                random::nextInt,
                fatal);
        return new OpenedStore(
                store,
                loop,
                "store " + log.where() + ", a log; clients reach this server at " + config.advertised(),
                () -> true);
    }
}
