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
 * A client process of a random run with several logical clients, until the line {@code stop}. The last logical client
 * sends unary calls; the others share one session. By design it never checks whether its lease is still valid.
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
                LeaseMonitor monitor = new LeaseMonitor(history)) {
            long seed = Long.parseLong(args[4]);
            int logical = Integer.parseInt(args[5]);
            Locks locks = new Locks(Integer.parseInt(args[6]));
            List<Runnable> workloads = new ArrayList<>();
            StopLatch stopLatch = new StopLatch();
            for (int i = 0; i < logical - 1; i++) {
                workloads.add(new Workload(
                        args[0] + "." + i,
                        client,
                        new GuardedObjects(objects, history),
                        history,
                        monitor,
                        locks,
                        new Random(seed * 31 + i),
                        stopLatch));
            }
            workloads.add(new UnaryWorkload(
                    args[0] + "." + (logical - 1), servers, history, locks, new Random(seed * 31 - 1), stopLatch));
            run(workloads, stopLatch);
        } finally {
            servers.forEach(ManagedChannel::shutdownNow);
            objects.shutdownNow();
        }
        System.out.println("done");
    }

    private static void run(List<Runnable> workloads, StopLatch stopLatch) throws IOException, InterruptedException {
        // The parent process compares the number with its own clock.
        System.out.println("ready " + System.nanoTime());
        List<Thread> threads = new ArrayList<>();
        for (Runnable workload : workloads) {
            Thread thread = new Thread(workload, "workload");
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            // Other lines are ignored.
        }
        stopLatch.stop();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static ManagedChannel channel(String address) {
        return Grpc.newChannelBuilder(address, InsecureChannelCredentials.create())
                .build();
    }
}
