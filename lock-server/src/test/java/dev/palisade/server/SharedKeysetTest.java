package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerKeys.KeyInfo;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.OwnerKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lock servers of one store, some of which have another keyset than the others. */
class SharedKeysetTest {
    @TempDir
    Path home;

    private final RedisProcess redis = RedisProcess.start();
    private final List<RunningServer> started = new ArrayList<>();

    @AfterEach
    void stop() {
        started.forEach(RunningServer::close);
        redis.close();
    }

    private Path file(String name) {
        return home.resolve(name + ".json");
    }

    private ServerCommand config(String name, boolean init) {
        ServerCommand config = new ServerCommand();
        config.port = 0;
        config.store = redis.uri();
        config.advertise = name + ".example:7600";
        config.init = init;
        config.claim = Duration.ofSeconds(1);
        config.keyset = file(name);
        return config;
    }

    /** At an address, and with a keyset file, of its own. */
    private RunningServer start(String name) throws CannotStart {
        RunningServer server = RunningServer.start(config(name, true));
        started.add(server);
        return server;
    }

    private void stop(RunningServer server) {
        started.remove(server);
        server.close();
    }

    private KeysetFile keyset(String name) throws Exception {
        return KeysetFile.openOrCreate(file(name));
    }

    private void copyKeyset(String from, String to) throws Exception {
        Files.copy(file(from), file(to), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
    }

    private static String signing(SequencerKeys keys) {
        return keys.keys().stream()
                .filter(KeyInfo::signs)
                .map(key -> Integer.toUnsignedString(key.id()))
                .findFirst()
                .orElseThrow();
    }

    private static int newest(SequencerKeys keys) {
        return keys.keys().get(keys.keys().size() - 1).id();
    }

    private void awaitOwnerKey(String keyId) {
        await().until(() -> redis.ask("HGET", "palisade:{0}:log:head", "key_id").equals(keyId));
    }

    @Test
    void aServerWithAnotherKeysetThanTheActiveOneDoesNotStart() throws Exception {
        start("a");
        awaitOwnerKey(signing(keyset("a").keys()));
        keyset("b");
        assertThatThrownBy(() -> start("b"))
                .isInstanceOf(CannotStart.class)
                .hasMessage("lock server a.example:7600 is active and signs with key "
                        + signing(keyset("a").keys()) + ", which signing keyset " + file("b")
                        + " does not have: after a takeover guards would refuse what this server signs; copy the keyset"
                        + " of a.example:7600 to this file, then start again");
        copyKeyset("a", "b");
        start("b");
    }

    @Test
    void aServerWithAnotherKeysetThanTheLastOwnerDoesNotStart() throws Exception {
        stop(start("a"));
        keyset("b");
        assertThatThrownBy(() -> start("b"))
                .isInstanceOf(CannotStart.class)
                .hasMessageStartingWith("lock server a.example:7600 was active last and signed with key "
                        + signing(keyset("a").keys()) + ", which signing keyset " + file("b") + " does not have:")
                .hasMessageContaining("If no copy is left, use another --store-prefix");
        Files.delete(file("a"));
        keyset("a");
        assertThatThrownBy(() -> start("a"))
                .as("at the address of the last owner")
                .isInstanceOf(CannotStart.class)
                .hasMessageContaining("was active last");
    }

    @Test
    void onlyTheFirstStartOnAStoreMakesAKeyset() throws Exception {
        assertThatThrownBy(() -> RunningServer.start(config("b", false)))
                .isInstanceOf(CannotStart.class)
                .hasMessage("signing keyset " + file("b")
                        + " does not exist; lock servers of one store have the same: copy that of another one, or of a"
                        + " guard, or name it with --keyset. Only the first start on a store, with --init, makes one");
        assertThat(file("b")).doesNotExist();
        start("a");
        assertThat(file("a")).exists();
    }

    /** Each finds an empty log, and makes a keyset. */
    @Test
    void ofTwoServersThatStartAtOnceOnlyOneStarts() {
        List<CompletableFuture<Throwable>> starts = Stream.of("a", "b")
                .map(name -> CompletableFuture.supplyAsync(() -> catchThrowable(() -> {
                    RunningServer server = RunningServer.start(config(name, true));
                    synchronized (started) {
                        started.add(server);
                    }
                })))
                .toList();
        List<Throwable> failures = new ArrayList<>();
        starts.forEach(each -> failures.add(each.join()));
        assertThat(failures)
                .filteredOn(failure -> failure != null)
                .singleElement()
                .isInstanceOfSatisfying(
                        CannotStart.class,
                        refused -> assertThat(refused.getMessage()).contains(".example:7600 is active and signs with"));
    }

    @Test
    void rotationInTheOrderOfTheGuideRefusesNoServer() throws Exception {
        start("a");
        KeysetFile keys = keyset("a");
        int old = newest(keys.keys());
        keys.replace(keys.keys().withNewKey());
        int fresh = newest(keys.keys());
        copyKeyset("a", "b");
        RunningServer b = start("b");
        stop(b);
        keys.replace(keys.keys().promote(fresh));
        awaitOwnerKey(Integer.toUnsignedString(fresh));
        b = start("b"); // With the copy from before.
        stop(b);
        keys.replace(keys.keys().retire(old));
        copyKeyset("a", "b");
        start("b");
    }

    @Test
    void aProcessWithAnotherKeysetEndsWithOneLine() throws Exception {
        start("a");
        awaitOwnerKey(signing(keyset("a").keys()));
        keyset("b");
        String[] arguments = {
            "server", "--port", "0", "--store", redis.uri(), "--advertise", "b.example:7600", "--keyset", "" + file("b")
        };
        try (ServerProcess server = ServerProcess.start(home, Map.of(), arguments)) {
            assertThat(server.exitCode()).isEqualTo(3);
            assertThat(server.err().lines())
                    .filteredOn(line -> !line.contains(" INFO  events: "))
                    .singleElement()
                    .asString()
                    .startsWith("palisade server: lock server a.example:7600 is active and signs with key ");
            assertThat(server.out()).doesNotContain("listening on");
        }
        copyKeyset("a", "b");
        try (ServerProcess server = ServerProcess.start(home, Map.of(), arguments)) {
            assertThat(server.port()).isPositive();
        }
    }

    // ---- a server that runs

    private static OwnerKey active(String keyId) {
        return new OwnerKey("a.example:7600", keyId, true);
    }

    @Test
    void aStandbyWarnsOnceOfEachKeyThatItLacks() throws Exception {
        List<String> warnings = new ArrayList<>();
        KeysetFile own = keyset("b");
        SharedKeyset keys =
                new SharedKeyset(own, new EventLog(line -> {}, warnings::add, () -> 0, EventLog.LINES_PER_SECOND));
        String known = signing(own.keys());
        assertThat(keys.keyId()).isEqualTo(known);
        keys.replied(Optional.of(active(known)));
        keys.awaitFirstReply(Duration.ZERO);
        keys.replied(Optional.of(active("")));
        assertThat(warnings).isEmpty();
        for (String keyId : List.of("7", "7", "8", "8")) {
            keys.replied(Optional.of(active(keyId)));
            keys.replied(Optional.empty());
        }
        assertThat(warnings).hasSize(2);
        assertThat(warnings.get(0))
                .startsWith("event=keyset_differs active=a.example:7600 key=7 message=")
                .contains("signing keyset " + file("b") + " does not have", "copy the keyset of a.example:7600");
        assertThat(warnings.get(1)).contains(" key=8 ");
        keys.replied(Optional.of(active(known)));
        keys.replied(Optional.of(active("8")));
        assertThat(warnings).hasSize(3);
    }

    @Test
    void theReplyToTheFirstClaimDecidesAboutTheStart() throws Exception {
        List<String> warnings = new ArrayList<>();
        SharedKeyset keys = new SharedKeyset(
                keyset("b"), new EventLog(warnings::add, warnings::add, () -> 0, EventLog.LINES_PER_SECOND));
        keys.replied(Optional.of(active("7")));
        keys.replied(Optional.of(active("7")));
        assertThatThrownBy(() -> keys.awaitFirstReply(Duration.ofMinutes(1)))
                .isInstanceOf(CannotStart.class)
                .hasMessageContaining("is active and signs with key 7");
        assertThat(warnings).as("a refusal is enough").isEmpty();
        assertThatThrownBy(() -> keys.check(active("7"))).isInstanceOf(StoreUnusable.class);
    }

    @Test
    void aStartContinuesWithoutAReplyAndThenWarns() throws Exception {
        List<String> warnings = new ArrayList<>();
        SharedKeyset keys = new SharedKeyset(
                keyset("b"), new EventLog(line -> {}, warnings::add, () -> 0, EventLog.LINES_PER_SECOND));
        keys.awaitFirstReply(Duration.ofMillis(1));
        keys.replied(Optional.of(active("7")));
        assertThat(warnings).hasSize(1);
    }
}
