package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.ReleaseRequestedEvent;
import dev.palisade.proto.v1.ServerFrame;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RegistrationTest extends Fixture {
    private final List<String> heard = new ArrayList<>();

    @Test
    void aClosedRegistrationHearsNothing() {
        Lease lease = held();
        try (Registration lost = lease.onLost(why -> heard.add("lost " + why));
                Registration requested = lease.onReleaseRequested(request -> heard.add("asked by " + request.by()))) {
            request(lease);
            assertThat(lost).isNotSameAs(requested);
        }
        request(lease);
        lose(lease);
        assertThat(heard).containsExactly("asked by ops");
    }

    @Test
    void closingOneTwiceLeavesTheOthers() {
        Lease lease = held();
        Registration first = lease.onLost(why -> heard.add("first"));
        lease.onLost(why -> heard.add("second"));
        first.close();
        first.close();
        lose(lease);
        assertThat(heard).containsExactly("second");
    }

    @Test
    void oneListenerRegisteredTwiceIsTakenOffOnce() {
        Lease lease = held();
        java.util.function.Consumer<dev.palisade.contract.LostReason> listener = why -> heard.add("lost");
        Registration first = lease.onLost(listener);
        lease.onLost(listener);
        first.close();
        lose(lease);
        assertThat(heard).containsExactly("lost");
    }

    @Test
    void aNotificationOnItsWayIsDroppedWhenTheRegistrationIsClosed() {
        Queue<Runnable> callbacks = new ArrayDeque<>();
        Lease lease = heldBy(callbacks);
        Registration lost = lease.onLost(why -> heard.add("lost " + why));
        lose(lease);
        assertThat(callbacks).hasSize(1);
        lost.close();
        callbacks.remove().run();
        assertThat(heard).isEmpty();
    }

    @Test
    void aListenerOfALeaseThatIsLostIsNotifiedAtOnceAndMayBeTakenOff() {
        Lease lease = held();
        lose(lease);
        lease.onLost(why -> heard.add("lost " + why)).close();
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    /** A notification that has begun by then would otherwise do its first step after the close. */
    @Test
    void closeWaitsForANotificationOnAnotherThread() throws Exception {
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        Queue<Runnable> callbacks = new ArrayDeque<>();
        Lease lease = heldBy(callbacks);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch proceed = new CountDownLatch(1);
        Registration lost = lease.onLost(why -> {
            begun.countDown();
            awaitQuietly(proceed);
            order.add("notified");
        });
        lose(lease);
        Thread notifier = new Thread(callbacks.remove());
        notifier.start();
        begun.await();
        Thread closer = new Thread(() -> {
            lost.close();
            order.add("closed");
        });
        closer.start();
        while (closer.getState() != Thread.State.WAITING && closer.getState() != Thread.State.TERMINATED) {
            Thread.onSpinWait();
        }
        proceed.countDown();
        notifier.join();
        closer.join();
        assertThat(order).containsExactly("notified", "closed");
    }

    @Test
    void aNotificationMayCloseItsOwnRegistration() {
        Lease lease = held();
        List<Registration> own = new ArrayList<>();
        own.add(lease.onReleaseRequested(request -> {
            own.get(0).close();
            heard.add("asked");
        }));
        request(lease);
        request(lease);
        assertThat(heard).containsExactly("asked");
    }

    private Lease heldBy(Queue<Runnable> callbacks) {
        PalisadeClient slow = client(settings -> settings.callbackExecutor(callbacks::add));
        var acquired = slow.acquireAsync("slow", TRY);
        callbacks.remove().run();
        return leaseOf(acquired);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void lose(Lease lease) {
        server.link().push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(lease))));
    }

    private void request(Lease lease) {
        server.link()
                .push(ServerFrame.newBuilder()
                        .addEvents(Event.newBuilder()
                                .setReleaseRequested(ReleaseRequestedEvent.newBuilder()
                                        .setLock(lease.lock().value())
                                        .setGrantId(ProtoMapper.bytes(lease.grant()))
                                        .setBy("ops")
                                        .setWhy("moving"))));
    }
}
