package dev.palisade.contract.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.Attributes;
import io.grpc.CallCredentials;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BearerTokenFileTest {
    private static final InetSocketAddress FAR = address(10, 0, 0, 1);
    private static final InetSocketAddress HERE = address(127, 0, 0, 1);

    @TempDir
    Path folder;

    private final AtomicLong nanos = new AtomicLong();
    private Path path;
    private BearerTokenFile credentials;

    @BeforeEach
    void write() throws Exception {
        path = Files.writeString(folder.resolve("token"), "secret-1\n");
        credentials = BearerTokenFile.at(path, nanos::get);
    }

    private static InetSocketAddress address(int... bytes) {
        try {
            return new InetSocketAddress(
                    InetAddress.getByAddress(
                            new byte[] {(byte) bytes[0], (byte) bytes[1], (byte) bytes[2], (byte) bytes[3]}),
                    7600);
        } catch (java.net.UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    /** The header that is sent, or why the call fails. */
    private String sent(SecurityLevel level, InetSocketAddress to) throws Exception {
        CompletableFuture<String> result = new CompletableFuture<>();
        credentials.applyRequestMetadata(
                new CallCredentials.RequestInfo() {
                    @Override
                    public MethodDescriptor<?, ?> getMethodDescriptor() {
                        throw new UnsupportedOperationException();
                    }

                    @Override
                    public SecurityLevel getSecurityLevel() {
                        return level;
                    }

                    @Override
                    public String getAuthority() {
                        return "locks";
                    }

                    @Override
                    public Attributes getTransportAttrs() {
                        return Attributes.newBuilder()
                                .set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, to)
                                .build();
                    }
                },
                Runnable::run,
                new CallCredentials.MetadataApplier() {
                    @Override
                    public void apply(Metadata headers) {
                        result.complete(String.valueOf(headers.get(BearerTokenFile.AUTHORIZATION)));
                    }

                    @Override
                    public void fail(Status status) {
                        result.complete(status.getCode() + " " + status.getDescription());
                    }
                });
        return result.get(60, TimeUnit.SECONDS);
    }

    @Test
    void theTokenLeavesTheMachineWithTlsOnly() throws Exception {
        assertThat(sent(SecurityLevel.PRIVACY_AND_INTEGRITY, FAR)).isEqualTo("Bearer secret-1");
        assertThat(sent(SecurityLevel.NONE, HERE)).isEqualTo("Bearer secret-1");
        assertThat(sent(SecurityLevel.NONE, FAR))
                .startsWith("UNAUTHENTICATED the token of " + path + " is not sent to another machine without TLS")
                .doesNotContain("secret-1");
        assertThat(sent(SecurityLevel.INTEGRITY, FAR)).startsWith("UNAUTHENTICATED");
    }

    @Test
    void aReplacedTokenIsSentAfterFiveSeconds() throws Exception {
        assertThat(sent(SecurityLevel.NONE, HERE)).isEqualTo("Bearer secret-1");
        Files.writeString(path, "secret-2");
        nanos.addAndGet(4_999_999_999L);
        assertThat(sent(SecurityLevel.NONE, HERE)).isEqualTo("Bearer secret-1");
        nanos.addAndGet(1);
        assertThat(sent(SecurityLevel.NONE, HERE)).isEqualTo("Bearer secret-2");
    }

    @Test
    void aFileThatHoldsNoTokenFailsTheCallWithoutItsContent() throws Exception {
        for (String content :
                new String[] {"", " \n", "secret one", "secret\ntwo", "s".repeat(4_097), "secret\u00e9"}) {
            Files.writeString(path, content);
            assertThat(sent(SecurityLevel.NONE, HERE))
                    .startsWith("UNAUTHENTICATED token file " + path)
                    .doesNotContain("secret")
                    .doesNotContain("ssss");
            assertThatThrownBy(credentials::check).hasMessageStartingWith("token file " + path);
        }
        Files.delete(path);
        assertThat(sent(SecurityLevel.NONE, HERE)).isEqualTo("UNAUTHENTICATED token file " + path + " does not exist");
        Files.writeString(path, "t".repeat(BearerTokenFile.CHARS_MAX) + "\r\n");
        assertThat(sent(SecurityLevel.NONE, HERE)).endsWith("ttt");
        assertThat(credentials).hasToString("token file " + path);
    }

    /** A command line may have the token itself, and its error may be in the log of a build. */
    @Test
    void aTokenInPlaceOfItsFileIsNotRepeated() {
        BearerTokenFile wrong = BearerTokenFile.at(Path.of("palisade_" + "A".repeat(43)));
        assertThatThrownBy(wrong::check).hasMessage("token file palisade_... does not exist");
        assertThat(wrong).hasToString("token file palisade_...");
    }
}
