package dev.palisade.redis;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** A Redis in a container that lives as long as this JVM. Never pulls an image: a test does not wait for a network. */
final class DockerRedis {
    private static final int PORT = 6379;

    private DockerRedis() {}

    /** No container can be had here, and why. */
    static final class NoContainer extends RuntimeException {
        NoContainer(String why) {
            super(why);
        }
    }

    /**
     * Starts it, where there is an engine with the image.
     *
     * @param surely whether to ask for an engine even where nothing hints at one, which is slow and loud if there is none
     */
    static Optional<String> uri(boolean surely) {
        if (!surely && !hinted()) {
            return Optional.empty();
        }
        if (!DockerClientFactory.instance().isDockerAvailable()) {
            throw new NoContainer("no Docker engine answers");
        }
        DockerImageName image = DockerImageName.parse(System.getProperty("palisade.redis.image", "redis:7.0.15"));
        try {
            DockerClientFactory.lazyClient()
                    .inspectImageCmd(image.asCanonicalNameString())
                    .exec();
        } catch (RuntimeException e) {
            throw new NoContainer("the Docker engine has no image " + image.asCanonicalNameString());
        }
        return Optional.of(start(image));
    }

    @SuppressWarnings("resource") // Ends with this JVM, by its own hook.
    private static String start(DockerImageName image) {
        GenericContainer<?> redis = new GenericContainer<>(image)
                .withImagePullPolicy(name -> false)
                .withCommand("redis-server", "--save", "", "--protected-mode", "no")
                .withExposedPorts(PORT)
                // Not by a look from within: an image need not have a shell.
                .waitingFor(Wait.forLogMessage(".*Ready to accept connections.*", 1));
        redis.start();
        Runtime.getRuntime().addShutdownHook(new Thread(redis::stop));
        return "redis://" + redis.getHost() + ":" + redis.getMappedPort(PORT);
    }

    /** Asking Testcontainers takes a second and an error in the log where there is no engine. */
    private static boolean hinted() {
        return System.getenv("DOCKER_HOST") != null
                || Files.exists(Path.of("/var/run/docker.sock"))
                || Files.exists(Path.of(System.getProperty("user.home"), ".docker", "run", "docker.sock"))
                || Files.exists(Path.of(System.getProperty("user.home"), ".testcontainers.properties"));
    }
}
