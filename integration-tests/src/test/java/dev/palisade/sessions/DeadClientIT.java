package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireResult;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LostReason;
import dev.palisade.faults.Link;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.sessions.Scene.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A dead client's locks are free within the grace, a living one keeps what it can come back for, and one that was wrongly
 * thought dead does no harm (requirement A6).
 */
class DeadClientIT {
    private static final String LOCK = "job/1";
    private static final Duration GRACE = Duration.ofSeconds(1);
    private static final int MANY = 1_000;

    @Nullable
    private Scene opened;

    private Scene scene(String... options) {
        opened = new Scene(options);
        return opened;
    }

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aKilledProcessIsNeitherHolderNorWaiterAnyMoreAfterTheGraceAndASecond() throws InterruptedException {
        Scene scene = scene();
        PalisadeClient living = scene.client("living", scene.address());
        Watched held = Scene.take(living, "job/2", 60_000);
        Child dead = scene.tenant("dead", scene.address(), Map.of());
        dead.send("take " + LOCK + " 60000 20000");
        dead.await(line -> line.startsWith("granted "));
        dead.send("take job/2 60000 60000");
        Scene.eventually().until(() -> scene.waiting("job/2").equals(List.of("dead")));

        long start = System.nanoTime();
        dead.kill();

        Scene.eventually()
                .atMost(GRACE.plusSeconds(1).plus(Scene.SLACK))
                .until(() -> scene.describe(LOCK).holders().isEmpty()
                        && scene.waiting("job/2").isEmpty());
        Duration took = Scene.since(start);
        System.out.println("a killed client's lock and place were free after " + took.toMillis() + " ms");
        assertThat(took).as("not before it could come back").isGreaterThanOrEqualTo(GRACE);
        assertThat(scene.history(LOCK, "ABANDONED")).hasSize(1);
        assertThat(held.lease().isValid()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"the link is cut", "the server is killed"})
    @Execution(ExecutionMode.CONCURRENT)
    void aThousandLeasesAreKeptWhen(String what) throws InterruptedException {
        Scene scene = scene();
        Link link = scene.link();
        PalisadeClient client = scene.client("holder", link.address());
        List<CompletableFuture<AcquireResult>> wanted = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            wanted.add(client.acquireAsync("many/" + i, Scene.options(30_000, 30_000)));
        }
        List<Watched> held = wanted.stream().map(Scene::await).toList();

        long start = System.nanoTime();
        if (what.startsWith("the link")) {
            link.cut();
        } else {
            scene.restartServer(Map.of());
        }
        Scene.eventually().until(() -> !scene.history("many/0", "RESUMED").isEmpty());
        System.out.println("resumed " + Scene.since(start).toMillis() + " ms after " + what);

        // Past the grace of the broken stream, and past what was left of any lease.
        Scene.eventually()
                .during(Duration.ofSeconds(11))
                .until(() -> held.stream().allMatch(lease -> lease.lease().isValid()));
        assertThat(held).allSatisfy(lease -> assertThat(lease.loss()).isNotDone());
        Map<String, Long> tokens = new HashMap<>();
        scene.operations()
                .list("many/")
                .forEach(lock -> tokens.put(
                        lock.lock().value(), lock.holders().get(0).token().value()));
        assertThat(tokens).hasSize(MANY);
        assertThat(held)
                .allSatisfy(lease ->
                        assertThat(tokens.get(lease.lease().lock().value())).isEqualTo(lease.token()));
        assertThat(scene.history("many/999", "RESUMED")).isNotEmpty();
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aHundredClientsThatLostTheirServerAtOnceAllComeBackAndLoseNothing() {
        Scene scene = scene();
        List<CompletableFuture<AcquireResult>> wanted = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            wanted.add(Scene.queue(scene.client("client " + i, scene.address()), "each/" + i, 120_000));
        }
        List<Watched> held = wanted.stream().map(Scene::await).toList();

        scene.restartServer(Map.of());
        long start = System.nanoTime();
        for (int i = 0; i < 100; i++) {
            String lock = "each/" + i;
            Scene.eventually().until(() -> !scene.history(lock, "RESUMED").isEmpty());
        }
        // A second or two on an idle machine. On a busy one a hundred handshakes take longer than the time for one.
        assertThat(Scene.since(start)).isLessThan(Duration.ofSeconds(60));
        System.out.println("a hundred clients were back " + Scene.since(start).toMillis() + " ms after the server");

        Scene.eventually()
                .during(GRACE.plusSeconds(1))
                .until(() -> held.stream().allMatch(lease -> lease.lease().isValid()));
        assertThat(held).allSatisfy(lease -> assertThat(lease.loss()).isNotDone());
        assertThat(scene.operations().list("each/")).hasSize(100);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aClientWronglyThoughtDeadIsToldSoAndItsOldTokenIsRefused() {
        Scene scene = scene();
        Installation.Service objects = scene.objects();
        Link link = scene.link();
        Child former = scene.actor("former", link.address(), objects);
        Child next = scene.actor("next", scene.address(), objects);
        long token = token(former.ask("acquire " + LOCK + " 60000 0"));
        assertThat(former.ask("write " + LOCK + " first")).startsWith("written ");
        next.send("acquire " + LOCK + " 60000 30000");
        Scene.eventually().until(() -> scene.waiting(LOCK).equals(List.of("next")));

        link.refuse(true);
        link.cut();
        assertThat(token(next.await(line -> true))).isGreaterThan(token);
        assertThat(former.ask("valid")).as("it cannot know yet").isEqualTo("valid true");
        assertThat(next.ask("write " + LOCK + " second")).startsWith("written ");
        assertThat(former.ask("write " + LOCK + " late")).startsWith("refused TOKEN_STALE ");
        link.refuse(false);

        Scene.eventually().until(() -> former.ask("valid").equals("valid false " + LostReason.ABANDONED));
        assertThat(former.ask("write " + LOCK + " later")).startsWith("refused TOKEN_STALE ");
        assertThat(next.ask("look " + LOCK)).endsWith(" second");
        assertThat(next.ask("valid")).isEqualTo("valid true");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aFrozenLinkIsEndedByTheLeaseAndNotByTheGrace() throws InterruptedException {
        Scene scene = scene();
        Link link = scene.link();
        Watched held = Scene.take(scene.client("holder", link.address()), LOCK, 5_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, 5_000);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        link.freeze(Link.Way.values());
        Watched next = Scene.await(wait);

        assertThat(scene.history(LOCK, "EXPIRED")).hasSize(1);
        assertThat(scene.history(LOCK, "ABANDONED")).isEmpty();
        assertThat(held.awaitLoss().atNanos()).isLessThan(next.gotNanos());
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void whoKeepsLeasesOnDisconnectLosesThemOnlyByTheirEnd() throws InterruptedException {
        Scene scene = scene();
        Link link = scene.link();
        PalisadeClient holder = scene.client("holder", link.address(), builder -> builder.keepLeasesOnDisconnect(true));
        Watched held = Scene.take(holder, LOCK, 5_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, 5_000);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        link.refuse(true);
        link.cut();
        Watched next = Scene.await(wait);

        assertThat(scene.history(LOCK, "EXPIRED")).hasSize(1);
        assertThat(scene.history(LOCK, "ABANDONED")).isEmpty();
        assertThat(held.awaitLoss().atNanos()).isLessThan(next.gotNanos());
    }

    /** To the server an offer is no lease, so more than the usual safety begins with the accept. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Execution(ExecutionMode.CONCURRENT)
    void whoIsCutOffAsItIsGrantedIsTheOnlyHolderToItsDeadline(boolean keepsLeases) {
        Scene scene = scene();
        Link link = scene.link();
        Watched before = Scene.take(scene.client("before", scene.address()), LOCK, 60_000);
        PalisadeClient client = scene.client(
                "cut off",
                link.address(),
                builder -> builder.keepLeasesOnDisconnect(keepsLeases).callbackExecutor(Runnable::run));
        Duration lockDelay = Duration.ofSeconds(keepsLeases ? 0 : 10);
        CompletableFuture<Watched> cutOff = client.acquireAsync(
                        LOCK, Scene.options(5_000, 60_000).purpose("cut off").lockDelay(lockDelay))
                .thenApply(result -> {
                    link.refuse(true);
                    link.cut();
                    return Watched.of(Scene.leaseOf(result));
                });
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, 5_000);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 2);

        before.lease().close();
        Watched lost =
                cutOff.orTimeout(Scene.PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
        Watched next = Scene.await(wait);
        assertThat(lost.awaitLoss().atNanos()).isLessThan(next.gotNanos());
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void aServersLongerGraceWaitsLongerForAClient() {
        Scene scene = scene("--grace", "6s");
        Link link = scene.link();
        Watched held = Scene.take(scene.client("holder", link.address()), LOCK, 60_000);
        CompletableFuture<AcquireResult> wait = Scene.queue(scene.client("next", scene.address()), LOCK, 60_000);
        Scene.eventually().until(() -> scene.waiting(LOCK).size() == 1);

        link.refuse(true);
        link.cut();
        // Longer than the usual grace, shorter than this one.
        Scene.eventually().during(Duration.ofMillis(1_500)).until(() -> !wait.isDone());
        link.refuse(false);
        Scene.eventually().until(() -> scene.history(LOCK, "RESUMED").size() == 1);
        Scene.eventually()
                .during(Duration.ofSeconds(3))
                .until(() -> held.lease().isValid() && !wait.isDone());

        link.refuse(true);
        long start = System.nanoTime();
        link.cut();
        Scene.await(wait);
        assertThat(Scene.since(start))
                .isBetween(
                        Duration.ofMillis(5_900),
                        Duration.ofSeconds(6).plusSeconds(1).plus(Scene.SLACK));
    }

    private static long token(String line) {
        assertThat(line).startsWith("granted ");
        return Long.parseLong(line.substring("granted ".length()));
    }
}
