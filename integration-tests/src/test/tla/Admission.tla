----------------------------- MODULE Admission ------------------------------
(***************************************************************************)
(* A guard in front of one resource: it compares tokens, keeps marks, and  *)
(* admits calls to a backend that compares no tokens.                      *)
(*                                                                         *)
(* Each action below is one step that nothing can interrupt; between two   *)
(* steps anything else may happen, however unlikely.  TLC tries all orders *)
(* of all steps for every choice of Calls out of Grants.                   *)
(*                                                                         *)
(* What the guard believes (status, mem, believed) is kept apart from what *)
(* is true (alive, disk, log): the rules are about the former, the         *)
(* invariants about the latter.  Off names the rules that a configuration  *)
(* turns off, to see that each is needed.                                  *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Calls,    \* so many calls arrive, each under one of the grants
          Ids,      \* of the grants to choose from
          Off       \* rules not followed

Rules == {"DrainEqual",        \* equal calls wait for older ones too
          "DrainRetries",      \* so does a call that comes again after DRAINING
          "DrainAll",          \* so does every call
          "CompareTwice",      \* compare once more in the step that starts the call
          "WaitForDurable",    \* start only when the mark one was compared with is durable
          "ReadsRaise",        \* SHARED calls raise the mark too
          "RefuseDurably",     \* answer TOKEN_STALE only when the mark behind it is durable
          "MergeMarks",        \* a mark written late never replaces a higher one
          "SyncWhatIsRead",    \* a mark found at a restart is synced before it is relied on
          "SettleAfterRestart",\* after a restart nobody starts until old calls have ended
          "SettleEqual",       \* not even the grant of the mark
          "HoldOwn",           \* while a holder's call has an unknown end, its next calls wait too
          "CancelIsNotTheEnd", \* a cancelled call still counts until its end is known
          "DeltaIsLongEnough"} \* nothing is applied later than delta (a promise, not a rule)

ASSUME Off \subseteq Rules /\ Ids \subseteq {"a", "r", "b", "c", "s"} /\ Ids /= {}
On(rule) == rule \notin Off

\* Tokens are not unique here, only (token, id) is: that is all the guard may rely on.
AllGrants == {[id |-> "a", token |-> 1, mode |-> "EXCLUSIVE"],
              [id |-> "r", token |-> 1, mode |-> "SHARED"],
              [id |-> "b", token |-> 2, mode |-> "EXCLUSIVE"],
              [id |-> "c", token |-> 2, mode |-> "EXCLUSIVE"],
              [id |-> "s", token |-> 2, mode |-> "SHARED"]}
Grants == {g \in AllGrants : g.id \in Ids}

VARIABLES grant,    \* of each call; chosen at the start
          status,   \* of each call, as the guard and the client see it
          need,     \* of each call: the mark that must be durable before it goes on
          trusted,  \* calls that a bug lets past older ones; empty while all rules are on
          mem,      \* the mark in the guard's memory
          pending,  \* marks on their way to the disk
          believed, \* the mark the guard takes for durable
          settled,  \* FALSE: restarted, calls of the former process may still be under way
          overtaken,\* calls that were not over when a later one of their own holder started
          alive,    \* truth: calls that may touch the backend now or later
          disk,     \* truth: the mark that survives a crash
          log       \* truth: what touched the backend, in order
vars == <<grant, status, need, trusted, mem, pending, believed, settled, overtaken, alive, disk, log>>

----------------------------------------------------------------------------
\* Marks: x and id are of the highest EXCLUSIVE grant, s of the highest SHARED one.
None == [x |-> 0, id |-> "-", s |-> 0]

Admits(mark, g) ==
  IF g.mode = "SHARED" THEN g.token > mark.x
  ELSE g.token > mark.s /\ (g.token > mark.x \/ (g.token = mark.x /\ g.id = mark.id))

Raised(mark, g) ==
  IF g.mode = "EXCLUSIVE" THEN [mark EXCEPT !.x = g.token, !.id = g.id]
  ELSE IF On("ReadsRaise") /\ g.token > mark.s THEN [mark EXCEPT !.s = g.token]
  ELSE mark

\* Every refusal by m is also one by n.
Within(m, n) == m.s <= n.s /\ (m.x < n.x \/ (m.x = n.x /\ m.id = n.id))
Merged(m, n) == [x |-> IF m.x > n.x THEN m.x ELSE n.x, id |-> IF m.x > n.x THEN m.id ELSE n.id,
                 s |-> IF m.s > n.s THEN m.s ELSE n.s]

Conflict(g, h) == g /= h /\ (g.mode = "EXCLUSIVE" \/ h.mode = "EXCLUSIVE")
Equal(mark, g) == g.mode = "EXCLUSIVE" /\ mark.x = g.token /\ mark.id = g.id

----------------------------------------------------------------------------
Init ==
  /\ grant \in [Calls -> Grants]
  /\ status = [c \in Calls |-> "out"]
  /\ need = [c \in Calls |-> None]
  /\ trusted = {} /\ pending = {} /\ settled = TRUE /\ overtaken = {} /\ alive = {} /\ log = <<>>
  /\ mem = None /\ believed = None /\ disk = None

\* The first compare: admitted calls raise the mark in memory in the same step.
Arrive(c) ==
  /\ status[c] = "out"
  /\ LET admitted == Admits(mem, grant[c])
         mark == IF admitted THEN Raised(mem, grant[c]) ELSE mem
     IN /\ status' = [status EXCEPT ![c] = IF admitted THEN "waiting" ELSE "refusing"]
        /\ need' = [need EXCEPT ![c] = mark]
        /\ mem' = mark
        /\ pending' = IF mark = mem THEN pending ELSE pending \cup {mark}
        /\ trusted' = IF Equal(mem, grant[c]) /\ ~On("DrainEqual") THEN trusted \cup {c} ELSE trusted
  /\ UNCHANGED <<grant, believed, settled, overtaken, alive, disk, log>>

\* The disk is slow, and what was written first need not arrive first.
BecomeDurable(mark) ==
  /\ disk' = IF On("MergeMarks") THEN Merged(disk, mark) ELSE mark
  /\ believed' = Merged(believed, mark)
  /\ pending' = pending \ {mark}
  /\ UNCHANGED <<grant, status, need, trusted, mem, settled, overtaken, alive, log>>

\* A holder's own calls run side by side.  But one whose end is unknown must be over before the holder looks again.
SameHolder(c, d) == grant[c] = grant[d] /\ grant[c].mode = "EXCLUSIVE"

Durable(c) == Within(need[c], believed)

\* Under way in the guard's eyes.  Waiting calls are not: they block no other call.
Occupied(c) == \E d \in Calls \ {c} :
  \/ status[d] \in {"running", "quarantined"} /\ Conflict(grant[c], grant[d])
  \/ status[d] = "quarantined" /\ SameHolder(c, d) /\ On("HoldOwn")

\* Second compare, drain and start are one step.
Start(c) ==
  /\ status[c] = "waiting"
  /\ On("WaitForDurable") => Durable(c)
  /\ On("CompareTwice") => Admits(mem, grant[c])
  /\ Occupied(c) => c \in trusted \/ ~On("DrainAll")
  /\ settled \/ (~On("SettleEqual") /\ Equal(mem, grant[c]))
  /\ status' = [status EXCEPT ![c] = "running"]
  /\ alive' = alive \cup {c}
  /\ overtaken' = overtaken \cup {d \in alive : SameHolder(c, d) /\ status[d] /= "running"}
  /\ need' = [need EXCEPT ![c] = None]
  /\ UNCHANGED <<grant, trusted, mem, pending, believed, settled, disk, log>>

Supersede(c) ==
  /\ status[c] = "waiting" /\ On("CompareTwice") /\ ~Admits(mem, grant[c])
  /\ status' = [status EXCEPT ![c] = "refusing"]
  /\ need' = [need EXCEPT ![c] = mem]
  /\ UNCHANGED <<grant, trusted, mem, pending, believed, settled, overtaken, alive, disk, log>>

AnswerStale(c) ==
  /\ status[c] = "refusing"
  /\ On("RefuseDurably") => Durable(c)
  /\ status' = [status EXCEPT ![c] = "refused"]
  /\ need' = [need EXCEPT ![c] = None]
  /\ UNCHANGED <<grant, trusted, mem, pending, believed, settled, overtaken, alive, disk, log>>

\* The deadline passed while it waited.  The mark stays raised; the client may come again.
AnswerDraining(c) ==
  /\ status[c] = "waiting"
  /\ status' = [status EXCEPT ![c] = "out"]
  /\ need' = [need EXCEPT ![c] = None]
  /\ trusted' = IF On("DrainRetries") THEN trusted ELSE trusted \cup {c}
  /\ UNCHANGED <<grant, mem, pending, believed, settled, overtaken, alive, disk, log>>

\* The handler, or something it started: does one thing to the backend and ends, or ends without.
Touch(c, what) ==
  /\ c \in alive
  /\ what = "write" => grant[c].mode = "EXCLUSIVE"
  /\ log' = IF what = "nothing" THEN log ELSE Append(log, [by |-> grant[c], what |-> what])
  /\ alive' = alive \ {c}
  /\ UNCHANGED <<grant, status, need, trusted, mem, pending, believed, settled, overtaken, disk>>

\* Timeout, broken upstream, cancelled by its client or because a higher token came: the end is not known.
LoseSight(c) ==
  /\ status[c] = "running"
  /\ status' = [status EXCEPT ![c] = IF On("CancelIsNotTheEnd") THEN "quarantined" ELSE "ended"]
  /\ UNCHANGED <<grant, need, trusted, mem, pending, believed, settled, overtaken, alive, disk, log>>

\* Its end became known, or it is quarantined and delta is over: the promise is that then it is not alive.
End(c) ==
  /\ \/ status[c] \in {"running", "quarantined"} /\ c \notin alive
     \/ status[c] = "quarantined" /\ ~On("DeltaIsLongEnough")
  /\ status' = [status EXCEPT ![c] = "ended"]
  /\ UNCHANGED <<grant, need, trusted, mem, pending, believed, settled, overtaken, alive, disk, log>>

\* The guard's process dies and the next one begins with what it finds.  A process that is killed leaves marks that
\* were written and not yet synced for the next to find; a power cut does not.
Crash(found) ==
  /\ status' = [c \in Calls |-> CASE status[c] \in {"running", "quarantined"} -> "lost"
                                  [] status[c] \in {"waiting", "refusing"} -> "out"
                                  [] OTHER -> status[c]]
  /\ need' = [c \in Calls |-> None]
  /\ mem' = found /\ believed' = found
  /\ disk' = IF On("SyncWhatIsRead") THEN found ELSE disk
  /\ pending' = {} /\ trusted' = {}
  /\ settled' = ~On("SettleAfterRestart")
  /\ UNCHANGED <<grant, overtaken, alive, log>>

\* Delta after the restart, with the same promise.
Settle ==
  /\ ~settled /\ \A c \in alive : status[c] /= "lost"
  /\ settled' = TRUE
  /\ UNCHANGED <<grant, status, need, trusted, mem, pending, believed, overtaken, alive, disk, log>>

Next ==
  \/ \E c \in Calls :
       \/ Arrive(c) \/ Start(c) \/ Supersede(c) \/ AnswerStale(c) \/ AnswerDraining(c) \/ LoseSight(c) \/ End(c)
       \/ \E what \in {"write", "read", "nothing"} : Touch(c, what)
  \/ \E mark \in pending : BecomeDurable(mark)
  \/ \E mark \in pending \cup {disk} : Crash(Merged(disk, mark))
  \/ Settle

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Calls)

----------------------------------------------------------------------------
\* Conflicting calls are never at the backend together.
NoOverlap == \A c, d \in alive : c = d \/ ~Conflict(grant[c], grant[d])

\* P6: tokens of applied writes never fall, and equal tokens are of one grant.
WritesRise ==
  \A i, j \in DOMAIN log : i < j /\ log[i].what = "write" /\ log[j].what = "write" =>
    log[i].by = log[j].by \/ log[i].by.token < log[j].by.token

\* P7: after a read under t no other grant's write with a token up to t is applied.
ReadsHold ==
  \A i, j \in DOMAIN log : i < j /\ log[i].what = "read" /\ log[j].what = "write" =>
    log[i].by = log[j].by \/ log[i].by.token < log[j].by.token

\* A client that got OUTCOME_UNKNOWN reads again under its lock: what it then sees is not changed by the unknown call.
UnknownIsOver == overtaken = {}

\* P8: a call that was refused with TOKEN_STALE would be refused again, also after a crash.
RefusalIsFinal == \A c \in Calls : status[c] = "refused" => ~Admits(disk, grant[c])

\* P12: what counted as durable stays.
MarksAreKept == Within(believed, disk)
\* Not wanted: these two must be found broken, or the guard keeps its promises by admitting one call at a time.
NoReadersTogether == \A c, d \in alive : c = d \/ grant[c].mode = "EXCLUSIVE"
NoEqualsTogether == \A c, d \in alive : c = d \/ grant[c].mode = "SHARED"
=============================================================================
