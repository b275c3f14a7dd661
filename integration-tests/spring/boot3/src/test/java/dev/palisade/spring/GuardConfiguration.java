package dev.palisade.spring;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.FencedJdbc;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

// snippet
@Configuration(proxyBeanMethods = false)
class GuardConfiguration {
    @Bean
    FencedJdbc fencedJdbc(DataSource dataSource, @Value("${orders.palisade-keyset}") Path keyset)
            throws IOException, SQLException {
        return FencedJdbc.create(dataSource, KeysetFile.open(keyset).verifier("palisade"));
    }
}
// end
