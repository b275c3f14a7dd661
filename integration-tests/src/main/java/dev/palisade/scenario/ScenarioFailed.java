package dev.palisade.scenario;

/** A scenario did not go as it must. The message is for a person. */
public final class ScenarioFailed extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ScenarioFailed(String message) {
        super(message);
    }
}
