package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.RejectedException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What HTTP/2 has in place of the Host header of HTTP/1.1. */
class ForwardedHeadersTest {
    private static void check(String scheme, String authority) {
        ForwardedHeaders.refuseContradictions(RequestHeaders.builder(HttpMethod.PUT, "/items/1")
                .add(":scheme", scheme)
                .add(":authority", authority)
                .build());
    }

    @ParameterizedTest
    @CsvSource({"http, x@evil", "http, ''", "http, 'x,y'", "http, x/y", "ftp, x", "'', x"})
    void otherSchemeOrAuthorityIsRefused(String scheme, String authority) {
        assertThatThrownBy(() -> check(scheme, authority)).isInstanceOf(RejectedException.class);
    }

    @ParameterizedTest
    @CsvSource({"http, x", "https, shop.example:8443", "http, '[::1]:80'"})
    void nameOrAddressPasses(String scheme, String authority) {
        assertThatCode(() -> check(scheme, authority)).doesNotThrowAnyException();
    }
}
