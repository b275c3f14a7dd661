package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ChannelsTest {
    private final List<String> happened = new ArrayList<>();

    /** Ends as soon as a thread waits for it. */
    private class Recorded extends ManagedChannel {
        private final String name;

        private Recorded(String name) {
            this.name = name;
        }

        @Override
        public ManagedChannel shutdown() {
            return this;
        }

        @Override
        public ManagedChannel shutdownNow() {
            happened.add(name + " cut off");
            return this;
        }

        @Override
        public boolean isShutdown() {
            return true;
        }

        @Override
        public boolean isTerminated() {
            return happened.contains(name + " ended");
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            happened.add(name + " ended");
            return true;
        }

        @Override
        public String authority() {
            return name;
        }

        @Override
        public <Q, R> ClientCall<Q, R> newCall(MethodDescriptor<Q, R> method, CallOptions options) {
            throw new AssertionError("called");
        }
    }

    @Test
    void anInterruptedCloseWaitsForTheChannelsAllTheSame() {
        Channels channels = Channels.open(List.of("one", "two"), Recorded::new, true);
        Thread.currentThread().interrupt();
        channels.close();
        assertThat(Thread.interrupted()).as("the flag").isTrue();
        assertThat(happened).containsExactly("one ended", "two ended", "one cut off", "two cut off");
    }

    @Test
    void aServerThatHasNoConnectionIsNotWaitedFor() {
        Channels channels = Channels.open(
                List.of("one", "two"),
                name -> new Recorded(name) {
                    @Override
                    public ConnectivityState getState(boolean requestConnection) {
                        return name.equals("one") ? ConnectivityState.TRANSIENT_FAILURE : ConnectivityState.READY;
                    }
                },
                true);
        channels.close();
        assertThat(happened).containsExactly("two ended", "one cut off", "two cut off");
    }
}
