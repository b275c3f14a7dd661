package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.LockServers.Replies;
import dev.palisade.cli.call.RetryClock;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

@Timeout(60)
class StatusCommandTest {
    private static final StoreReply STANDBY = StoreReply.newBuilder()
            .setStandby(true)
            .setServer("standby")
            .setLog(SharedLog.newBuilder().setActive("a:1"))
            .build();

    private final List<Server> servers = new ArrayList<>();
    private final List<Long> pauses = new ArrayList<>();

    @AfterEach
    void stop() {
        servers.forEach(Server::shutdownNow);
    }

    private static StoreReply active(String server) {
        return StoreReply.newBuilder()
                .setUp(true)
                .setServer(server)
                .setLog(SharedLog.newBuilder().setActive("a:1"))
                .build();
    }

    /** A server with these replies, the last of them again and again. */
    private String server(StoreReply... replies) {
        Queue<StoreReply> left = new ArrayDeque<>(Arrays.asList(replies));
        try {
            Server server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                    .addService(new LocksGrpc.LocksImplBase() {
                        @Override
                        public synchronized void store(StoreRequest request, StreamObserver<StoreReply> out) {
                            out.onNext(left.size() > 1 ? left.remove() : left.element());
                            out.onCompleted();
                        }
                    })
                    .build()
                    .start();
            servers.add(server);
            return "127.0.0.1:" + server.getPort();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private Replies<StoreReply> ask(String... addresses) throws Exception {
        RetryClock clock = new RetryClock() {
            @Override
            public long nanos() {
                return 0;
            }

            @Override
            public void pause(long millis) {
                pauses.add(millis);
            }
        };
        try (LockServers asked = new LockServers(
                Arrays.stream(addresses).collect(Collectors.joining(",")),
                InsecureChannelCredentials.create(),
                Duration.ofSeconds(20),
                clock)) {
            return StatusCommand.ask(asked);
        }
    }

    @Test
    void activeServerIsShownWhereverItStands() throws Exception {
        Replies<StoreReply> replies = ask(server(STANDBY), server(active("server 1")));
        assertThat(StatusCommand.shown(replies.replies())).isEqualTo(active("server 1"));
        assertThat(StatusCommand.activeTotal(replies)).isEqualTo(1);
        assertThat(replies.missing()).isEmpty();
        assertThat(pauses).isEmpty();
    }

    /** As with a full store: the claim of the active server goes on, so the others remain standbys. */
    @Test
    void serverWhoseStoreIsDownIsShownBeforeStandbys() throws Exception {
        StoreReply down = StoreReply.newBuilder().setServer("server 1").build();
        assertThat(StatusCommand.shown(ask(server(STANDBY), server(down)).replies()))
                .isEqualTo(down);
    }

    @Test
    void serverThatDoesNotReplyIsNamed() throws Exception {
        Replies<StoreReply> replies = ask(server(STANDBY), "127.0.0.1:1");
        assertThat(StatusCommand.shown(replies.replies())).isEqualTo(STANDBY);
        assertThat(replies.missing()).containsExactly("the lock server at 127.0.0.1:1 did not reply");
    }

    @Test
    void severalActiveServersAreCounted() throws Exception {
        assertThat(StatusCommand.activeTotal(
                        ask(server(active("server 1")), server(STANDBY), server(active("server 2")))))
                .isEqualTo(2);
    }

    @Test
    void deposedServerHasTimeToNotice() throws Exception {
        assertThat(StatusCommand.activeTotal(ask(server(active("server 2")), server(active("server 1"), STANDBY))))
                .isEqualTo(1);
        assertThat(pauses).containsExactly(1_000L);
    }

    /** What {@code status} prints on standard output. */
    private static String printed(Replies<StoreReply> replies, String... options) throws Failed {
        StatusCommand command = new StatusCommand();
        new CommandLine(command).parseArgs(options);
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            assertThat(command.print(replies)).isEqualTo(ExitCodes.OK);
        } finally {
            System.setOut(before);
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void serversThatDoNotReplyAreListed() throws Exception {
        Replies<StoreReply> replies =
                new Replies<>(List.of(active("server 1")), List.of("the lock server at b did not reply"));
        assertThat(printed(replies).lines()).last().isEqualTo("missing: the lock server at b did not reply");
        assertThat(JsonParser.parseString(printed(replies, "--json"))
                        .getAsJsonObject()
                        .getAsJsonArray("missing"))
                .containsExactly(new JsonPrimitive("the lock server at b did not reply"));
    }

    @Test
    void severalActiveServersFailTheCommand() {
        Replies<StoreReply> replies = new Replies<>(List.of(active("server 1"), active("server 2")), List.of());
        assertThatThrownBy(() -> printed(replies, "--json"))
                .isInstanceOfSatisfying(
                        Failed.class, failed -> assertThat(failed.exitCode()).isEqualTo(ExitCodes.NO))
                .hasMessageStartingWith("2 of these lock servers are active and share no locks");
    }

    @Test
    void oneServerWithTwoAddressesIsOne() throws Exception {
        assertThat(StatusCommand.activeTotal(ask(server(active("server 1")), server(active("server 1")))))
                .isEqualTo(1);
    }
}
