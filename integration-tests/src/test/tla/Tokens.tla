------------------------------- MODULE Tokens -------------------------------
(***************************************************************************)
(* How one domain's fencing tokens are minted in Redis: INCR, but only     *)
(* while the process that issued the last token is sure that nothing was   *)
(* lost since; otherwise a new epoch begins above everything known.        *)
(*                                                                         *)
(* Two Redis processes, lock servers that call them, and faults at any     *)
(* moment: promotion of a replica that lags while the old primary goes on  *)
(* unheard, restart with an older counter, reload of the library, FLUSHALL *)
(* or DEL.  A mint is one atomic step, as a Redis function is.             *)
(*                                                                         *)
(* Not everything can be promised without a second system.  What has to be *)
(* assumed is named by Clock, Floors and Faults; see the last section.     *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
  Faults,     \* which of the kinds below happen
  MaxFaults, MaxMints,
  Clock,      \* "passes": a restart, promotion or reload ends when the clock is past all tokens
              \* "ticks": it takes at least one tick; "stands": it may be over within one tick
  Floors,     \* "any": of the tokens issued, a lock server knows those it minted and those that guards reported to it,
              \* perhaps none; "all": every server knows every token
  Off         \* rules not followed

Rules == {"Continuity",    \* otherwise: bare INCR
          "ReplicationId", \* another id is a discontinuity too
          "Suspect",       \* a continuous counter below the floor is not lifted before the topology was read again
          "ConfirmEpochs", \* nor does any other epoch begin before that
          "StillCurrent"}  \* what the topology said still holds when the repeated call arrives (an assumption)
Kinds == {"promote", "restart", "reload", "flush",
          "deposed"}       \* the kinds above also happen to a primary that was deposed and does not know it

ASSUME /\ Off \subseteq Rules /\ Faults \subseteq Kinds
       /\ Clock \in {"passes", "ticks", "stands"} /\ Floors \in {"any", "all"}
On(rule) == rule \notin Off

Nodes == {1, 2}
\* A clock value has room for PerTick tokens (really 4096 per millisecond); a jump goes to the next multiple of Jump
\* (really 2^24) and on by some bits of the replication id, so that two histories do not meet.
PerTick == 8
Jump == 4 * PerTick

VARIABLES now,       \* ticks, the same for all: clocks that differ are a clock that is behind
          current,   \* the primary that the topology names
          term,      \* of each process: the number of its last promotion
          primary,   \* processes that take themselves for a primary
          stored,    \* of each process: the counter, as its data has it; 0 is none
          last,      \* of each process: the token it issued last; 0 after its start and after a reload
          seen,      \* of each process: the replication id at that time
          id,        \* of each process: its replication id
          epoch,     \* of each process: which epoch it is in, for the properties only
          faults,    \* so many so far
          issued     \* all tokens, in order
vars == <<now, current, term, primary, stored, last, seen, id, epoch, faults, issued>>

Max(a, b) == IF a > b THEN a ELSE b
Top(tokens) == IF tokens = {} THEN 0 ELSE CHOOSE t \in tokens : \A u \in tokens : u <= t
Tokens == {issued[i].token : i \in DOMAIN issued}

Init ==
  /\ now = 1 /\ current = 1 /\ primary = {1}
  /\ term = [n \in Nodes |-> IF n = 1 THEN 1 ELSE 0]
  /\ stored = [n \in Nodes |-> 0] /\ last = [n \in Nodes |-> 0] /\ seen = [n \in Nodes |-> 0]
  /\ id = [n \in Nodes |-> 1] /\ epoch = [n \in Nodes |-> 0]
  /\ faults = 0 /\ issued = <<>>

----------------------------------------------------------------------------
\* Mint.  A server may call any process that takes itself for a primary; if confirmed, the one that the topology names.
Continuous(n) ==
  \/ stored[n] = last[n] /\ seen[n] /= 0 /\ (seen[n] = id[n] \/ ~On("ReplicationId"))
  \/ ~On("Continuity")

Base(n, high) ==
  IF now * PerTick > high THEN now * PerTick
  ELSE (high \div Jump + 1) * Jump + (id[n] % 4) * PerTick

Floor == IF Floors = "all" THEN {Top(Tokens)} ELSE {0} \cup Tokens

Mint(n, floor, confirmed) ==
  LET below == last[n] < floor /\ On("Continuity")
      goOn == Continuous(n) /\ ~below
      high == Max(Max(stored[n], last[n]), floor)
      token == IF goOn THEN stored[n] + 1 ELSE Base(n, high) + 1
  IN /\ Len(issued) < MaxMints
     /\ n \in primary
     /\ confirmed => n = current \/ ~On("StillCurrent")
     \* Else the answer is SUSPECT_PRIMARY and nothing is written: no step.
     /\ Continuous(n) /\ below /\ On("Suspect") => confirmed
     /\ ~Continuous(n) /\ On("ConfirmEpochs") => confirmed
     /\ epoch' = [epoch EXCEPT ![n] = IF goOn THEN @ ELSE Len(issued) + 1]
     /\ stored' = [stored EXCEPT ![n] = token]
     /\ last' = [last EXCEPT ![n] = token]
     /\ seen' = [seen EXCEPT ![n] = id[n]]
     /\ issued' = Append(issued, [token |-> token, term |-> term[n], epoch |-> epoch'[n], current |-> n = current])
     /\ UNCHANGED <<now, current, term, primary, id, faults>>

----------------------------------------------------------------------------
\* Redis and its faults.

\* The replica catches up; if it does so rarely, it lags.
Replicate(n) ==
  /\ n \notin primary
  /\ stored' = [stored EXCEPT ![n] = stored[current]]
  /\ id' = [id EXCEPT ![n] = id[current]]
  /\ UNCHANGED <<now, current, term, primary, last, seen, epoch, faults, issued>>

\* A deposed primary is found and made a replica.  Its process goes on, and so do the library's variables.
Demote(n) ==
  /\ n \in primary /\ n /= current
  /\ primary' = primary \ {n}
  /\ stored' = [stored EXCEPT ![n] = stored[current]]
  /\ id' = [id EXCEPT ![n] = id[current]]
  /\ UNCHANGED <<now, current, term, last, seen, epoch, faults, issued>>

Fault(kind) == kind \in Faults /\ faults < MaxFaults /\ faults' = faults + 1
Harmed(n) == n = current \/ (n \in primary /\ "deposed" \in Faults)
TimePasses ==
  now' = CASE Clock = "passes" -> Max(now, Top(Tokens) \div PerTick + 1) + 1
           [] Clock = "ticks" -> now + 1
           [] Clock = "stands" -> now
NewId == faults + 2

\* The old primary is not asked: it may go on behind a partition until it is demoted.
Promote(n) ==
  /\ Fault("promote") /\ n \notin primary /\ TimePasses
  /\ current' = n /\ primary' = primary \cup {n}
  /\ term' = [term EXCEPT ![n] = term[current] + 1]
  /\ id' = [id EXCEPT ![n] = NewId]
  /\ UNCHANGED <<stored, last, seen, epoch, issued>>

\* What the disk had of the counter: nothing, or some earlier value.
Restart(n) ==
  /\ Fault("restart") /\ Harmed(n) /\ TimePasses
  /\ \E value \in {0} \cup {t \in Tokens : t <= stored[n]} : stored' = [stored EXCEPT ![n] = value]
  /\ last' = [last EXCEPT ![n] = 0] /\ seen' = [seen EXCEPT ![n] = 0]
  /\ id' = [id EXCEPT ![n] = NewId]
  /\ UNCHANGED <<current, term, primary, epoch, issued>>

Reload(n) ==
  /\ Fault("reload") /\ Harmed(n) /\ TimePasses
  /\ last' = [last EXCEPT ![n] = 0] /\ seen' = [seen EXCEPT ![n] = 0]
  /\ UNCHANGED <<current, term, primary, stored, id, epoch, issued>>

\* FLUSHALL, DEL, eviction, a lapsed TTL; within a tick or not.
Flush(n) ==
  /\ Fault("flush") /\ Harmed(n)
  /\ now' \in {now, now + 1}
  /\ stored' = [stored EXCEPT ![n] = 0]
  /\ UNCHANGED <<current, term, primary, last, seen, id, epoch, issued>>

Next ==
  \/ \E n \in Nodes, floor \in Floor, confirmed \in BOOLEAN : Mint(n, floor, confirmed)
  \/ \E n \in Nodes : Replicate(n) \/ Demote(n) \/ Promote(n) \/ Restart(n) \/ Reload(n) \/ Flush(n)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* P1, stronger than promised: no token is issued twice, in whatever epoch.
Unique == \A i, j \in DOMAIN issued : issued[i].token = issued[j].token => i = j

\* P2: within an epoch a later token is larger.
EpochRises == \A i, j \in DOMAIN issued :
  i < j /\ issued[i].epoch = issued[j].epoch => issued[i].token < issued[j].token

\* P3: no token of one epoch lies between two of another.
EpochsApart == \A i, j, k \in DOMAIN issued :
  issued[i].epoch = issued[j].epoch /\ issued[k].epoch /= issued[i].epoch =>
    ~(issued[i].token < issued[k].token /\ issued[k].token < issued[j].token)

\* P4: at the primary that the topology names, a later token is larger ...
CurrentRises == \A i, j \in DOMAIN issued :
  i < j /\ issued[i].current /\ issued[j].current => issued[i].token < issued[j].token

\* ... and what a deposed primary issues is smaller than all that its successors issue: born stale.
DeposedIsStale == \A i, j \in DOMAIN issued :
  ~issued[i].current /\ issued[i].term < issued[j].term => issued[i].token < issued[j].token
=============================================================================
