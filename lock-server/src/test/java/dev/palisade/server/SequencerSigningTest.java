package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerKeys.Algorithm;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A lock server whose guards are in groups: what it signs for whom, and what it takes back. */
class SequencerSigningTest {
    private static final String GROUPS = """
            group payments payments.json
            group reports reports.json
            locks payments payments/*
            locks reports reports/*
            """;

    @TempDir
    Path directory;

    private KeysetFile ungrouped;
    private KeysetFile payments;
    private KeysetFile reports;

    @BeforeEach
    void makeKeysets() throws Exception {
        ungrouped = KeysetFile.openOrCreate(directory.resolve("sequencers.json"));
        payments = KeysetFile.openOrCreate(directory.resolve("payments.json"));
        reports = KeysetFile.openOrCreate(directory.resolve("reports.json"), Algorithm.ED25519);
    }

    @Test
    void everyGuardAcceptsItsGroupOnly() throws Exception {
        SequencerSigning server = server(GROUPS);
        SequencerVerifier paymentsGuard = KeysetFile.open(payments.path()).verifier("palisade", "payments");
        Path exported = exported(reports.path());
        SequencerVerifier reportsGuard = KeysetFile.open(exported).verifier("palisade", "reports");
        SequencerVerifier otherGuard = KeysetFile.open(ungrouped.path()).verifier("palisade");

        SignedSequencer payment = server.sign(sequencer("payments/1"));
        SignedSequencer report = server.sign(sequencer("reports/1"));
        SignedSequencer other = server.sign(sequencer("orders/1"));
        assertThat(paymentsGuard.verify(payment))
                .isEqualTo(sequencer("payments/1").forAudience("payments"));
        assertThat(reportsGuard.verify(report)).isEqualTo(sequencer("reports/1").forAudience("reports"));
        assertThat(otherGuard.verify(other)).isEqualTo(sequencer("orders/1"));
        assertRefused(() -> paymentsGuard.verify(report), "for audience 'reports'");
        assertRefused(() -> paymentsGuard.verify(other), "without audience");
        assertRefused(() -> reportsGuard.verify(payment), "for audience 'payments'");
        assertRefused(() -> otherGuard.verify(payment), "for audience 'payments'");
    }

    /** CheckSequencer, explain and reclaim ask it. */
    @Test
    void serverAcceptsWhatItSignedWhicheverGroup() throws Exception {
        SequencerSigning server = server(GROUPS);
        for (String lock : new String[] {"payments/1", "reports/1", "orders/1"}) {
            Sequencer verified = server.verify(server.sign(sequencer(lock)));
            assertThat(verified.lock()).hasToString(lock);
            assertThat(verified.token()).isEqualTo(new FencingToken(34));
        }
    }

    /** Each guard can sign with what it has. The server takes nothing from it for a lock of others. */
    @Test
    void serverRefusesWhatAGuardForgedForAnotherGroup() throws Exception {
        SequencerSigning server = server(GROUPS);
        assertRefused(
                () -> server.verify(payments.sign(sequencer("reports/1").forAudience("payments"))),
                "lock 'reports/1' belongs to guard group 'reports', and the sequencer is for audience 'payments'");
        assertRefused(
                () -> server.verify(payments.sign(sequencer("reports/1").forAudience("reports"))),
                "no key of the keyset made its signature");
        assertRefused(
                () -> server.verify(payments.sign(sequencer("orders/1").forAudience("payments"))),
                "lock 'orders/1' belongs to no guard group, and the sequencer is for audience 'payments'");
        assertRefused(
                () -> server.verify(ungrouped.sign(sequencer("payments/1"))),
                "lock 'payments/1' belongs to guard group 'payments', and the sequencer is without audience");
        assertRefused(
                () -> server.verify(payments.sign(sequencer("payments/1").forAudience("sales"))),
                "this lock server has no guard group 'sales'");
    }

    /** Leases that were granted before the server had groups. */
    @Test
    void previousSequencersAreAcceptedDuringAnUpgrade() throws Exception {
        SignedSequencer before = server(null).sign(sequencer("payments/1"));
        SequencerSigning server = server(GROUPS + "accept-previous payments\n");
        assertThat(server.verify(before)).isEqualTo(sequencer("payments/1"));
        assertRefused(() -> server.verify(ungrouped.sign(sequencer("reports/1"))), "without audience");
        SequencerVerifier guard = KeysetFile.open(payments.path())
                .verifier("palisade", "payments")
                .or(KeysetFile.open(ungrouped.path()).verifier("palisade"));
        assertThat(guard.verify(before)).isEqualTo(sequencer("payments/1"));
        assertThat(guard.verify(server.sign(sequencer("payments/1"))).audience())
                .contains("payments");
    }

    @Test
    void withoutGroupsNothingChanges() throws Exception {
        SequencerSigning server = server(null);
        SignedSequencer signed = server.sign(sequencer("payments/1"));
        assertThat(signed).isEqualTo(ungrouped.keys().sign(sequencer("payments/1")));
        assertThat(server.verify(signed)).isEqualTo(sequencer("payments/1"));
        assertThat(server.shown()).isEmpty();
        assertThat(server(GROUPS + "accept-previous reports\n").shown())
                .contains("guard groups payments (hmac), reports (ed25519, accepts previous)");
    }

    @Test
    void mistakesOfTheStartHaveOneLineEach() throws Exception {
        String file = directory.resolve("groups.conf") + ":1: ";
        Path key = directory.resolve("key.json");
        String group = "group payments " + key.getFileName() + "\nlocks payments payments/*\n";
        assertCannotStart(
                group, file + "signing keyset " + key + " does not exist; make it: palisade keys add --keyset " + key);
        Files.copy(exported(reports.path()), key);
        assertCannotStart(
                group,
                file + "signing keyset " + key + " has public keys only, which verify and do not sign; name the keyset"
                        + " that they were exported from");
        Files.writeString(key, payments.keys().toJson());
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-r--r--"));
        assertCannotStart(group, "can be used by others");
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        assertCannotStart(
                group + "group reports payments.json\nlocks reports reports/*\n",
                "groups.conf:3: the keyset has a key of that of group payments, so guards of both could sign for each"
                        + " other; make one with palisade keys add --keyset FILE");
        Files.writeString(key, ungrouped.keys().withNewKey().toJson());
        assertCannotStart(
                group, file + "the keyset has a key of that of locks without a group, so guards of both could");
        Files.writeString(key, "{}");
        assertCannotStart(group, file + "signing keyset " + key + " is not a usable keyset");
        assertThatThrownBy(() -> SequencerSigning.open(ungrouped, "palisade", directory.resolve("none.conf")))
                .isInstanceOf(Commands.CannotStart.class)
                .hasMessageContaining("none.conf does not exist");
    }

    /** Guards have public keys only, so it does not matter that they are the same. */
    @Test
    void groupsMayShareAnEd25519Keyset() throws Exception {
        SequencerSigning server = server("""
                group payments reports.json
                group reports reports.json
                locks payments payments/*
                locks reports reports/*
                """);
        SequencerVerifier guard = KeysetFile.open(exported(reports.path())).verifier("palisade", "payments");
        assertThat(guard.verify(server.sign(sequencer("payments/1"))).audience())
                .contains("payments");
        assertRefused(() -> guard.verify(server.sign(sequencer("reports/1"))), "for audience 'reports'");
    }

    @Test
    void keysCommandMakesAndExportsEd25519() throws Exception {
        Path file = directory.resolve("new.json");
        assertThat(keys(0, "add", "--keyset", file.toString(), "--algorithm", "ed25519"))
                .contains("signs and verifies");
        KeysetFile opened = KeysetFile.openToSign(file);
        Path exported = Files.writeString(
                directory.resolve("public.json"), keys(0, "export-public", "--keyset", file.toString()));
        assertThat(KeysetFile.open(exported).verifier("palisade").verify(opened.sign(sequencer("a"))))
                .isEqualTo(sequencer("a"));
        assertThat(keys(0, "list", "--keyset", exported.toString())).endsWith(" verifies\n");
        assertThat(keys(0, "add", "--keyset", file.toString(), "--algorithm", "ed25519")
                        .lines())
                .hasSize(3);
        assertThat(keys(3, "add", "--keyset", file.toString(), "--algorithm", "hmac"))
                .contains("has keys of ed25519; a keyset has keys of one algorithm, so name another file");
        assertThat(keys(3, "export-public", "--keyset", payments.path().toString()))
                .contains("HMAC keys have no public half");
        assertThat(keys(3, "export-public", "--keyset", exported.toString())).contains("has public keys only");
        assertThat(keys(3, "add", "--keyset", exported.toString())).contains("palisade keys export-public");
        assertThat(keys(2, "list", "--keyset", file.toString(), "--algorithm", "ed25519"))
                .contains("--algorithm is for add");
        assertThat(keys(2, "add", "--keyset", file.toString(), "--algorithm", "rsa"))
                .contains("use hmac or ed25519");
    }

    private static String keys(int exitCode, String... arguments) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = System.out;
        PrintStream err = System.err;
        try (PrintStream into = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
            System.setOut(into);
            System.setErr(into);
            assertThat(Commands.run(new KeysCommand(), arguments)).isEqualTo(exitCode);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    private void assertCannotStart(String groups, String why) {
        assertThatThrownBy(() -> server(groups))
                .isInstanceOf(Commands.CannotStart.class)
                .hasMessageContaining(why)
                .message()
                .doesNotContain("\n");
    }

    private SequencerSigning server(@Nullable String groups) throws Exception {
        Path file = groups == null ? null : Files.writeString(directory.resolve("groups.conf"), groups);
        return SequencerSigning.open(ungrouped, "palisade", file);
    }

    private Path exported(Path keyset) throws Exception {
        SequencerKeys keys = KeysetFile.openToSign(keyset).keys().publicKeys();
        return Files.writeString(directory.resolve("exported.json"), keys.toJson());
    }

    private static Sequencer sequencer(String lock) {
        return new Sequencer(
                "palisade", new LockName(lock), Mode.EXCLUSIVE, new FencingToken(34), new GrantId(1, 2), 1_000);
    }

    private static void assertRefused(ThrowingCallable call, String why) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID))
                .hasMessageContaining(why);
    }
}
