package dev.palisade.faults;

import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.GuardedObjects;
import dev.palisade.scenario.History;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * A client process of a random run: several logical clients, of which the last asks by unary calls and the others share one
 * session, until the line {@code stop}. It is careless on purpose: it never looks whether its lease is still valid.
 *
 * <pre>
 * BusyClient NAME SERVER[,SERVER] OBJECTS HISTORY_FILE SEED LOGICAL_CLIENTS LOCKS
 * </pre>
 */
public final class BusyClient {
    private BusyClient() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        List<ManagedChannel> servers =
                Arrays.stream(args[1].split(",")).map(BusyClient::channel).toList();
        ManagedChannel objects = channel(args[2]);
        History history = History.silent(args[0], Path.of(args[3]));
        try (PalisadeClient client = PalisadeClient.builder()
                        .servers(args[1].split(","))
                        .owner(args[0])
                        .build();
                LeaseWatch watch = new LeaseWatch(history)) {
            long seed = Long.parseLong(args[4]);
            int logical = Integer.parseInt(args[5]);
            Locks locks = new Locks(Integer.parseInt(args[6]));
            List<Runnable> visitors = new ArrayList<>();
            Stopping stopping = new Stopping();
            for (int i = 0; i < logical - 1; i++) {
                visitors.add(new Visitor(
                        args[0] + "." + i,
                        client,
                        new GuardedObjects(objects, history),
                        history,
                        watch,
                        locks,
                        new Random(seed * 31 + i),
                        stopping));
            }
            visitors.add(new UnaryVisitor(
                    args[0] + "." + (logical - 1), servers, history, locks, new Random(seed * 31 - 1), stopping));
            run(visitors, stopping);
        } finally {
            servers.forEach(ManagedChannel::shutdownNow);
            objects.shutdownNow();
        }
        System.out.println("done");
    }

    private static void run(List<Runnable> visitors, Stopping stopping) throws IOException, InterruptedException {
        // Whoever started this compares the number with its own clock.
        System.out.println("ready " + System.nanoTime());
        List<Thread> threads = new ArrayList<>();
        for (Runnable visitor : visitors) {
            Thread thread = new Thread(visitor, "visitor");
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            // Nothing else is said to it.
        }
        stopping.stop();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static ManagedChannel channel(String address) {
        return Grpc.newChannelBuilder(address, InsecureChannelCredentials.create())
                .build();
    }
}
