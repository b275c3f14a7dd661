package dev.palisade.scenario;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Files of a secured installation: an authority and its certificates by the JDK's keytool, a policy, and the Ed25519 keyset of
 * a guard group. The certificates are valid for a day, and all files stay in the installation's home.
 */
final class SecuredHome {
    private static final String CACERT = "PALISADE_CACERT";
    private static final String CERT = "PALISADE_CERT";
    private static final String KEY = "PALISADE_KEY";
    private static final String GROUP = "stock";

    private final Path folder;

    private SecuredHome(Path folder) {
        this.folder = folder;
    }

    /** @param clients who may acquire the locks below {@code stock/}, and nothing else */
    static SecuredHome make(Path folder, List<String> clients) {
        SecuredHome made = new SecuredHome(folder);
        try {
            Files.createDirectories(folder);
            made.certificates(clients);
            made.keyset();
            made.write(
                    "policy.conf",
                    clients.stream()
                            .map(client -> "allow dns:" + hostOf(client) + " acquire,describe stock/*\n")
                            .collect(Collectors.joining()));
            return made;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String hostOf(String client) {
        return client.toLowerCase(Locale.ROOT) + ".demo";
    }

    List<String> serverOptions() {
        List<String> options = listening();
        options.addAll(List.of("--policy", path("policy.conf"), "--guard-groups", path("groups.conf")));
        return options;
    }

    List<String> objectsOptions() {
        List<String> options = listening();
        options.addAll(List.of("--audience", GROUP, "--keyset", path("stock.public.json")));
        return options;
    }

    private List<String> listening() {
        return new ArrayList<>(List.of(
                "--tls-cert",
                path("server.pem"),
                "--tls-key",
                path("server.key"),
                "--tls-client-ca",
                path("authority.pem")));
    }

    /** For the process of that client, which finds its credentials there. */
    Map<String, String> environment(String client) {
        return Map.of(CACERT, path("authority.pem"), CERT, path(client + ".pem"), KEY, path(client + ".key"));
    }

    /** Credentials by {@link #environment}; where that names none, plaintext. */
    static ChannelCredentials credentials(Map<String, String> environment) {
        if (!environment.containsKey(CACERT)) {
            return InsecureChannelCredentials.create();
        }
        try {
            return TlsChannelCredentials.newBuilder()
                    .trustManager(Path.of(environment.get(CACERT)).toFile())
                    .keyManager(
                            Path.of(environment.get(CERT)).toFile(),
                            Path.of(environment.get(KEY)).toFile())
                    .build();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void certificates(List<String> clients) throws IOException {
        byte[] random = new byte[18];
        new SecureRandom().nextBytes(random);
        String password = Base64.getUrlEncoder().encodeToString(random);
        Path store = file("certificates.p12");
        keytool(store, password, "authority", "bc:c");
        keytool(store, password, "server", "san=dns:localhost,ip:127.0.0.1", "-signer", "authority");
        for (String client : clients) {
            keytool(store, password, client, "san=dns:" + hostOf(client), "-signer", "authority");
        }
        try {
            KeyStore made = KeyStore.getInstance(store.toFile(), password.toCharArray());
            pem("authority.pem", "CERTIFICATE", made.getCertificate("authority").getEncoded());
            List<String> owners = new ArrayList<>(clients);
            owners.add("server");
            for (String owner : owners) {
                pem(owner + ".pem", "CERTIFICATE", made.getCertificate(owner).getEncoded());
                pem(
                        owner + ".key",
                        "PRIVATE KEY",
                        made.getKey(owner, password.toCharArray()).getEncoded());
            }
        } catch (GeneralSecurityException e) {
            throw new ScenarioFailed("keytool made what this JVM cannot read: " + e.getMessage());
        }
        Files.delete(store);
    }

    /** Adds a key and its certificate to {@code store}; the password is in the environment, which others cannot read. */
    private static void keytool(Path store, String password, String alias, String extension, String... more) {
        Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        if (!Files.isExecutable(keytool)) {
            throw new ScenarioFailed("there is no " + keytool + "; run this with a Java that has its keytool");
        }
        List<String> command = new ArrayList<>(List.of(
                keytool.toString(),
                "-J-XX:TieredStopAtLevel=1",
                "-genkeypair",
                "-keystore",
                store.toString(),
                "-storepass:env",
                "DEMO_STOREPASS",
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-validity",
                "1",
                "-alias",
                alias,
                "-dname",
                "CN=" + alias,
                "-ext",
                extension));
        command.addAll(Arrays.asList(more));
        try (Child child = Child.start("keytool", command, Map.of("DEMO_STOREPASS", password))) {
            List<String> output = child.remainingOutput();
            if (child.awaitExit() != 0) {
                throw new ScenarioFailed("keytool failed; it printed: " + output);
            }
        }
    }

    private void keyset() throws IOException {
        KeysetFile keyset = KeysetFile.openOrCreate(file("stock.json"), SequencerKeys.Algorithm.ED25519);
        write("stock.public.json", keyset.keys().publicKeys().toJson());
        write("groups.conf", "group " + GROUP + " " + keyset.path() + "\nlocks " + GROUP + " stock/*\n");
    }

    private void pem(String name, String kind, byte[] encoded) throws IOException {
        String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(encoded);
        write(name, "-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n");
    }

    /** For its owner alone, whatever the umask: servers refuse files that others can change. */
    private void write(String name, String text) throws IOException {
        OwnerOnly.restrict(Files.writeString(file(name), text));
    }

    private Path file(String name) {
        return folder.resolve(name);
    }

    private String path(String name) {
        return file(name).toString();
    }
}
