package dev.palisade.guard;

/**
 * The settings of announced ends of calls in one database.
 *
 * @param isPossible whether the database can announce, and has the table of waits
 * @param listens whether this guard hears of announcements
 * @param channel of NOTIFY, one for each register
 */
record LeaveAnnouncements(boolean isPossible, boolean listens, String channel) {
    static final LeaveAnnouncements NONE = new LeaveAnnouncements(false, false, "");

    /** @param marksId {@link MarkStore#id} */
    static LeaveAnnouncements of(String marksId, boolean isPossible, boolean listens) {
        return new LeaveAnnouncements(isPossible, isPossible && listens, "palisade_" + marksId);
    }
}
