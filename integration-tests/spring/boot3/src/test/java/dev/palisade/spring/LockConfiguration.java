package dev.palisade.spring;

import dev.palisade.client.PalisadeClient;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

// snippet
@Configuration(proxyBeanMethods = false)
class LockConfiguration {
    @Bean
    PalisadeClient palisadeClient(@Value("${orders.lock-servers}") String[] servers) {
        return PalisadeClient.builder().servers(servers).owner("orders").build();
    }
}
// end
