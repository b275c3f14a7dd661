------------------------------- MODULE Owners -------------------------------
(***************************************************************************)
(* Lock servers that share a log: which of them may append, and when one   *)
(* may keep its memory.  The log is in two stores, a primary and a replica *)
(* that may lag behind; the replica is promoted, the primary starts empty, *)
(* is emptied, or gets earlier data back.  A server may be away (paused or *)
(* cut off) for any time, or crash.                                        *)
(*                                                                         *)
(* A server sends batches before it knows that earlier ones are stored.    *)
(* Each is delivered, its reply is received, or the server gives it up.    *)
(* A lost log is rewritten in several appends.  A standby reads the log    *)
(* while another server writes it.                                         *)
(*                                                                         *)
(* A batch is a number that is used once.  A log holds batches that were   *)
(* sent as one together; a history is all of them, in order.  Time is not  *)
(* modelled: a claim may end at any moment, and settling means to wait for *)
(* every server that is there.                                             *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Servers,
          Batches,    \* so many are decided at most
          InFlight,   \* so many of one server wait for a reply at most
          Claims,     \* so many claims are granted at most
          Appends,    \* so many appends rewrite a lost log
          Counts,     \* whether tokens are counted
          Faults,     \* so many times something happens to the log, or a server crashes
          Possible,   \* of what may happen: these faults, and these other steps
          Off         \* rules not followed

Rules == {"FreshWriter",     \* a claim makes a new identity; a number that the log counts repeats after a loss
          "PastCompared",    \* memory is kept only if the log's history is part of it
          "OwnView",         \* an append is compared with what the log's process did last
          "SeenCompared",    \* a process that saw an owner unknown to the candidate does not give the log back to it
          "Settles",         \* a log that is not whole waits for the candidate with the highest term
          "HeldForgets",     \* a server that hears of another owner drops its memory
          "SameBatch",       \* a batch without a reply is found stored or sent again, never replaced
          "InOrder",         \* a batch is stored only directly after the one that was sent before it
          "OneReplyEach",    \* a reply acknowledges one batch, though more are in flight
          "SendsTheMissing", \* of the batches in flight, only those that the log does not hold are sent again
          "CopiedApart",     \* a lost log is rewritten beside what is left of it, and the last append replaces that
          "PartIsNotAll",    \* a log that holds a part of the copy does not hold all of memory
          "HalfIsNotWhole",  \* a log that is being rewritten is not whole
          "PrefixCompared",  \* what was read ahead is used only while the last batch is of the same writer
          "CountCompared",   \* an append is compared with the log's count of tokens
          "EpochAfterLoss",  \* after a claim of a log that is not whole, an epoch of tokens begins
          "LossRemembered",  \* it begins under a later claim, if that claim finds the log whole again
          "TakenBack"}       \* a grant of an earlier epoch is taken back, not acknowledged

ASSUME Off \subseteq Rules
ASSUME Possible \subseteq {"promotion", "flush", "empty start", "restore", "count", "crash",
                          "lost claim", "failed load", "silence", "late append", "read ahead"}
On(rule) == rule \notin Off

VARIABLES head,      \* stored, of each store: owner and position
          content,   \* stored, of each store: its batches, a copy that does not count yet, the count of tokens
          seen,      \* of each store's process: what it did last
          did,       \* of each store's process: the batches that it stored
          primary,   \* the store that servers reach
          instance,  \* identity of the primary's history, another one after each start and promotion
          phase,     \* of each server
          memory,    \* of each server: its history, with the batches that wait to be acknowledged
          waits,     \* of each server: the batches that wait, the oldest first
          claim,     \* of each server: what it knows of its claim
          past,      \* of each server: positions whose histories are part of its memory
          flying,    \* of each server: its appends without a reply, the oldest first
          ahead,     \* of each server: what it read ahead
          tokens,    \* of each server: its count of tokens
          away,      \* servers that take no step
          told,      \* servers that heard of another owner, and kept their memory
          late,      \* appends on their way whose sender gave them up
          made, claims, faults,
          acked,     \* truth: batches that were acknowledged, and that a later owner has to know
          excused,   \* truth: batches that a recovery window restores, or a takeover that the log forgot took with it
          top,       \* truth: the largest token that was acknowledged
          newest,    \* truth: the writer of the last claim
          at,        \* truth: histories and their positions
          wrong      \* truth: what went wrong in a step
store == <<head, content, seen, did, primary, instance>>
server == <<phase, memory, waits, claim, past, flying, ahead, tokens>>
truth == <<acked, excused, top, newest, at, wrong>>
limits == <<made, claims, faults>>
vars == <<store, server, away, told, late, limits, truth>>

----------------------------------------------------------------------------
Stores == {"P", "R"}
Zero == <<0, 0>>
Nowhere == <<0, 1>>
NoHead == [w |-> 0, n |-> 0, base |-> Zero, term |-> 0, whole |-> FALSE, by |-> 0, generation |-> 1, rewriting |-> 0]
NoContent == [batches |-> <<>>, copy |-> <<>>, count |-> 0]
NotSeen == [w |-> 0, n |-> 0, pos |-> Zero, in |-> 0]
NoClaim == [w |-> 0, n |-> 0, whole |-> FALSE, count |-> 0, copied |-> 0]
NoPast == [term |-> 0, confirmed |-> Zero, sent |-> Zero, earlier |-> {}]
NothingAhead == [last |-> Zero, generation |-> 0, batches |-> <<>>]
NoTokens == [last |-> 0, base |-> 0, by |-> 0, loss |-> FALSE]
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Range(seq) == {seq[i] : i \in DOMAIN seq}
IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a
From(seq, i) == SubSeq(seq, i, Len(seq))
Plus(batches, batch) == IF batch = <<>> THEN batches ELSE Append(batches, batch)
RECURSIVE Flat(_)
Flat(batches) == IF batches = <<>> THEN <<>> ELSE Head(batches) \o Flat(Tail(batches))

\* A claim alone writes no history.
Pos(h) == IF h.n = 0 THEN h.base ELSE <<h.w, h.n>>
Here == head[primary]
History == Flat(content[primary].batches)
Seen(h) == [w |-> h.w, n |-> h.n, pos |-> Pos(h), in |-> instance]
OwnView == seen[primary] = Seen(Here)

----------------------------------------------------------------------------
\* Positions of a memory, as in the class Past.
UpTo(p, q) == p[1] = q[1] /\ p[2] <= q[2]
Reaches(positions, p) == \E q \in positions : UpTo(p, q)
Covers(p, found) == p.term > 0 /\ (found = Zero \/ Reaches(p.earlier \cup {p.confirmed, p.sent}, found))
IsUnconfirmed(p, found) ==
  found /= Zero /\ UpTo(found, p.sent) /\ ~UpTo(found, p.confirmed) /\ ~Reaches(p.earlier, found)
Misses(p, found) == Covers(p, found) /\ found /= p.confirmed /\ ~IsUnconfirmed(p, found)
ConfirmedAt(p, pos, term) ==
  [term |-> term, confirmed |-> pos, sent |-> Zero,
   earlier |-> {q \in p.earlier \cup {p.confirmed} : q[1] \notin {0, pos[1]}}]
StoredAt(p, pos) == [ConfirmedAt(p, pos, p.term) EXCEPT !.sent = IF pos = p.sent THEN Zero ELSE p.sent]
PartlyAt(p, pos) == [p EXCEPT !.earlier = {q \in @ : q[1] /= pos[1]} \cup {pos}]
Copying(p) ==
  [p EXCEPT !.confirmed = Nowhere, !.sent = Zero,
            !.earlier = {q \in @ \cup {p.confirmed, p.sent} : q[1] /= 0}]

----------------------------------------------------------------------------
HasMemory(s) == past[s].term > 0
Whole(s) ==
  /\ Here.w /= 0 /\ OwnView /\ (Here.n > 0 \/ Here.whole)
  /\ On("HalfIsNotWhole") => Here.rewriting = 0
  /\ ~Misses(past[s], Pos(Here))

Mine(s) ==
  /\ phase[s] = "suspended"
  /\ On("PastCompared") => Covers(past[s], Pos(Here))
  /\ On("SeenCompared") =>
       seen[primary] = NotSeen \/ seen[primary].pos = Pos(Here) \/ Covers(past[s], seen[primary].pos)
  /\ Here.rewriting = 0 \/ Here.by = s

\* Every other server that is there, and has memory, has bid a lower term.
Settled(s) == \A t \in Servers \ {s} : t \in away \/ ~HasMemory(t) \/ past[t].term < past[s].term

\* The clock passes every token between two claims.
Clock(w) == IF Counts THEN 10 * w ELSE 0
NewEpoch(w) == IF Counts THEN [last |-> Clock(w), base |-> Clock(w), by |-> w, loss |-> FALSE] ELSE NoTokens

\* The count of a server that acknowledges a batch under a claim, or serves under it.
EpochUnder(t, c) ==
  LET isLost == (~c.whole /\ t.by /= c.w) \/ (On("LossRemembered") /\ t.loss)
  IN IF ~Counts THEN t
     ELSE IF isLost /\ On("EpochAfterLoss") THEN NewEpoch(c.w)
     ELSE [t EXCEPT !.by = c.w, !.loss = FALSE]

\* Those of stored batches that are acknowledged in the epoch that began at base.
Told(batches, base) == {each \in Range(batches) : On("TakenBack") => each.base = base}
Numbers(waiting) == {each.b : each \in waiting}
Largest(waiting) == IF waiting = {} THEN 0 ELSE (CHOOSE x \in waiting : \A y \in waiting : y.token <= x.token).token
Falling(waiting) == IF Counts /\ \E each \in waiting : each.token <= each.floor THEN {"token falls"} ELSE {}

----------------------------------------------------------------------------
Init ==
  /\ head = [x \in Stores |-> NoHead] /\ content = [x \in Stores |-> NoContent]
  /\ seen = [x \in Stores |-> NotSeen] /\ did = [x \in Stores |-> {}]
  /\ primary = "P" /\ instance = 1
  /\ phase = [s \in Servers |-> "standby"] /\ memory = [s \in Servers |-> <<>>]
  /\ waits = [s \in Servers |-> <<>>] /\ claim = [s \in Servers |-> NoClaim]
  /\ past = [s \in Servers |-> NoPast] /\ flying = [s \in Servers |-> <<>>]
  /\ ahead = [s \in Servers |-> NothingAhead] /\ tokens = [s \in Servers |-> NoTokens]
  /\ away = {} /\ told = {} /\ late = <<>> /\ made = 0 /\ claims = 0 /\ faults = 0
  /\ acked = {} /\ excused = {} /\ top = 0 /\ newest = 0 /\ at = {} /\ wrong = {}

\* What must not happen when a server goes on with its memory, of which the log lacks the last batches.
GoesOn(s, missing) ==
  LET known == Range(memory[s])
      rewrites == Misses(past[s], Pos(Here))
  IN (IF IsPrefix(History, memory[s]) THEN {} ELSE {"foreign history"})
     \cup (IF rewrites \/ History = SubSeq(memory[s], 1, Len(memory[s]) - missing) THEN {} ELSE {"not stored"})
     \cup (IF (did[primary] \cap acked) \subseteq known THEN {} ELSE {"process forgets"})
     \cup (IF s \in told THEN {"superseded"} ELSE {})
     \cup (IF ~Whole(s) /\ \E t \in Servers \ away : HasMemory(t) /\ ~((acked \cap Range(memory[t])) \subseteq known)
           THEN {"older goes on"} ELSE {})

\* The claim is granted.  If its reply is lost, the server only knows that it has none.
Claim(s, lost) ==
  /\ s \notin away /\ phase[s] \in {"standby", "suspended"} /\ claims < Claims
  /\ lost => phase[s] = "suspended" /\ "lost claim" \in Possible
  /\ (claims > 0 /\ ~Whole(s) /\ On("Settles")) => Settled(s)
  /\ claims' = claims + 1
  /\ LET p == past[s]
         term == 1 + Max(Here.term, p.term)
         w == IF On("FreshWriter") THEN claims + 1 ELSE term
         found == Pos(Here)
         whole == Whole(s) \/ claims = 0
         mine == Mine(s)
         rewrites == mine /\ Misses(p, found)
         isHeld == IsUnconfirmed(p, found)
         missing == IF isHeld /\ On("SendsTheMissing")
                    THEN Min(p.sent[2] - found[2], Len(waits[s])) ELSE Len(waits[s])
         stored == IF mine /\ ~rewrites /\ ~lost THEN Len(waits[s]) - missing ELSE 0
         new == [w |-> w, n |-> 0, base |-> found, term |-> term, whole |-> whole, by |-> s,
                 generation |-> Here.generation,
                 rewriting |-> IF rewrites THEN Max(Here.generation, Here.rewriting) + 1 ELSE 0]
         mark == [w |-> w, n |-> 0, whole |-> whole, count |-> content[primary].count, copied |-> 0]
         kept == IF Counts THEN [tokens[s] EXCEPT !.loss = @ \/ ~whole, !.last = Max(@, mark.count)] ELSE NoTokens
         epoch == IF rewrites /\ On("EpochAfterLoss") THEN NewEpoch(w)
                  ELSE IF stored > 0 \/ missing = 0 THEN EpochUnder(kept, mark) ELSE kept
     IN /\ head' = [head EXCEPT ![primary] = new]
        /\ content' = [content EXCEPT ![primary].copy = <<>>]
        /\ seen' = [seen EXCEPT ![primary] = Seen(new)]
        /\ newest' = w
        /\ IF mine /\ ~lost
           THEN LET tells == Told(SubSeq(waits[s], 1, stored), epoch.base)
                    gone == IF whole THEN {} ELSE (1..made) \ Range(memory[s])
                IN /\ acked' = (acked \cup (Numbers(tells) \ excused)) \ gone
                   /\ excused' = excused \cup gone
                   /\ top' = Max(top, Largest(tells))
                   /\ wrong' = wrong \cup GoesOn(s, missing) \cup Falling(tells)
                        \cup (IF whole /\ ~(acked \subseteq Range(memory[s])) THEN {"lost"} ELSE {})
           ELSE LET gone == IF mine \/ whole THEN {} ELSE (1..made) \ Range(History)
                IN \* Without a loss the owner has all.  Otherwise the recovery window begins: holders reclaim the rest.
                   /\ acked' = acked \ gone /\ excused' = excused \cup gone /\ UNCHANGED top
                   /\ wrong' = wrong
                        \cup (IF ~mine /\ whole /\ ~(acked \subseteq Range(History)) THEN {"lost"} ELSE {})
        /\ IF lost THEN UNCHANGED server
           ELSE /\ claim' = [claim EXCEPT ![s] = mark]
                /\ phase' = [phase EXCEPT ![s] = IF ~mine THEN "loading" ELSE IF rewrites THEN "rewriting"
                                                 ELSE IF missing = 0 THEN "active" ELSE "resending"]
                /\ past' = [past EXCEPT ![s] =
                     IF ~mine THEN NoPast
                     ELSE IF rewrites
                     THEN IF On("PartIsNotAll") THEN [PartlyAt(Copying(@), found) EXCEPT !.term = term]
                          ELSE [@ EXCEPT !.term = term]
                     ELSE [ConfirmedAt(@, found, term) EXCEPT !.sent = IF missing = 0 THEN Zero ELSE <<w, 1>>]]
                /\ IF mine
                   THEN /\ waits' = [waits EXCEPT ![s] = IF rewrites THEN @ ELSE From(@, stored + 1)]
                        /\ tokens' = [tokens EXCEPT ![s] = epoch]
                        /\ UNCHANGED memory
                   ELSE /\ waits' = [waits EXCEPT ![s] = <<>>]
                        /\ memory' = [memory EXCEPT ![s] = <<>>]
                        /\ tokens' = [tokens EXCEPT ![s] = NoTokens]
                /\ UNCHANGED <<flying, ahead>>
        /\ told' = IF lost \/ mine THEN told ELSE told \ {s}
  /\ UNCHANGED <<did, primary, instance, away, late, made, faults, at>>

\* Another server owns the log.
Held(s) ==
  /\ s \notin away /\ phase[s] = "suspended" /\ ~Mine(s) /\ Here.w /= 0 /\ Whole(s)
  /\ IF On("HeldForgets")
     THEN /\ phase' = [phase EXCEPT ![s] = "standby"]
          /\ memory' = [memory EXCEPT ![s] = <<>>] /\ waits' = [waits EXCEPT ![s] = <<>>]
          /\ past' = [past EXCEPT ![s] = NoPast] /\ tokens' = [tokens EXCEPT ![s] = NoTokens]
          /\ UNCHANGED <<claim, flying, ahead, told>>
     ELSE told' = told \cup {s} /\ UNCHANGED server
  /\ UNCHANGED <<store, away, late, limits, truth>>

----------------------------------------------------------------------------
\* The log's side of an append.
Fits(m) ==
  /\ Here.w = m.w /\ m.w /= 0 /\ (IF On("InOrder") THEN Here.n = m.n - 1 ELSE Here.n < m.n)
  /\ On("OwnView") => OwnView
  /\ On("CountCompared") => content[primary].count = m.before
  /\ m.kind = "last" => Here.rewriting /= 0

Store(m) ==
  LET c == content[primary]
      begins == IF On("CopiedApart") THEN c.copy ELSE IF m.n = 1 THEN <<>> ELSE c.batches
      batches == CASE m.kind = "batch" -> Plus(c.batches, m.adds)
                 [] m.kind = "part" -> IF On("CopiedApart") THEN c.batches ELSE Plus(begins, m.adds)
                 [] m.kind = "last" -> Plus(begins, m.adds)
      copy == IF m.kind = "part" /\ On("CopiedApart") THEN Plus(c.copy, m.adds) ELSE <<>>
      new == [Here EXCEPT !.n = m.n,
                          !.generation = IF m.kind = "last" THEN Here.rewriting ELSE @,
                          !.rewriting = IF m.kind = "last" THEN 0 ELSE @]
      history == Flat(batches)
      count == c.count + m.after - m.before
  IN /\ head' = [head EXCEPT ![primary] = new]
     /\ content' = [content EXCEPT ![primary] = [batches |-> batches, copy |-> copy, count |-> count]]
     /\ seen' = [seen EXCEPT ![primary] = Seen(new)]
     /\ did' = [did EXCEPT ![primary] = @ \cup (IF m.kind = "batch" THEN Range(m.adds) ELSE Range(history))]
     /\ at' = at \cup {<<Pos(new), history>>}
     /\ wrong' = wrong
          \cup (IF m.w = newest THEN {} ELSE {"older writer"})
          \cup (IF IsPrefix(History, history) THEN {} ELSE {"shrinks"})
          \cup (IF Cardinality(Range(history)) = Len(history) THEN {} ELSE {"twice"})
          \cup (IF count = m.after THEN {} ELSE {"count"})

Message(s, kind, n, adds, after) ==
  [w |-> claim[s].w, n |-> n, kind |-> kind, adds |-> adds,
   before |-> claim[s].count, after |-> Max(after, claim[s].count), stored |-> FALSE]
Sent(s, m) == flying' = [flying EXCEPT ![s] = Append(@, m)]

\* A batch is decided and sent; those before it may be in flight.
Decide(s) ==
  /\ s \notin away /\ phase[s] = "active" /\ Len(waits[s]) < InFlight /\ made < Batches
  /\ LET token == IF Counts THEN tokens[s].last + 1 ELSE 0
         n == claim[s].n + Len(waits[s]) + 1
         m == Message(s, "batch", n, <<made + 1>>, token)
     IN /\ Sent(s, m)
        /\ claim' = [claim EXCEPT ![s].count = m.after]
        /\ past' = [past EXCEPT ![s].sent = <<claim[s].w, n>>]
        /\ tokens' = [tokens EXCEPT ![s].last = token]
        /\ waits' = [waits EXCEPT ![s] =
             Append(@, [b |-> made + 1, base |-> tokens[s].base, token |-> token, floor |-> top])]
        /\ memory' = [memory EXCEPT ![s] = Append(@, made + 1)]
  /\ made' = made + 1
  /\ UNCHANGED <<store, phase, ahead, away, told, late, claims, faults, truth>>

\* The batches that the log does not hold, as one.
Resend(s) ==
  /\ s \notin away /\ phase[s] = "resending" /\ flying[s] = <<>>
  /\ Sent(s, Message(s, "batch", 1, [i \in DOMAIN waits[s] |-> waits[s][i].b], waits[s][Len(waits[s])].token))
  /\ UNCHANGED <<store, phase, memory, waits, claim, past, ahead, tokens, away, told, late, limits, truth>>

\* A part of memory, or the last one.
Copy(s) ==
  /\ s \notin away /\ phase[s] = "rewriting" /\ flying[s] = <<>>
  /\ LET n == claim[s].n + 1
         pos == <<claim[s].w, n>>
         rest == From(memory[s], claim[s].copied + 1)
     IN IF n < Appends
        THEN \E i \in 0..Len(rest) :
               /\ Sent(s, Message(s, "part", n, SubSeq(rest, 1, i), 0))
               /\ claim' = [claim EXCEPT ![s].copied = @ + i]
               /\ past' = [past EXCEPT ![s] = IF On("PartIsNotAll") THEN PartlyAt(@, pos) ELSE [@ EXCEPT !.sent = pos]]
        ELSE /\ Sent(s, Message(s, "last", n, rest, tokens[s].last))
             /\ past' = [past EXCEPT ![s].sent = pos]
             /\ UNCHANGED claim
  /\ UNCHANGED <<store, phase, memory, waits, ahead, tokens, away, told, late, limits, truth>>

Deliver(s) ==
  /\ \E i \in DOMAIN flying[s] :
       /\ ~flying[s][i].stored /\ Fits(flying[s][i]) /\ Store(flying[s][i])
       /\ flying' = [flying EXCEPT ![s][i].stored = TRUE]
  /\ UNCHANGED <<primary, instance, phase, memory, waits, claim, past, ahead, tokens, away, told, late, limits,
                 acked, excused, top, newest>>

Arrives ==
  /\ \E i \in DOMAIN late : Fits(late[i]) /\ Store(late[i]) /\ late' = From(late, i + 1)
  /\ UNCHANGED <<primary, instance, server, away, told, limits, acked, excused, top, newest>>

\* The reply to the oldest append, which is stored.
Receive(s) ==
  /\ s \notin away /\ flying[s] /= <<>> /\ flying[s][1].stored
  /\ LET c == claim[s]
         m == flying[s][1]
         pos == <<m.w, m.n>>
         replied == IF On("OneReplyEach") THEN 1 ELSE Len(flying[s])
         epoch == IF m.kind = "part" THEN tokens[s] ELSE EpochUnder(tokens[s], c)
         acknowledged == IF m.kind = "part" THEN 0 ELSE IF phase[s] = "active" THEN replied ELSE Len(waits[s])
         tells == Told(SubSeq(waits[s], 1, acknowledged), epoch.base)
     IN /\ claim' = [claim EXCEPT ![s].n = m.n + replied - 1,
                                 ![s].count = IF phase[s] = "active" THEN @ ELSE m.after]
        /\ flying' = [flying EXCEPT ![s] = From(@, replied + 1)]
        /\ phase' = [phase EXCEPT ![s] = IF m.kind = "part" THEN @ ELSE "active"]
        /\ past' = [past EXCEPT ![s] =
             IF m.kind = "part" THEN IF On("PartIsNotAll") THEN @ ELSE ConfirmedAt(@, pos, @.term)
             ELSE IF phase[s] = "active" THEN StoredAt(@, <<m.w, m.n + replied - 1>>)
             ELSE ConfirmedAt(@, pos, @.term)]
        /\ waits' = [waits EXCEPT ![s] = From(@, acknowledged + 1)]
        /\ tokens' = [tokens EXCEPT ![s] = epoch]
        /\ acked' = acked \cup (Numbers(tells) \ excused)
        /\ top' = Max(top, Largest(tells))
        /\ wrong' = wrong \cup Falling(tells)
  /\ UNCHANGED <<store, memory, ahead, away, told, late, limits, excused, newest, at>>

\* No reply comes: what is in flight may be stored, may be lost, or arrives late.
GiveUp(s) ==
  /\ s \notin away /\ flying[s] /= <<>>
  /\ LET open == SelectSeq(flying[s], LAMBDA m : ~m.stored)
     IN late' \in (IF "late append" \in Possible /\ late = <<>> THEN {late, open} ELSE {late})
  /\ flying' = [flying EXCEPT ![s] = <<>>]
  /\ IF On("SameBatch") \/ phase[s] /= "active" \/ ~flying[s][1].stored \/ made = Batches
     THEN /\ phase' = [phase EXCEPT ![s] = "suspended"]
          /\ claim' = [claim EXCEPT ![s] = NoClaim]
          /\ UNCHANGED <<memory, waits>>
     ELSE \* Taken for not stored: the next batch has its number.
          /\ memory' = [memory EXCEPT ![s] = SubSeq(@, 1, Len(@) - Len(waits[s]))]
          /\ waits' = [waits EXCEPT ![s] = <<>>]
          /\ UNCHANGED <<phase, claim>>
  /\ UNCHANGED <<store, past, ahead, tokens, away, told, limits, truth>>

\* A reconnect, or a silence.
Suspend(s) ==
  /\ "silence" \in Possible /\ s \notin away /\ phase[s] = "active" /\ waits[s] = <<>>
  /\ phase' = [phase EXCEPT ![s] = "suspended"] /\ claim' = [claim EXCEPT ![s] = NoClaim]
  /\ UNCHANGED <<store, memory, waits, past, flying, ahead, tokens, away, told, late, limits, truth>>

----------------------------------------------------------------------------
\* What was read ahead is a part of the log from its start.  The generation is compared as well, though a log that was
\* rewritten has another writer.
IsAhead(s) ==
  LET a == ahead[s] IN
  /\ a.last /= Zero /\ a.generation = Here.generation /\ Len(a.batches) <= Len(content[primary].batches)
  /\ On("PrefixCompared") => UpTo(a.last, Pos(Here))

\* A standby looks at the head and reads the next batch, while another server owns the log.
ReadAhead(s) ==
  /\ "read ahead" \in Possible /\ s \notin away /\ phase[s] = "standby" /\ Whole(s)
  /\ LET batches == content[primary].batches
         read == IF IsAhead(s) THEN ahead[s].batches ELSE <<>>
         more == IF Len(read) < Len(batches) THEN <<batches[Len(read) + 1]>> ELSE <<>>
     IN /\ batches /= <<>>
        /\ ahead' = [ahead EXCEPT ![s] =
             [last |-> Pos(Here), generation |-> Here.generation, batches |-> read \o more]]
        /\ ahead' /= ahead
  /\ UNCHANGED <<store, phase, memory, waits, claim, past, flying, tokens, away, told, late, limits, truth>>

\* The rest of the log is read, or all of it, and an empty append is stored after that.
Load(s) ==
  /\ s \notin away /\ phase[s] = "loading"
  /\ LET c == claim[s]
         epoch == NewEpoch(c.w)
         m == Message(s, "batch", 1, <<>>, epoch.last)
         batches == content[primary].batches
         read == IF IsAhead(s) /\ c.whole THEN ahead[s].batches ELSE <<>>
         all == Flat(read \o From(batches, Len(read) + 1))
         new == [Here EXCEPT !.n = 1]
     IN /\ Fits(m)
        /\ head' = [head EXCEPT ![primary] = new]
        /\ content' = [content EXCEPT ![primary].count = m.after]
        /\ seen' = [seen EXCEPT ![primary] = Seen(new)]
        /\ at' = at \cup {<<Pos(new), History>>}
        /\ memory' = [memory EXCEPT ![s] = all]
        /\ wrong' = IF all = History THEN wrong ELSE wrong \cup {"not stored"}
        /\ claim' = [claim EXCEPT ![s].n = 1, ![s].count = m.after]
        /\ past' = [past EXCEPT ![s] = ConfirmedAt([NoPast EXCEPT !.confirmed = Here.base], Pos(new), Here.term)]
        /\ tokens' = [tokens EXCEPT ![s] = epoch]
  /\ phase' = [phase EXCEPT ![s] = "active"]
  /\ ahead' = [ahead EXCEPT ![s] = NothingAhead]
  /\ UNCHANGED <<did, primary, instance, waits, flying, away, told, late, limits, acked, excused, top, newest>>

\* The log did not take the append after the reading, or the claim got lost meanwhile.
LoadFails(s) ==
  /\ "failed load" \in Possible /\ s \notin away /\ phase[s] = "loading"
  /\ phase' = [phase EXCEPT ![s] = "standby"] /\ claim' = [claim EXCEPT ![s] = NoClaim]
  /\ ahead' = [ahead EXCEPT ![s] = NothingAhead]
  /\ UNCHANGED <<store, memory, waits, past, flying, tokens, away, told, late, limits, truth>>

\* A server that takes no step is away all the time; it only makes a difference to a log that settles.
Leave(s) ==
  /\ s \notin away /\ HasMemory(s) /\ (\E t \in Servers : ~Whole(t)) /\ away' = away \cup {s}
  /\ UNCHANGED <<store, server, told, late, limits, truth>>
Return(s) ==
  /\ s \in away /\ away' = away \ {s}
  /\ UNCHANGED <<store, server, told, late, limits, truth>>

----------------------------------------------------------------------------
Other == CHOOSE x \in Stores : x /= primary
Happens(kind) == kind \in Possible /\ faults < Faults /\ faults' = faults + 1

Replicate ==
  /\ faults < Faults /\ Possible \cap {"promotion", "restore"} /= {}
  /\ head[Other] /= Here \/ content[Other] /= content[primary]
  /\ head' = [head EXCEPT ![Other] = Here] /\ content' = [content EXCEPT ![Other] = content[primary]]
  /\ UNCHANGED <<seen, did, primary, instance, server, away, told, late, limits, truth>>

\* The replica is promoted, with what it has; its process remembers what it did before.
Promote ==
  /\ Happens("promotion")
  /\ primary' = Other /\ instance' = instance + 1
  /\ UNCHANGED <<head, content, seen, did, server, away, told, late, made, claims, truth>>

\* FLUSHALL, or a start without data.
Empty(starts) ==
  /\ Happens(IF starts THEN "empty start" ELSE "flush")
  /\ head' = [head EXCEPT ![primary] = NoHead] /\ content' = [content EXCEPT ![primary] = NoContent]
  /\ IF starts
     THEN /\ seen' = [seen EXCEPT ![primary] = NotSeen] /\ did' = [did EXCEPT ![primary] = {}]
          /\ instance' = instance + 1
     ELSE UNCHANGED <<seen, did, instance>>
  /\ UNCHANGED <<primary, server, away, told, late, made, claims, truth>>

\* Earlier data come back under the same process.
Restore ==
  /\ Happens("restore") /\ head[Other] /= Here
  /\ head' = [head EXCEPT ![primary] = head[Other]] /\ content' = [content EXCEPT ![primary] = content[Other]]
  /\ UNCHANGED <<seen, did, primary, instance, server, away, told, late, made, claims, truth>>

\* The count of tokens alone is gone.
LoseCount ==
  /\ Happens("count") /\ content[primary].count /= 0
  /\ content' = [content EXCEPT ![primary].count = 0]
  /\ UNCHANGED <<head, seen, did, primary, instance, server, away, told, late, made, claims, truth>>

Crash(s) ==
  /\ Happens("crash") /\ (HasMemory(s) \/ phase[s] = "loading")
  /\ phase' = [phase EXCEPT ![s] = "standby"] /\ memory' = [memory EXCEPT ![s] = <<>>]
  /\ waits' = [waits EXCEPT ![s] = <<>>] /\ claim' = [claim EXCEPT ![s] = NoClaim]
  /\ past' = [past EXCEPT ![s] = NoPast] /\ flying' = [flying EXCEPT ![s] = <<>>]
  /\ ahead' = [ahead EXCEPT ![s] = NothingAhead] /\ tokens' = [tokens EXCEPT ![s] = NoTokens]
  /\ told' = told \ {s} /\ away' = away \ {s}
  /\ UNCHANGED <<store, late, made, claims, truth>>

Next ==
  \/ \E s \in Servers :
       \/ \E lost \in BOOLEAN : Claim(s, lost)
       \/ Held(s) \/ Load(s) \/ LoadFails(s) \/ ReadAhead(s)
       \/ Decide(s) \/ Resend(s) \/ Copy(s) \/ Deliver(s) \/ Receive(s) \/ GiveUp(s)
       \/ Suspend(s) \/ Leave(s) \/ Return(s) \/ Crash(s)
  \/ Arrives \/ Replicate \/ Promote \/ Restore \/ LoseCount
  \/ \E starts \in BOOLEAN : Empty(starts)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Servers)

\* After the last fault nothing reaches the other store.
Reachable ==
  IF faults < Faults THEN vars
  ELSE <<Here, content[primary], seen[primary], did[primary], instance, server, away, told, late, limits, truth>>

----------------------------------------------------------------------------
\* Two histories never share a position.
OneHistory == \A a, b \in at : a[1] = b[1] => a[2] = b[2]

\* What was acknowledged was stored.
StoredIsAcknowledged == \A b \in acked : \E a \in at : b \in Range(a[2])

\* After a claim no batch of an older writer is stored.
NoOlderWriter == "older writer" \notin wrong

\* Memory is never written over a history that is not its own.
OwnHistoryOnly == "foreign history" \notin wrong

\* A process that stored a batch does not give the log to memory without it.
ProcessRemembers == "process forgets" \notin wrong

\* A server that was told that it is superseded does not go on.
SupersededStaysSo == "superseded" \notin wrong

\* After a loss no memory goes on without batches that were acknowledged by another server that is there.
NewestGoesOn == "older goes on" \notin wrong

\* No history has a batch twice.
StoredOnce == "twice" \notin wrong

\* A server serves what the log holds.
ServesWhatIsStored == "not stored" \notin wrong

\* No append removes a part of the history.
NeverShrinks == "shrinks" \notin wrong

\* The owner of a log that lost nothing knows every batch that was acknowledged.
NothingIsLost == "lost" \notin wrong

\* After an append the log's count is its writer's.
CountIsKnown == "count" \notin wrong

\* A token that is acknowledged is larger than each one that was acknowledged before its batch was decided.
TokensRise == "token falls" \notin wrong
=============================================================================
