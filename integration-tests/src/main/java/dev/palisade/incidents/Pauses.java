package dev.palisade.incidents;

import java.util.List;
import java.util.function.Consumer;

/**
 * Incidents in which a lock server is stopped (SIGSTOP) for longer than it may be silent, and continued. A library that issues tokens
 * in the application is not stopped.
 */
final class Pauses {
    private Pauses() {}

    /** Another takes its place, where one is active at a time, and it goes on with what it knew. */
    static void paused(Scene<?> scene) {
        Side side = either(scene);
        pause(scene, side);
        scene.tokens(scene.between(5, 40));
        resume(scene, side);
    }

    /** The store loses everything meanwhile: what the other one did is nowhere when it goes on. */
    static <N extends Node> void pausedAndAllLost(Scene<N> scene, Consumer<Scene<N>> loss) {
        Side side = either(scene);
        pause(scene, side);
        scene.tokens(scene.between(5, 40));
        loss.accept(scene);
        if (scene.dice().nextBoolean()) {
            scene.tokens(scene.between(1, 20));
        }
        resume(scene, side);
    }

    /** The second one stops right after it may have taken over. */
    static void pausedInTurn(Scene<?> scene) {
        for (Side side : order(scene)) {
            pause(scene, side);
            scene.tokens(scene.between(1, 5));
            resume(scene, side);
        }
    }

    private static List<Side> order(Scene<?> scene) {
        return scene.dice().nextBoolean() ? List.of(scene.near(), scene.far()) : List.of(scene.far(), scene.near());
    }

    private static Side either(Scene<?> scene) {
        return scene.dice().nextBoolean() ? scene.near() : scene.far();
    }

    private static void pause(Scene<?> scene, Side side) {
        scene.note("the lock server of side " + side.name() + " is stopped");
        side.issuer().pause();
    }

    private static void resume(Scene<?> scene, Side side) {
        side.issuer().resume();
        scene.note("the lock server of side " + side.name() + " goes on");
    }
}
