------------------------------ MODULE Register ------------------------------
(***************************************************************************)
(* Several guards in front of one resource that share a register: the      *)
(* mark and the running calls are rows of one database, and a guard keeps  *)
(* nothing in memory that could admit a call.                              *)
(*                                                                         *)
(* Each action below is one step that nothing can interrupt, such as one   *)
(* transaction; between two steps anything else may happen: a guard is     *)
(* killed, a commit gets no reply, a guard is ended by the others.  TLC    *)
(* tries all orders for every choice of Calls out of Grants and Guards.    *)
(*                                                                         *)
(* What is in the database (mark, entries, ended) and what a guard         *)
(* believes (status, cache) are kept apart from what is true (alive, log). *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Calls,    \* so many calls arrive, each under one of the grants and at one of the guards
          Guards,
          Ids,      \* of the grants to choose from
          Off       \* rules not followed

Rules == {"OneStep",           \* compare, raise and register in one transaction
          "NoCache",           \* a guard admits nothing by what it remembers of the mark
          "DrainAll",          \* every call waits for the calls of other grants that are registered
          "ReadsRaise",        \* SHARED calls raise the mark too
          "UnknownIsNotIn",    \* a call whose commit got no reply is compared again before it starts
          "LeaseChecked",      \* a guard that was ended starts no call that it had registered
          "OwnEntriesOnly",    \* a guard removes entries of its own calls only
          "NotByTime",         \* an entry is not removed because time has passed
          "EndedIsOver"}       \* a guard is ended when its calls are over (a promise of delta, or of the operator)

ASSUME Off \subseteq Rules /\ Ids \subseteq {"a", "r", "b", "c", "s"} /\ Ids /= {}
On(rule) == rule \notin Off

AllGrants == {[id |-> "a", token |-> 1, mode |-> "EXCLUSIVE"],
              [id |-> "r", token |-> 1, mode |-> "SHARED"],
              [id |-> "b", token |-> 2, mode |-> "EXCLUSIVE"],
              [id |-> "c", token |-> 2, mode |-> "EXCLUSIVE"],
              [id |-> "s", token |-> 2, mode |-> "SHARED"]}
Grants == {g \in AllGrants : g.id \in Ids}

VARIABLES grant,    \* of each call; chosen at the start
          at,       \* the guard at which each call arrives; chosen at the start
          status,   \* of each call, as its guard sees it
          cache,    \* of each guard: the newest mark that it saw
          up,       \* guards whose process lives
          mark,     \* in the register
          entries,  \* in the register: calls that count as running
          ended,    \* in the register: guards whose row was removed, with their entries
          alive,    \* truth: calls that may touch the backend now or later
          log       \* truth: what touched the backend, in order
vars == <<grant, at, status, cache, up, mark, entries, ended, alive, log>>

----------------------------------------------------------------------------
\* Marks: x and id are of the highest EXCLUSIVE grant, s of the highest SHARED one.
None == [x |-> 0, id |-> "-", s |-> 0]

Admits(m, g) ==
  IF g.mode = "SHARED" THEN g.token > m.x
  ELSE g.token > m.s /\ (g.token > m.x \/ (g.token = m.x /\ g.id = m.id))

Raised(m, g) ==
  IF g.mode = "EXCLUSIVE" THEN [m EXCEPT !.x = g.token, !.id = g.id]
  ELSE IF On("ReadsRaise") /\ g.token > m.s THEN [m EXCEPT !.s = g.token]
  ELSE m

Conflict(g, h) == g /= h /\ (g.mode = "EXCLUSIVE" \/ h.mode = "EXCLUSIVE")
Free(c, registered) == \A d \in registered \ {c} : ~Conflict(grant[c], grant[d])

\* The row of an ended guard is gone, and every entry refers to one.
Works(guard) == guard \in up /\ guard \notin ended

----------------------------------------------------------------------------
Init ==
  /\ grant \in [Calls -> Grants] /\ at \in [Calls -> Guards]
  /\ status = [c \in Calls |-> "out"]
  /\ cache = [g \in Guards |-> None]
  /\ up = Guards /\ ended = {} /\ entries = {} /\ alive = {} /\ log = <<>>
  /\ mark = None

\* One transaction: an entry of an earlier one without a reply is removed, then the call is compared, raises, and is
\* registered or waits.  A call that waits has no entry.  Without OneStep these are two transactions.
Enter(c) ==
  /\ status[c] \in {"out", "waiting", "doubtful", "compared"} /\ Works(at[c])
  /\ LET before == entries \ {c}
         again == status[c] = "compared"
         admitted == again \/ Admits(mark, grant[c])
         registers == admitted /\ (On("OneStep") \/ again) /\ (Free(c, before) \/ ~On("DrainAll"))
         waits == IF On("OneStep") THEN "waiting" ELSE "compared"
     IN /\ status' = [status EXCEPT ![c] = CASE registers -> "registered" [] admitted -> waits [] OTHER -> "refused"]
        /\ mark' = IF admitted /\ ~again THEN Raised(mark, grant[c]) ELSE mark
        /\ entries' = IF registers THEN before \cup {c} ELSE before
        /\ cache' = [cache EXCEPT ![at[c]] = mark']
  /\ UNCHANGED <<grant, at, up, ended, alive, log>>

\* The same, and the reply to the commit is lost: it may be committed or not.
EnterUnknown(c, committed) ==
  /\ status[c] \in {"out", "waiting"} /\ Works(at[c])
  /\ Admits(mark, grant[c]) /\ Free(c, entries)
  /\ status' = [status EXCEPT ![c] = IF On("UnknownIsNotIn") THEN "doubtful" ELSE "registered"]
  /\ mark' = IF committed THEN Raised(mark, grant[c]) ELSE mark
  /\ entries' = IF committed THEN entries \cup {c} ELSE entries
  /\ UNCHANGED <<grant, at, cache, up, ended, alive, log>>

Remembered(c) ==
  grant[c].mode = "EXCLUSIVE" /\ cache[at[c]].x = grant[c].token /\ cache[at[c]].id = grant[c].id

\* A guard that was ended notices it by its own lease, which was over before.  Without NoCache a holder's further call is
\* let in by what its guard remembers.
Start(c) ==
  /\ at[c] \in up
  /\ \/ status[c] = "registered" /\ (On("LeaseChecked") => at[c] \notin ended)
     \/ status[c] = "out" /\ ~On("NoCache") /\ Remembered(c)
  /\ status' = [status EXCEPT ![c] = "running"]
  /\ alive' = alive \cup {c}
  /\ UNCHANGED <<grant, at, cache, up, mark, entries, ended, log>>

\* The handler, or something it started: does one thing to the backend and ends, or ends without.
Touch(c, what) ==
  /\ c \in alive
  /\ what = "write" => grant[c].mode = "EXCLUSIVE"
  /\ log' = IF what = "nothing" THEN log ELSE Append(log, [by |-> grant[c], what |-> what])
  /\ alive' = alive \ {c}
  /\ UNCHANGED <<grant, at, status, cache, up, mark, entries, ended>>

\* Timeout, broken upstream, cancelled: the entry stays.
LoseSight(c) ==
  /\ status[c] = "running" /\ at[c] \in up
  /\ status' = [status EXCEPT ![c] = "quarantined"]
  /\ UNCHANGED <<grant, at, cache, up, mark, entries, ended, alive, log>>

\* Entries that the statement of a leave may remove beside its own: it names the number of a call, and not its guard.
Others(c) == IF On("OwnEntriesOnly") THEN {} ELSE {d \in Calls : at[d] /= at[c]}

\* Its end became known, or delta is over: the promise is that then it is not alive.
Leave(c) ==
  /\ \/ status[c] \in {"running", "quarantined"} /\ at[c] \in up /\ c \notin alive
     \/ c \in entries /\ ~On("NotByTime")
  /\ status' = [status EXCEPT ![c] = IF c \in alive THEN @ ELSE "ended"]
  /\ \E d \in Others(c) \cup {c} : entries' = entries \ {c, d}
  /\ UNCHANGED <<grant, at, cache, up, mark, ended, alive, log>>

\* What its calls started goes on without it.
Kill(guard) ==
  /\ guard \in up
  /\ up' = up \ {guard}
  /\ UNCHANGED <<grant, at, status, cache, mark, entries, ended, alive, log>>

\* By an operator, or by another guard a lease and delta later.  The guard may live, and may have a call registered.
EndGuard(guard) ==
  /\ guard \notin ended
  /\ On("EndedIsOver") => \A c \in alive : at[c] /= guard
  /\ ended' = ended \cup {guard}
  /\ entries' = {c \in entries : at[c] /= guard}
  /\ UNCHANGED <<grant, at, status, cache, up, mark, alive, log>>

Next ==
  \/ \E c \in Calls :
       \/ Enter(c) \/ Start(c) \/ LoseSight(c) \/ Leave(c)
       \/ \E committed \in BOOLEAN : EnterUnknown(c, committed)
       \/ \E what \in {"write", "read", "nothing"} : Touch(c, what)
  \/ \E guard \in Guards : Kill(guard) \/ EndGuard(guard)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Calls) \cup Permutations(Guards)

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

\* Not wanted: these two must be found broken, or the guards keep their promises by letting in one call at a time.
NoReadersTogether == \A c, d \in alive : c = d \/ grant[c].mode = "EXCLUSIVE"
NoEqualsTogether == \A c, d \in alive : c = d \/ grant[c].mode = "SHARED"
=============================================================================
