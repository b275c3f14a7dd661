/**
 * The Java client of Palisade: locks with leases, and the proof that goes along with what a lease protects.
 *
 * <p>One {@link dev.palisade.client.PalisadeClient} for each process, a {@link dev.palisade.client.Lease} for each lock that is held. Here {@code orders} is
 * a gRPC stub of a service that is guarded:
 *
 * <pre>{@code
 * try (PalisadeClient palisade = PalisadeClient.connect("127.0.0.1:7600");
 *         Lease lease = palisade.acquire("orders/42", Duration.ofSeconds(5))) {
 *     lease.attach(orders).update(order42);
 * }
 * }</pre>
 *
 * <p>The lease renews itself until it is closed. It can still be lost: the process was paused, the network is gone, an operator ended
 * it. {@link dev.palisade.client.Lease#onLost} notifies at the local deadline at the latest, and {@link dev.palisade.client.Lease#isValid} answers by the clocks of
 * this machine. Both are hints. What makes the lock binding is the guard at the data, which judges the {@link
 * dev.palisade.client.Lease#sequencer} of every call; nothing in this package is a fence by itself.
 *
 * <p>Ways to take a lock, all of {@link dev.palisade.client.PalisadeClient}:
 *
 * <ul>
 *   <li>{@code acquire} waits and throws when it gets nothing; {@code tryAcquire} answers with an {@link
 *       dev.palisade.client.AcquireResult}; {@code acquireAsync} does so in a future.
 *   <li>{@code callLocked} and {@code runLocked} do a piece of work under the lock, interrupt it when the lease is lost, and tell when it was
 *       not covered to its end.
 *   <li>{@code advisoryLock} is a {@link java.util.concurrent.locks.Lock}, for code that knows no other.
 *   <li>{@link dev.palisade.client.Lease#reenter} shares a lease among several holders.
 * </ul>
 *
 * <p>{@link dev.palisade.client.AcquireOptions} says how: how long to wait, shared or exclusive, how long the lease lasts, which guards
 * have to claim first. {@link dev.palisade.client.Operations} is for operators and guards.
 *
 * <p>Rules of the whole package:
 *
 * <ul>
 *   <li>All public types are safe for use by many threads, builders excepted. No parameter and no result is null.
 *   <li>Times are {@link java.time.Duration}s, used to the millisecond on the wire. Sizes of text are bytes of UTF-8.
 *   <li>A call that blocks says for how long, and throws {@link java.lang.InterruptedException} when its thread is interrupted before or
 *       while it waits; calls that give back ({@code release}, {@code close}) go on and keep the flag.
 *   <li>A wrong argument throws {@link java.lang.IllegalArgumentException}, and the use of something closed {@link
 *       java.lang.IllegalStateException}, before anything is sent. What happens at run time is a {@link
 *       dev.palisade.contract.PalisadeException}.
 * </ul>
 *
 * <p>Tests of code that uses this package find a service without a server in the artifact {@code palisade-client-fake}.
 */
@NullMarked
package dev.palisade.client;

import org.jspecify.annotations.NullMarked;
