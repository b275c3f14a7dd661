package dev.palisade.faults;

import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.FileDescriptor;
import dev.palisade.check.Marks;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.proto.v1.PutObjectRequest;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Gatekeeper;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.awaitility.Awaitility;

/**
 * A storage that admits everything, behind gateways with one register; each client calls one of them. Between
 * gateways and storage is a link that can be harmed. The storage's own log tells what was applied.
 */
final class Gateways implements Front {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    /** The promise: no call is applied later than this after an unknown outcome, or a pause or kill of its gateway. */
    private static final Duration DELTA = Duration.ofSeconds(3);

    private static final Duration LEASE = Duration.ofSeconds(2);

    private final Installation installation;
    private final int total;
    private final boolean guarded;
    private final Random random;
    private final GatewayRegister register;
    private final Service storage;
    private final Link link;
    private final List<Service> gateways = new ArrayList<>();
    private int clients;
    private String lockServer = "";

    /**
     * @param register is closed with this
     * @param guarded false: planted, the gateways forward everything
     */
    Gateways(Installation installation, GatewayRegister register, int total, boolean guarded, Random random)
            throws IOException {
        this.installation = installation;
        this.total = total;
        this.guarded = guarded;
        this.random = random;
        this.register = register;
        storage = installation.objects("--guard", "off");
        link = new Link(storage.address(), Link.Deaths.TOLD);
    }

    @Override
    public void locksAt(Service server) {
        lockServer = server.address();
        try {
            Files.write(installation.home().resolve("objects.desc"), descriptors());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Path first = config(0, "0");
        Child init = Child.start("init", command("init", first.toString()), Map.of());
        if (init.awaitExit() != 0) {
            throw new ScenarioFailed("palisade gateway init failed: " + init.remainingOutput());
        }
        for (int i = 0; i < total; i++) {
            gateways.add(start(i, "0"));
        }
    }

    private static byte[] descriptors() {
        FileDescriptorSet.Builder files = FileDescriptorSet.newBuilder();
        add(files, PutObjectRequest.getDescriptor().getFile());
        return files.build().toByteArray();
    }

    private static void add(FileDescriptorSet.Builder files, FileDescriptor file) {
        file.getDependencies().forEach(each -> add(files, each));
        if (!files.getFileList().contains(file.toProto())) {
            files.addFile(file.toProto());
        }
    }

    private Path config(int index, String port) {
        String route = guarded ? "    lock: '{message.key}'\n" : "    access: unguarded\n";
        String lines = "listen: 127.0.0.1:" + port
                + "\nprotects: counters\nkeyset: keys/sequencers.json\nlock-servers: " + lockServer
                + "\npass-sequencer: true\nlock-wait: 20s\nunknown-outcome-timeout: " + DELTA.toMillis()
                + "ms\nregister:\n  " + register.yaml() + "\n  lease: " + LEASE.toMillis()
                + "ms\n  take-over-after-lease: true\nupstream:\n  addresses: " + link.address()
                + "\n  protocol: http2\n  idle-timeout: 1s\n  descriptors: objects.desc\nroutes:\n"
                + "  - path: /palisade.v1.Objects/Get\n" + (guarded ? "    access: read\n" : "") + route
                + "  - path: /palisade.v1.Objects/Put\n" + route;
        try {
            return Files.writeString(installation.home().resolve("gateway-" + index + ".yaml"), lines);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> command(String... arguments) {
        List<String> command =
                Child.java("-jar", Installation.jar("resource-guard/gateway/target/palisade-gateway.jar"));
        command.addAll(List.of(arguments));
        return command;
    }

    private Service start(int index, String port) {
        return Service.of(Child.start(
                "gateway " + index,
                command("--config", config(index, port).toString()),
                Map.of("PALISADE_HOME", installation.home().toString())));
    }

    @Override
    public Service service() {
        return gateways.get(clients++ % gateways.size());
    }

    @Override
    public void restart(Runnable between) {
        int index = random.nextInt(gateways.size());
        gateways.get(index).child().kill();
        between.run();
        restarted(index);
    }

    private void restarted(int index) {
        gateways.set(index, start(index, gateways.get(index).port()));
    }

    @Override
    public Marks marks(String when) throws SQLException {
        return new Marks(when, register.marks());
    }

    @Override
    public void suffer(Fault fault, Gatekeeper gatekeeper) {
        switch (fault) {
            case FREEZE_BACKEND -> {
                storage.child().pause();
                Awaitility.await().atMost(PATIENCE).until(() -> register.quarantined() > 0);
                storage.child().resume(); // What it still applies, it applies within the promise.
            }
            case CUT_BACKEND -> {
                link.hold();
                Awaitility.await().atMost(PATIENCE).until(() -> link.heldBytes() > 0);
                link.cut();
                link.heal();
            }
            case FREEZE_GUARD -> freeze(random.nextInt(gateways.size()));
            default -> throw new IllegalArgumentException(fault + " is not this one's");
        }
    }

    /** It has calls under way perhaps, and is out until the others, if there are any, have ended its place. */
    private void freeze(int index) {
        Child gateway = gateways.get(index).child();
        long guards = register.guards();
        gateway.pause();
        if (gateways.size() > 1) {
            Awaitility.await().atMost(PATIENCE).until(() -> register.guards() < guards);
        } else {
            long until = System.nanoTime() + LEASE.plus(DELTA).toNanos();
            Awaitility.await().atMost(PATIENCE).until(() -> System.nanoTime() > until);
        }
        gateway.resume();
        gateway.kill(); // It admits nothing any more; its supervisor starts another.
        restarted(index);
    }

    @Override
    public void stop() {
        gateways.forEach(gateway -> gateway.child().terminate());
        link.close();
        storage.child().terminate();
    }

    @Override
    public void close() {
        gateways.forEach(gateway -> gateway.child().close());
        storage.child().close();
        link.close();
        register.close();
    }
}
