package dev.palisade.cli.lease;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LeaseCredentialTest {
    private static final LeaseCredential LEASE = new LeaseCredential(
            "backup/m\u00fcller",
            ByteString.copyFromUtf8("0123456789abcdef"),
            ByteString.copyFromUtf8("fedcba9876543210"),
            33,
            ByteString.copyFromUtf8("signed"),
            60_000,
            2_000,
            300_000,
            "why not",
            "me");

    @Test
    void textBecomesTheSameCredentialAgain() {
        assertThat(LeaseCredential.ofText(LEASE.toText())).contains(LEASE);
        assertThat(LEASE.toText()).matches("[A-Za-z0-9_-]+");
    }

    @Test
    void logsDoNotContainTheSession() {
        assertThat(LEASE).hasToString("LeaseCredential(backup/m\u00fcller, token 33)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "AAAA", "AQ", "not base64", "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
    void otherTextIsNoCredential(String text) {
        assertThat(LeaseCredential.ofText(text)).isEmpty();
    }

    @Test
    void truncatedTextIsNoCredential() {
        String text = LEASE.toText();
        assertThat(LeaseCredential.ofText(text.substring(0, text.length() / 2))).isEmpty();
        assertThat(LeaseCredential.ofText("A".repeat(5_000))).isEmpty();
    }

    @Test
    void lockNamesAreQuotedForTheShell() {
        assertThat(AcquireCommand.quoted("it's $HOME")).isEqualTo("'it'\\''s $HOME'");
    }
}
